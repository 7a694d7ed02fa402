// Counts live objects of each kind, for leak accounting.
// States
//   counts     of a stripe: objects that its threads made, minus objects that they freed; only the sum over all stripes has a meaning
//   mine       1 + the index of this thread's stripe; 0 until it has one
// Invariants
//   DG1  The sum contains each change before the call exactly once, and no change after the call.
// Orderings: relaxed; a count publishes no other memory.
// Assumes: a caller that needs an exact sum has waited for the work that changes the counts.
// Source: striped counters, as in kernel statistics: threads on different cache lines do not contend.
// Checked by: "counts of objects that many threads make and release add up".
// Models: none. Not modelled: DG1.

#include <CScheduler/diagnostics.h>

#include "../platform/platform.h"

#include <stdlib.h>
#include <string.h>

enum { STRIPES = 64 };

static struct stripe { CSCHED_CACHE_ALIGNED int64_t counts[CSCHED_COUNTED_KINDS_]; } stripes[STRIPES];

bool csched_counting_;

// Runs before any object can be made: no object is freed with counting on that was made with counting off.
__attribute__((constructor(101))) static void read_environment(void) {
  const char *asked = getenv("SCHEDULER_DIAGNOSTICS");
  csched_counting_ = asked != NULL && strcmp(asked, "1") == 0;
}

static int64_t *counts_here(void) {
  static uint32_t next;                    // threads that were given a stripe
  static CSCHED_THREAD_LOCAL uint8_t mine; // 1 + the stripe's index; 0: none yet
  if (CSCHED_UNLIKELY(mine == 0)) mine = (uint8_t)(1 + csched_fetch_add_relaxed(&next, 1u) % STRIPES); // a count
  return stripes[mine - 1].counts;
}

void csched_count_(csched_counted_ kind, int64_t change) {
  csched_fetch_add_relaxed(&counts_here()[kind], change); // DG1: added once
}

int64_t csched_counted_sum_(csched_counted_ kind) {
  int64_t sum = 0;
  for (int i = 0; i < STRIPES; i++) sum += csched_load_relaxed(&stripes[i].counts[kind]); // DG1: read once
  return sum;
}

size_t csched_live_threads(void) { return csched_os_thread_count_(); }
