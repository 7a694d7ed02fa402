// Looks for leaks at the end of a test process under AddressSanitizer, in place of the sanitizer's own look (leak_check_at_exit=0).
//
// The sanitizer looks once. A thread of Dispatch's or of Swift's that is just ending is in none of its lists any more, but its
// thread-local memory is not given back yet: that looked like a leak, by chance, of what is freed a moment later (48 bytes of a trampoline;
// 38 kB of the Swift runtime's). What is lost stays lost: so a leak is what is found by each of several looks.
#define _GNU_SOURCE
#include <CTestSupport.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LOOKS = 10 };

__attribute__((weak)) int __lsan_do_recoverable_leak_check(void);

// Which threads there are, and where in the system each is: one that ends for ever would explain what only it refers to.
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
    if (__lsan_do_recoverable_leak_check() == 0) return;
    usleep(i < 5 ? 100000u << i : 3200000); // 16 s in all: beside other work threads end slowly
  }
  list_threads();
  __lsan_do_recoverable_leak_check(); // its report ends the log, where it is read
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
