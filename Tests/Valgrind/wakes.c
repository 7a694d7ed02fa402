// Replaces syscall (the linker's --wrap) under memcheck and DRD. Valgrind assumes that each futex call reads the word.
// A wake uses only the address, as a key: the sleeper may be gone, and the memory reused. Helgrind does not check futex
// calls.
#include <linux/futex.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/syscall.h>

#ifdef SHADOW_FOR_DRD
#include <valgrind/drd.h>
static void look_away(bool is_wake) {
  (void)is_wake; // from waits, too
  ANNOTATE_IGNORE_READS_AND_WRITES_BEGIN();
}
static void look_again(bool is_wake) {
  (void)is_wake;
  ANNOTATE_IGNORE_READS_AND_WRITES_END();
}
#else
#include <valgrind/valgrind.h>
static void look_away(bool is_wake) {
  if (is_wake) VALGRIND_DISABLE_ERROR_REPORTING;
}
static void look_again(bool is_wake) {
  if (is_wake) VALGRIND_ENABLE_ERROR_REPORTING;
}
#endif

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...) {
  va_list list;
  long all[6];
  va_start(list, number);
  for (int i = 0; i < 6; i++) all[i] = va_arg(list, long);
  va_end(list);
  bool is_wake = number == SYS_futex && (all[1] & FUTEX_CMD_MASK) == FUTEX_WAKE;
  look_away(is_wake);
  long result = __real_syscall(number, all[0], all[1], all[2], all[3], all[4], all[5]);
  look_again(is_wake);
  return result;
}
