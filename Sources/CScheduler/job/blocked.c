// Each thread's note of what it waits for, read by dumps and by the watchdog.
// States of a thread's csched_dump_wait: `function` NULL: the thread does not wait; else it waits in `function` for `what`, from `since` on
// Invariants
//   BW1  Only the thread itself writes its note. A reader sees each of the three values whole, but possibly from two different waits.
// Orderings: relaxed; a note publishes no other memory.
// Assumes: the reader accepts that a line was true a moment ago.
// Source: own design.
// Checked by: "a dump names waiting threads, and what they wait for".
// Models: none. Not modelled: BW1.

#include "frames_internal.h"
#include "observed.h"

void csched_blocked_begin_(const char *function, const void *what) {
  csched_dump_wait *wait = csched_frame_wait_();
  if (wait == NULL) return;
  csched_store_relaxed(&wait->since, csched_now()); // BW1: whole values
  csched_store_relaxed(&wait->what, what);          // BW1: whole values
  csched_store_relaxed(&wait->function, function);  // BW1: whole values
  if (csched_is_observed_()) csched_observe_hooks_->note(CSCHED_OCCURRED_BLOCK, what, 0);
}

void csched_blocked_end_(void) {
  csched_dump_wait *wait = csched_frame_wait_();
  if (wait != NULL) csched_store_relaxed(&wait->function, (const char *)NULL); // BW1: the wait is over
}
