// A queue of timers that wait for their deadlines: the internal half of timer.h. The protocol is described in timer.c.
// Depends on: timer.h, lock.h, bsd.h.
#pragma once

#include <CScheduler/lock.h>
#include <CScheduler/timer.h>

#include "../base/bsd.h"
#include "../platform/platform.h"

enum { CSCHED_WHEEL_LEVELS = 7, CSCHED_WHEEL_SLOTS = 64 };

LIST_HEAD(csched_timer_list, csched_timer);
TAILQ_HEAD(csched_timer_queue, csched_timer);
RB_HEAD(csched_timer_tree, csched_timer);

/// The timers of one loop, clock or virtual time. `wake` and `first` may be read without the lock, with relaxed order:
/// csched_mpsc_notify and csched_mpsc_park order them.
struct csched_timers {
  csched_time wake;  ///< nothing has to be popped before: CSCHED_FOREVER while no timer asks for a wake
  csched_time first; ///< no deadline is earlier: CSCHED_FOREVER while there is none
  csched_time
      floor; ///< a new timer with an earlier deadline gets this one; 0: no timer does. The loop's thread writes it
  uint32_t telling; ///< 1 while a due timer may be on its way to its target, see loop.c
  csched_lock lock;
  bool is_closed;
  bool is_wake_low;    ///< the timer that set `wake` has left
  csched_time passed;  ///< a new timer with an earlier deadline passes: it does not wait here
  csched_time put_off; ///< the latest `floor` that replaced a deadline
  uint64_t last_order;
  uint64_t base;      ///< in ticks: timers up to it are in `near`
  size_t pending;     ///< timers in `near` and `slots`
  size_t never_count; ///< timers in `never`
  uint64_t steps;     ///< timers and slots that were checked beside the one asked for; for tests
  struct csched_timer_tree near;
  struct csched_timer_queue never; ///< at CSCHED_FOREVER
  uint64_t occupied[CSCHED_WHEEL_LEVELS];
  struct csched_timer_slot {
    struct csched_timer_list timers;
    csched_time wake; ///< the least deadline + leeway of its timers, or earlier; valid while it is occupied
  } slots[CSCHED_WHEEL_LEVELS][CSCHED_WHEEL_SLOTS];
};

typedef enum csched_timer_added {
  CSCHED_TIMER_REFUSED,     ///< closed
  CSCHED_TIMER_LATE,        ///< it does not wait here: the caller delivers it
  CSCHED_TIMER_ADDED,       ///< `wake` is unchanged
  CSCHED_TIMER_ADDED_FIRST, ///< `wake` has become earlier: the caller notifies the sleeping thread
} csched_timer_added;

/// Does: makes `timers`, all zero, empty and open. Thread: before they are shared.
void csched_timers_init_(csched_timers *timers);

/// Does: adds `timer`. Requires: it waits nowhere; its job is marked as submitted. Thread: any.
csched_timer_added csched_timers_add_(csched_timers *timers, csched_timer *timer, csched_time deadline,
                                      csched_time leeway);

/// Does: moves `timer` to another deadline, behind those that have it already. Returns: REFUSED when it does not wait
/// here; LATE when the move has ended its wait. Thread: any.
csched_timer_added csched_timers_move_(csched_timers *timers, csched_timer *timer, csched_time deadline);

/// Does: lets a timer whose deadline has come pass (W9): it is not added here. It may not while a timer that waits, or
/// is being delivered (`telling`), comes before it. After a pass, that deadline and all earlier ones pass.
/// Returns: whether it may. Thread: any.
bool csched_timers_pass_(csched_timers *timers, csched_time deadline);

/// Does: removes the first timer whose deadline has come at `now`; with CSCHED_FOREVER, the first of all.
/// Returns: NULL when there is none; `wake` and `first` are then after `now`. Thread: any.
csched_timer *csched_timers_pop_(csched_timers *timers, csched_time now);

/// Returns: the least deadline + leeway of those that wait; CSCHED_FOREVER: no timer asks for a wake. Thread: any.
csched_time csched_timers_wake_(csched_timers *timers);

/// Returns: how many wait; those at CSCHED_FOREVER only `with_never`. Thread: any.
size_t csched_timers_count_(csched_timers *timers, bool with_never);

/// Does: counts the timers that wait here for `target`, and writes the first one's deadline, CSCHED_FOREVER for none.
/// It checks at most `most` timers. Returns: whether it has checked all. Thread: any.
bool csched_timers_look_for_(csched_timers *timers, const struct csched_target *target, size_t most, size_t *count,
                             csched_time *first);

/// Does: in each phase of a fork, keeps other threads from the timers, so that the child finds them consistent. If
/// `are_orphaned`, they refuse later timers in the child, and one that is moved to a time becomes the first.
void csched_timers_atfork_(csched_timers *timers, csched_atfork_phase phase, bool are_orphaned);

/// Does: refuses every later timer; those that wait can still be popped. Thread: any, any number of times.
void csched_timers_close_(csched_timers *timers);

/// Does: the second half of csched_timer_cancel: removes and drops `timer`. Requires: this thread has made it DROPPING.
void csched_timer_end_cancel_(csched_timer *timer);
