// Checks for leaks at the end of a test process under AddressSanitizer, in place of the sanitizer's own check
// (leak_check_at_exit=0).
//
// The sanitizer checks once. A thread of Dispatch or of Swift that is just ending is in none of its lists any more, but
// its thread-local memory is not freed yet: the check sometimes reported memory that is freed a moment later (48 bytes
// of a trampoline;
// 38 kB of the Swift runtime's). A real leak persists: so a leak is memory that each of several checks finds.
//
// The sanitizer finds a thread by the system's number, and takes the first thread that had it, which may have ended:
// the numbers wrap round, after 32 768 of them on most machines. Then it does not scan the living thread's stack and
// thread-local memory (64 bytes of a trampoline, in a tenth of the runs). So this file registers both as roots, for
// each thread.
#define _GNU_SOURCE
#include <CTestSupport.h>

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOOKS = 10, MOST_THREADS = 4096 };

__attribute__((weak)) int __lsan_do_recoverable_leak_check(void);
__attribute__((weak)) void __lsan_register_root_region(const void *, size_t);
__attribute__((weak)) void __lsan_unregister_root_region(const void *, size_t);

typedef struct region {
  uintptr_t begin, end;
} region;
static region stacks[MOST_THREADS];

// The last line of /proc/self/task/THREAD/syscall ends with the stack pointer and the program counter. Returns: 0 of a
// thread that runs.
static uintptr_t stack_pointer(const char *thread) {
  char path[64], line[256] = "";
  snprintf(path, sizeof path, "/proc/self/task/%.16s/syscall", thread);
  FILE *file = fopen(path, "r");
  if (file == NULL) return 0;
  char *last = fgets(line, sizeof line, file) != NULL ? strrchr(line, ' ') : NULL;
  fclose(file);
  if (last == NULL) return 0;
  *last = 0;
  last = strrchr(line, ' ');
  return last != NULL ? strtoull(last, NULL, 16) : 0;
}

// Fills `stacks` with the memory above each thread's stack pointer, thread-local memory included. Returns: how many
// there are.
static size_t find_stacks(void) {
  size_t count = 0;
  DIR *threads = opendir("/proc/self/task");
  for (struct dirent *each; threads != NULL && (each = readdir(threads)) != NULL && count < MOST_THREADS;) {
    uintptr_t pointer = stack_pointer(each->d_name) & ~(sizeof(void *) - 1);
    if (pointer != 0) stacks[count++] = (region){pointer, 0};
  }
  if (threads != NULL) closedir(threads);
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[512];
  region map;
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " rw", &map.begin, &map.end) != 2) continue;
    for (size_t i = 0; i < count; i++)
      if (stacks[i].begin >= map.begin && stacks[i].begin < map.end) stacks[i].end = map.end;
  }
  if (maps != NULL) fclose(maps);
  return count;
}

static bool finds_leaks(void) {
  size_t count = find_stacks();
  for (size_t i = 0; i < count; i++)
    if (stacks[i].end != 0) __lsan_register_root_region((void *)stacks[i].begin, stacks[i].end - stacks[i].begin);
  bool found = __lsan_do_recoverable_leak_check() != 0;
  for (size_t i = 0; i < count; i++)
    if (stacks[i].end != 0) __lsan_unregister_root_region((void *)stacks[i].begin, stacks[i].end - stacks[i].begin);
  return found;
}

// Prints the threads, and the system call of each: a thread whose exit hangs would explain memory that only it refers
// to.
static void list_threads(void) {
  char command[256];
  snprintf(command, sizeof command,
           "cd /proc/%d/task && for t in *; do echo \"leaks: thread $t $(cat $t/comm), $(grep State $t/status), in "
           "$(cat $t/wchan), at $(cat $t/syscall)\"; done 1>&2",
           (int)getpid());
  if (system(command) != 0) fputs("leaks: the threads cannot be listed\n", stderr);
}

static void look(void) {
  for (int i = 0; i < LOOKS; i++) {
    if (!finds_leaks()) return;
    usleep(i < 5 ? 100000u << i : 3200000); // 16 s in all: beside other work threads end slowly
  }
  list_threads();
  if (!finds_leaks()) return; // its report ends the log, where it is read
  fputs("leaks: found by each of the looks\n", stderr);
  _exit(23);
}

__attribute__((constructor)) static void look_at_the_end(void) {
  if (__lsan_do_recoverable_leak_check != NULL) atexit(look);
}

void ctest_leak_and_exit(void) {
  void *volatile lost = malloc(4711);
  lost = NULL;
  (void)lost;
  exit(0);
}
