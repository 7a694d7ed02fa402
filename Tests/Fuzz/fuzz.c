// The input and the virtual time of all targets. A function __wrap_NAME replaces the platform layer's NAME: Tools/fuzz
// reads these names here and in the target's own files, and passes them to the linker.

#include "fuzz.h"

#include "../../Sources/CScheduler/platform/platform.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

bool fuzz_is_traced;

void fuzz_trace(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "%llu ", (unsigned long long)fuzz_now);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
}

void fuzz_disagree(const char *file, int line, const char *condition, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "%s:%d: the model disagrees: not %s: ", file, line, condition);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  abort();
}

// MARK: the input

static const uint8_t *next, *end;

void fuzz_begin(const uint8_t *data, size_t size) {
  static bool has_begun;
  if (!has_begun) fuzz_is_traced = getenv("FUZZ_TRACE") != NULL;
  has_begun = true;
  next = data;
  end = data + size;
  fuzz_on_sleep = fuzz_sleep;
  fuzz_now = (csched_time)1 << (20 + fuzz_below(40));
  fuzz_now += fuzz_byte();
}

bool fuzz_is_over(void) { return next >= end; }

unsigned fuzz_byte(void) { return next < end ? *next++ : 0; }

// MARK: time

csched_time fuzz_now;
void (*fuzz_on_sleep)(csched_time deadline);

csched_time fuzz_span(void) {
  enum { TICK_BITS = 22 }; // a tick of the wheel
  unsigned kind = fuzz_byte();
  switch (kind % 10) {
  case 0: return 0;
  case 1: return kind;
  case 2: return (csched_time)kind * 1000;
  case 3: return (csched_time)kind * 100000;
  case 4: return (csched_time)kind << TICK_BITS;
  case 5: return ((csched_time)fuzz_byte() << TICK_BITS) - 1;
  case 6: return (csched_time)1 << fuzz_below(63);
  case 7: return ((csched_time)1 << fuzz_below(63)) - 1;
  case 8: return (csched_time)(kind * 256 + fuzz_byte()) << fuzz_below(40);
  default: return CSCHED_FOREVER;
  }
}

csched_time fuzz_instant(csched_time now) {
  unsigned kind = fuzz_byte();
  if (kind < 20) {
    csched_time span = fuzz_span();
    return span > now ? 0 : now - span;
  }
  if (kind < 24) return CSCHED_FOREVER - (kind - 20);
  if (kind < 28) return kind - 24;
  return fuzz_add(now, fuzz_span());
}

void fuzz_pass(csched_time span) {
  fuzz_now = fuzz_add(fuzz_now, span);
  if (fuzz_now > FUZZ_LATEST) fuzz_now = FUZZ_LATEST;
}

void fuzz_sleep(csched_time deadline) {
  REQUIRE(deadline != CSCHED_FOREVER, "it sleeps for ever");
  TRACE("sleeps until %llu", (unsigned long long)deadline);
  if (fuzz_now < deadline) fuzz_now = deadline;
}

// MARK: the port

csched_time __wrap_csched_now(void);
csched_time __wrap_csched_now(void) { return fuzz_now; }

// One processor, so that nothing spins while time stands still. (Tools/fuzz keeps the process on one, too.)
unsigned __wrap_csched_cpu_count_(void);
unsigned __wrap_csched_cpu_count_(void) { return 1; }

csched_futex_result __wrap_csched_futex_wait_(uint32_t *word, uint32_t expected, csched_time deadline);
csched_futex_result __wrap_csched_futex_wait_(uint32_t *word, uint32_t expected, csched_time deadline) {
  if (csched_load_relaxed(word) != expected) return CSCHED_FUTEX_CHANGED;
  if (deadline > fuzz_now) fuzz_on_sleep(deadline);
  return csched_load_relaxed(word) != expected ? CSCHED_FUTEX_WOKEN
         : fuzz_now >= deadline                ? CSCHED_FUTEX_TIMED_OUT
                                               : CSCHED_FUTEX_INTERRUPTED;
}
