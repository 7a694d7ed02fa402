// When a thread polls for work before it sleeps.
//
// A poll that finds work saves a sleep and a wake. A poll in vain costs more than its time: while it lasts, the system places the thread that this
// one has just woken on another processor, and a wake across processors costs an interrupt. So a thread polls while its polls find work. After two in
// vain it sleeps at once, and polls again before each 32nd sleep, for longer than two wakes take: then two threads that answer each other go from
// sleeping to polling, whichever of them polls first. Figures: Documentation/Internals/Loops.md.
// Source: Karlin, Li, Manasse, Owicki, "Empirical studies of competitive spinning for a shared-memory multiprocessor", 1991.
// Depends on: base.h.
#pragma once

#include <CScheduler/base.h>

/// What one thread has learned. All zero at first.
typedef struct csched_spin {
  uint8_t failures; ///< polls in vain since the last one that found work, at most 2
  uint8_t skipped;  ///< sleeps without a poll since the last poll
} csched_spin;

/// ns: about two futex wakes; and two wakes across processors of a virtual machine.
enum { CSCHED_SPIN_USUAL = 12000, CSCHED_SPIN_TRIAL = 50000, CSCHED_SPIN_FAILURES = 2, CSCHED_SPIN_EACH = 32 };

/// Returns: how long the thread polls before this sleep, ns; 0: not at all.
static inline csched_time csched_spin_time_(csched_spin *spin) {
  if (spin->failures < CSCHED_SPIN_FAILURES) return CSCHED_SPIN_USUAL;
  spin->skipped = (uint8_t)((spin->skipped + 1) % CSCHED_SPIN_EACH);
  return spin->skipped == 0 ? CSCHED_SPIN_TRIAL : 0;
}

/// Does: records whether a poll has found work.
static inline void csched_spin_ended_(csched_spin *spin, bool has_found) {
  if (has_found) spin->failures = 0;
  else if (spin->failures < CSCHED_SPIN_FAILURES) spin->failures++;
}
