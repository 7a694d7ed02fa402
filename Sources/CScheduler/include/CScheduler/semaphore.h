// A counting semaphore in 4 bytes: any thread may acquire and release units.
// Depends on: base.h.
//
// All zero is a semaphore without units; no heap is used. Waiters get units in the order of their arrival. While a
// thread waits, a signal transfers the unit to the first waiter, and no other thread can acquire it. While a pool's
// worker waits, the pool may run another worker in its place. On a loop's thread the wait blocks the loop: another
// thread must signal. A child of fork has the units, but no waiters. Other threads of the parent do not exist there,
// and release no units. Do not use it in signal handlers.
#ifndef CSCHED_SEMAPHORE_H
#define CSCHED_SEMAPHORE_H

#include <CScheduler/base.h>

CSCHED_BEGIN_DECLS

/// The semaphore. Do not move it while any thread uses it. It may be freed as soon as no thread waits or is going to
/// use it. The thread that got the final unit may free it: a signal does not access the semaphore after it has released
/// its units.
typedef struct csched_semaphore {
  uint32_t word; ///< private: the number of free units, or a flag that threads wait
} csched_semaphore;

CSCHED_STATIC_ASSERT(sizeof(csched_semaphore) == 4, "a semaphore is 4 bytes");

#define CSCHED_SEMAPHORE_INIT                                                                                          \
  { 0 }
#define CSCHED_SEMAPHORE_MOST 0x7fffffffu // units

/// Does: initialises `semaphore` with `units`. More than CSCHED_SEMAPHORE_MOST stop the process. Requires: no thread
/// uses it. Thread: any.
void csched_semaphore_init(csched_semaphore *semaphore, uint32_t units);

/// Does: acquires a unit. Waits as long as necessary. Thread: any; it blocks.
void csched_semaphore_wait(csched_semaphore *semaphore);

/// Does: acquires a unit if one is free. Returns: whether it did. Thread: any; it never waits.
bool csched_semaphore_trywait(csched_semaphore *semaphore);

/// Does: as csched_semaphore_wait, until `deadline` (nanoseconds of csched_now) at most. A past deadline is a trywait.
/// Returns: whether it acquired a unit. Thread: any; it blocks.
bool csched_semaphore_wait_until(csched_semaphore *semaphore, csched_time deadline);

/// Does: releases `units`, to waiters first. A thread that gets a unit sees what the caller wrote before. More free
/// units than CSCHED_SEMAPHORE_MOST stop the process. Thread: any.
void csched_semaphore_signal(csched_semaphore *semaphore, uint32_t units);

/// Returns: how many units are free now. For tests and diagnostics. Thread: any.
uint32_t csched_semaphore_units(const csched_semaphore *semaphore);

/// Does: stops the process with a message if a thread waits. Calling it is optional. Thread: any.
void csched_semaphore_destroy(csched_semaphore *semaphore);

CSCHED_END_DECLS

#endif
