#define _GNU_SOURCE
#include <CTestSupport.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS = 120 }; // many, because valgrind beside other work takes its time

void ctest_end_child(void) {
  ctest_finding found = ctest_found();
  if (found != NULL) {
    ssize_t written = write(STDERR_FILENO, found, strlen(found));
    (void)written;
  }
  _exit(found != NULL ? 99 : 0);
}

static CSCHED_NORETURN void be_child(int output, void (*body)(void *), void *context) {
  sigset_t alarms; // a thread of Dispatch's that forks blocks them
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
  pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
  signal(SIGALRM, SIG_DFL);
  alarm(SECONDS);
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  for (int i = 0; i < 3; i++) signal((int[]){SIGABRT, SIGTRAP, SIGILL}[i], SIG_DFL); // no test runner's, no backtrace
  dup2(output, STDERR_FILENO);
  ctest_forget();
  body(context);
  ctest_end_child();
}

ctest_finding ctest_in_child(void (*body)(void *), void *context, int status, const char *says) {
  static char found[1400];
  int ends[2], ended = 0;
  char said[1024];
  size_t length = 0;
  if (pipe(ends) != 0) abort();
  pid_t child = fork();
  if (child < 0) abort();
  if (child == 0) be_child(ends[1], body, context);
  close(ends[1]);
  for (ssize_t count;
       length < sizeof said - 1 && (count = read(ends[0], said + length, sizeof said - 1 - length)) != 0;)
    length += count > 0 ? (size_t)count : 0;
  said[length] = 0;
  close(ends[0]);
  while (waitpid(child, &ended, 0) < 0 && errno == EINTR) {}
  bool is_right = says == NULL ? WIFEXITED(ended) && WEXITSTATUS(ended) == status
                               : WIFSIGNALED(ended) && WTERMSIG(ended) == SIGABRT && strstr(said, says) != NULL;
  if (is_right) return NULL;
  snprintf(found, sizeof found, "the child %s %d, and prints: %s", WIFSIGNALED(ended) ? "ends by signal" : "ends with",
           WIFSIGNALED(ended) ? WTERMSIG(ended) : WEXITSTATUS(ended), said);
  return found;
}
