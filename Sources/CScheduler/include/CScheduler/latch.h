// A latch: it opens when it has been counted down, once and for good, and lets all pass who wait for that.
// Depends on: base.h.
//
// All zero is an open one; no heap is used. On a thread of a pool another one takes the waiter's place. On a loop's thread the loop is
// held up meanwhile, as by a lock: what counts down must run elsewhere. A child of fork has the count, and none of the waiters; what orphaned
// threads were to count down stays. Not in signal handlers.
#ifndef CSCHED_LATCH_H
#define CSCHED_LATCH_H

#include <CScheduler/base.h>

CSCHED_BEGIN_DECLS

/// The latch. Keep it where it is while any thread uses it. It may be freed when it is open and no thread is going to use it: neither the
/// last to count down looks at it again after opening it, nor those who slept until then.
typedef struct csched_latch {
  uint32_t word; ///< private
} csched_latch;

CSCHED_STATIC_ASSERT(sizeof(csched_latch) == 4, "a latch is 4 bytes");

#define CSCHED_LATCH_INIT                                                                                              \
  { 0 }
#define CSCHED_LATCH_MOST 0x7fffffffu

/// Does: makes `latch` one that opens after `count`, at once for 0. More than CSCHED_LATCH_MOST stop the process.
/// Requires: nobody uses it. Thread: any.
void csched_latch_init(csched_latch *latch, uint32_t count);

/// Does: counts down by `count`, and opens the latch when nothing is left. What was done before is seen by those who pass. More than is
/// left stops the process. Thread: any.
void csched_latch_count_down(csched_latch *latch, uint32_t count);

/// Does: waits until the latch is open. Thread: any; it blocks.
void csched_latch_wait(csched_latch *latch);

/// Does: waits until the latch is open, or `deadline` (of csched_now). A deadline in the past does not wait.
/// Returns: whether it is open. Thread: any; it blocks.
bool csched_latch_wait_until(csched_latch *latch, csched_time deadline);

/// Returns: how much is left to count down; 0: it is open, and what was done before that is seen. Thread: any.
uint32_t csched_latch_count(const csched_latch *latch);

/// Does: stops the process with a message if a thread waits; otherwise nothing, so that it need not be called. Thread: any.
void csched_latch_destroy(csched_latch *latch);

CSCHED_END_DECLS

#endif
