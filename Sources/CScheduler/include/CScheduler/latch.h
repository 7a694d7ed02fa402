// A latch: opens permanently when it has been counted down to 0; waits for it then return.
// Depends on: base.h.
//
// All zero is an open latch; no heap is used. While a pool's worker waits, the pool may run another worker in its
// place. On a loop's thread a wait blocks the loop, so another thread must count down. A child of fork has the count,
// without the waiters. Other threads of the parent do not exist there, and do not count down. Not for signal handlers.
#ifndef CSCHED_LATCH_H
#define CSCHED_LATCH_H

#include <CScheduler/base.h>

CSCHED_BEGIN_DECLS

/// The latch. Do not move it while any thread uses it. It may be freed when it is open and no thread is going to use
/// it. Neither the count-down that opens the latch, nor the waiters that it wakes, access the latch afterwards.
typedef struct csched_latch {
  uint32_t word; ///< private: the remaining count, and whether threads wait
} csched_latch;

CSCHED_STATIC_ASSERT(sizeof(csched_latch) == 4, "a latch is 4 bytes");

#define CSCHED_LATCH_INIT                                                                                              \
  { 0 }
#define CSCHED_LATCH_MOST 0x7fffffffu // the largest count

/// Does: makes a latch with `count`; 0: open. More than CSCHED_LATCH_MOST stop the process. Requires: no thread uses
/// it. Thread: any.
void csched_latch_init(csched_latch *latch, uint32_t count);

/// Does: counts down by `count`, and opens the latch at 0. Threads that find the latch open see the caller's earlier
/// writes. A `count` above the remaining count stops the process. Thread: any.
void csched_latch_count_down(csched_latch *latch, uint32_t count);

/// Does: waits until the latch is open. Thread: any; it blocks.
void csched_latch_wait(csched_latch *latch);

/// Does: as csched_latch_wait, until `deadline` (of csched_now, nanoseconds) at the latest. Returns: whether the latch
/// is open. Thread: any; it blocks.
bool csched_latch_wait_until(csched_latch *latch, csched_time deadline);

/// Returns: the remaining count. 0 means open; writes before each count-down are then visible. Thread: any.
uint32_t csched_latch_count(const csched_latch *latch);

/// Does: stops the process with a message if a thread waits. Calling it is optional. Thread: any.
void csched_latch_destroy(csched_latch *latch);

CSCHED_END_DECLS

#endif
