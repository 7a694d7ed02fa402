// Each thread's record of what it waits for (csched_dump_wait, frames_internal.h). Dumps and the watchdog read it.
// States of the record: `function` NULL: the thread does not wait; else the thread waits in `function` for the object
// `what` since `since`
// Invariants
//   BW1  Only the thread itself writes its record. A reader sees no torn value, but the three values may belong to
//        different waits.
// Orderings: relaxed; the record publishes no other memory.
// Assumes: the reader accepts a stale record.
// Source: own design.
// Models: none. Not modelled: BW1.

#include "frames_internal.h"
#include "observed.h"

void csched_blocked_begin_(const char *function, const void *what) {
  csched_dump_wait *wait = csched_frame_wait_();
  if (wait == NULL) return;                         // no memory: the wait is not recorded
  csched_store_relaxed(&wait->since, csched_now()); // BW1: an atomic store, so that a reader sees no torn value
  csched_store_relaxed(&wait->what, what);          // BW1: an atomic store, so that a reader sees no torn value
  csched_store_relaxed(&wait->function, function);  // BW1: from here on the thread counts as waiting
  if (csched_is_observed_()) csched_observe_hooks_->note(CSCHED_OCCURRED_BLOCK, what, 0);
}

void csched_blocked_end_(void) {
  csched_dump_wait *wait = csched_frame_wait_();
  if (wait != NULL) csched_store_relaxed(&wait->function, (const char *)NULL); // BW1: the wait has ended
}
