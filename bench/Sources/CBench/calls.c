// Counts the process's futex calls: ours and Dispatch's go through the C library's syscall(), which this one stands before.
#define _GNU_SOURCE
#include "CBench.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_long futexes;

long cbench_futex_calls(void) { return atomic_load_explicit(&futexes, memory_order_relaxed); }

// It takes and hands on six words, whatever the call has: as the kernel's convention does.
long syscall(long number, ...) {
  static long (*_Atomic next)(long, ...);
  if (number == SYS_futex) atomic_fetch_add_explicit(&futexes, 1, memory_order_relaxed);
  long (*call)(long, ...) = atomic_load_explicit(&next, memory_order_relaxed);
  if (call == NULL) {
    call = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    atomic_store_explicit(&next, call, memory_order_relaxed);
  }
  va_list list;
  va_start(list, number);
  long word[6];
  for (int i = 0; i < 6; i++) word[i] = va_arg(list, long);
  va_end(list);
  return call(number, word[0], word[1], word[2], word[3], word[4], word[5]);
}
