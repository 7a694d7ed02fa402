// What the two translation units of cscheduler.cpp share.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>

#define CHECK(condition) check((condition), __FILE__, __LINE__)
inline void check(bool holds, const char *file, int line) {
  if (holds) return;
  std::printf("%s:%d: does not hold\n", file, line);
  std::exit(1);
}

inline bool ended_well(pid_t child) {
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int from_other_unit();
