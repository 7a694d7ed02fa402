// A latch: opens permanently when it has been counted down to 0, and then lets all waiters pass.
// Depends on: base.h.
//
// All zero is an open latch; no heap is used. On a pool's thread another thread replaces the waiter. On a loop's thread a wait blocks the loop, so
// the count-down must come from another thread. A child of fork has the count, without the waiters. The counts of threads that do not exist in the
// child are never counted down. Not for signal handlers.
#ifndef CSCHED_LATCH_H
#define CSCHED_LATCH_H

#include <CScheduler/base.h>

CSCHED_BEGIN_DECLS

/// The latch. Do not move it while any thread uses it. It may be freed when it is open and no thread is going to use it. The last count-down does not
/// touch it after opening it, nor do the waiters that it wakes.
typedef struct csched_latch {
  uint32_t word; ///< private
} csched_latch;

CSCHED_STATIC_ASSERT(sizeof(csched_latch) == 4, "a latch is 4 bytes");

#define CSCHED_LATCH_INIT                                                                                              \
  { 0 }
#define CSCHED_LATCH_MOST 0x7fffffffu

/// Does: makes a latch that opens after `count`; at once for 0. More than CSCHED_LATCH_MOST stop the process. Requires: no thread uses it. Thread:
/// any.
void csched_latch_init(csched_latch *latch, uint32_t count);

/// Does: counts down by `count`, and opens the latch at 0. Threads that pass see the caller's earlier writes. A `count` above the remaining count
/// stops the process. Thread: any.
void csched_latch_count_down(csched_latch *latch, uint32_t count);

/// Does: waits until the latch is open. Thread: any; it blocks.
void csched_latch_wait(csched_latch *latch);

/// Does: waits until the latch is open, or `deadline` (of csched_now, nanoseconds). A deadline in the past does not wait. Returns: whether it is
/// open. Thread: any; it blocks.
bool csched_latch_wait_until(csched_latch *latch, csched_time deadline);

/// Returns: the remaining count. 0 means open; writes before each count-down are then visible. Thread: any.
uint32_t csched_latch_count(const csched_latch *latch);

/// Does: stops the process with a message if a thread waits; otherwise nothing, so the call is optional. Thread: any.
void csched_latch_destroy(csched_latch *latch);

CSCHED_END_DECLS

#endif
