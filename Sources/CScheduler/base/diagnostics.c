// Counts the live objects of each kind, for leak accounting. Each thread adds to one stripe of counters.
// States
//   counts     of a stripe: objects that its threads made, minus objects that they freed. Only the sum over all stripes
//              has a meaning
//   my_stripe  the thread's stripe, chosen at its first count
// Invariants
//   DG1  csched_counted_sum_ adds each change that precedes its call exactly once, and no change that follows its
//        return.
// Orderings: relaxed; a count publishes no other memory.
// Assumes: a caller that needs an exact sum has waited for the work that changes the counts.
// Source: striped counters, as in kernel statistics: threads on different cache lines do not contend.
// Models: none. Not modelled: DG1.

#include <CScheduler/diagnostics.h>

#include "../platform/platform.h"

#include <string.h>

enum { STRIPES = 64 };

static struct stripe { CSCHED_CACHE_ALIGNED int64_t counts[CSCHED_COUNTED_KINDS_]; } stripes[STRIPES];

bool csched_counting_; // whether objects are counted; constant after the start of the process

// Runs when the library is loaded, before any object is made. So each object is counted when it is made and when it is
// freed, or at neither time.
__attribute__((constructor(101))) static void read_environment(void) {
  const char *asked = csched_os_environment_("SCHEDULER_DIAGNOSTICS");
  csched_counting_ = asked != NULL && strcmp(asked, "1") == 0;
}

static int64_t *counts_here(void) {             // Returns: the counters of this thread's stripe
  static uint32_t next;                         // how many threads have chosen a stripe
  static CSCHED_THREAD_LOCAL uint8_t my_stripe; // 1 + the stripe's index; 0: not chosen yet
  if (CSCHED_UNLIKELY(my_stripe == 0))
    my_stripe = (uint8_t)(1 + csched_fetch_add_relaxed(&next, 1u) % STRIPES); // a count of threads: spreads them
  return stripes[my_stripe - 1].counts;
}

void csched_count_(csched_counted_ kind, int64_t change) {
  csched_fetch_add_relaxed(&counts_here()[kind], change); // DG1: adds the change once
}

int64_t csched_counted_sum_(csched_counted_ kind) {
  int64_t sum = 0;
  for (int i = 0; i < STRIPES; i++) sum += csched_load_relaxed(&stripes[i].counts[kind]); // DG1: reads each stripe once
  return sum;
}

size_t csched_live_threads(void) { return csched_os_thread_count_(); }
