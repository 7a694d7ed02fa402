// A semaphore: units that are given and taken, by any threads.
// Depends on: base.h.
//
// All zero is one without units; no heap is used. Who waits gets a unit in the order of arrival: while somebody waits, a unit is handed to
// the first of them, and nobody else can take it. On a thread of a pool another one takes the waiter's place. On a loop's thread the
// loop is held up meanwhile, as by a lock: what gives the unit must run elsewhere. A child of fork has the units, and none of the waiters;
// what orphaned threads were to give never comes. Not in signal handlers.
#ifndef CSCHED_SEMAPHORE_H
#define CSCHED_SEMAPHORE_H

#include <CScheduler/base.h>

CSCHED_BEGIN_DECLS

/// The semaphore. Keep it where it is while any thread uses it. It may be freed as soon as no thread waits, or is going to use it:
/// whoever has got the last unit may, because a signal does not look at it again after it has given its units.
typedef struct csched_semaphore {
  uint32_t word; ///< private
} csched_semaphore;

CSCHED_STATIC_ASSERT(sizeof(csched_semaphore) == 4, "a semaphore is 4 bytes");

#define CSCHED_SEMAPHORE_INIT                                                                                          \
  { 0 }
#define CSCHED_SEMAPHORE_MOST 0x7fffffffu // units

/// Does: makes `semaphore` one with `units`. More than CSCHED_SEMAPHORE_MOST stop the process. Requires: nobody uses it. Thread: any.
void csched_semaphore_init(csched_semaphore *semaphore, uint32_t units);

/// Does: takes a unit, waiting as long as it must. Thread: any; it blocks.
void csched_semaphore_wait(csched_semaphore *semaphore);

/// Does: takes a unit if one is free. Returns: whether it did. Thread: any; it never waits.
bool csched_semaphore_trywait(csched_semaphore *semaphore);

/// Does: takes a unit, waiting until `deadline` (of csched_now) at the most. A deadline in the past is a trywait.
/// Returns: whether it did. Thread: any; it blocks.
bool csched_semaphore_wait_until(csched_semaphore *semaphore, csched_time deadline);

/// Does: gives `units`, first to those that wait. What was done before is seen by who gets them. More free units than
/// CSCHED_SEMAPHORE_MOST stop the process. Thread: any.
void csched_semaphore_signal(csched_semaphore *semaphore, uint32_t units);

/// Returns: how many units are free now. For tests and diagnostics. Thread: any.
uint32_t csched_semaphore_units(const csched_semaphore *semaphore);

/// Does: stops the process with a message if a thread waits; otherwise nothing, so that it need not be called. Thread: any.
void csched_semaphore_destroy(csched_semaphore *semaphore);

CSCHED_END_DECLS

#endif
