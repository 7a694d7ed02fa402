// Decides whether, and how long, a thread polls for work before it sleeps.
//
// A poll that finds work saves a sleep and a wake. A failed poll costs more than its time: a thread that the polling
// thread has just woken is placed on another processor, and a wake across processors costs an interrupt. So a thread
// polls before each sleep while its polls find work. After two failed polls it sleeps without a poll, except for a
// trial before each 32nd sleep. The trial takes longer than two wakes. So two threads that wake each other in turn both
// change from sleeping to polling. Figures: Documentation/Internals/Loops.md.
// Source: Karlin, Li, Manasse, Owicki, "Empirical studies of competitive spinning for a shared-memory multiprocessor",
//   1991.
// Depends on: base.h.
#pragma once

#include <CScheduler/base.h>

/// The results of one thread's recent polls. All zero at first.
typedef struct csched_spin {
  uint8_t failures; ///< failed polls since the most recent poll that found work, at most 2
  uint8_t skipped;  ///< sleeps without a poll since the most recent poll
} csched_spin;

/// USUAL: ns of a poll, about two futex wakes. TRIAL: ns of a trial, two wakes across processors of a virtual machine,
/// before each EACH-th sleep. After FAILURES failed polls in a row a thread polls in trials only.
enum { CSCHED_SPIN_USUAL = 12000, CSCHED_SPIN_TRIAL = 50000, CSCHED_SPIN_FAILURES = 2, CSCHED_SPIN_EACH = 32 };

/// Returns: how many ns the thread polls before its next sleep; 0: no poll. Call it once before each sleep.
static inline csched_time csched_spin_time_(csched_spin *spin) {
  if (spin->failures < CSCHED_SPIN_FAILURES) return CSCHED_SPIN_USUAL;
  spin->skipped = (uint8_t)((spin->skipped + 1) % CSCHED_SPIN_EACH);
  return spin->skipped == 0 ? CSCHED_SPIN_TRIAL : 0;
}

/// Does: records the result of a poll; `has_found`: it found work. Call it after each poll.
static inline void csched_spin_ended_(csched_spin *spin, bool has_found) {
  if (has_found) spin->failures = 0;
  else if (spin->failures < CSCHED_SPIN_FAILURES) spin->failures++;
}
