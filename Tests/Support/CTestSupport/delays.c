// Random delays in the C core: a build with -fsanitize-coverage=trace-pc calls this at each of its branches. Without
// SCHEDULER_TEST_DELAYS, a seed, nothing is delayed. See Tools/sanitize, "delays".
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <CScheduler/base.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint64_t seed; // 0: no delays
static atomic_uint threads;
static _Thread_local uint64_t state;

// No calls to here from the functions of this file.
#if defined(__clang__)
#define UNTRACED __attribute__((no_sanitize("coverage")))
#else
#define UNTRACED __attribute__((no_sanitize_coverage))
#endif

UNTRACED static void read_seed(void) {
  const char *text = getenv("SCHEDULER_TEST_DELAYS");
  if (text != NULL) seed = strtoull(text, NULL, 10) | 1;
}

UNTRACED static uint64_t next_random(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

UNTRACED static void spin(uint64_t rounds) {
  while (rounds-- > 0) CSCHED_CPU_RELAX();
}

UNTRACED void __sanitizer_cov_trace_pc(void) {
  pthread_once(&once, read_seed);
  if (seed == 0) return;
  if (state == 0) state = seed * 0x9E3779B97F4A7C15 + atomic_fetch_add(&threads, 1) + 1;
  uint64_t random = next_random();
  if (random % 128 == 0) spin(random >> 32 & 63);
  if (random % 4099 == 0) sched_yield();
  if (random % 65537 == 0) spin(random >> 32 & 8191); // and no sleep: tests count those
}
