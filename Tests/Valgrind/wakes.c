// Takes the place of syscall (the linker's --wrap) under memcheck, which takes a wake of a futex for a look at the word. To the library its address
// is a name: who slept on it may have gone, and the stack that it was on be another's.
#include <linux/futex.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <valgrind/valgrind.h>

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...) {
  va_list list;
  long all[6];
  va_start(list, number);
  for (int i = 0; i < 6; i++) all[i] = va_arg(list, long);
  va_end(list);
  int is_wake = number == SYS_futex && (all[1] & FUTEX_CMD_MASK) == FUTEX_WAKE;
  if (is_wake) VALGRIND_DISABLE_ERROR_REPORTING;
  long result = __real_syscall(number, all[0], all[1], all[2], all[3], all[4], all[5]);
  if (is_wake) VALGRIND_ENABLE_ERROR_REPORTING;
  return result;
}
