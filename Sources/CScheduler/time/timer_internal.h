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

/// The timers of a loop, clock or virtual time; `wake` and `first` are also read without the lock: csched_mpsc_notify
/// and csched_mpsc_park order it.
struct csched_timers {
  csched_time wake;  ///< the sleeping thread must wake and pop at this time; CSCHED_FOREVER: no timer needs a wake
  csched_time first; ///< lower bound of the deadlines; CSCHED_FOREVER: there is no finite deadline
  csched_time floor; ///< a new timer with an earlier deadline gets this one; 0: none. Only the loop's thread writes it
  uint32_t is_delivering; ///< 1 while the loop may be delivering a popped timer to its target, see loop.c (LP9)
  csched_lock lock;
  bool is_closed;
  bool is_wake_low;         ///< `wake` may be too early: the timer that set it was removed
  csched_time passed;       ///< a new timer with an earlier deadline bypasses the queue, as another did (timer.c W9)
  csched_time latest_floor; ///< the most recent `floor` that has replaced the deadline of an overdue timer
  uint64_t last_order;      ///< `order` of the most recent submission
  uint64_t base;            ///< in ticks: timers up to `base` are in `near`
  size_t pending;           ///< number of timers in `near` and `slots`
  size_t never_count;       ///< number of timers in `never`
  uint64_t steps;           ///< for tests: how many other timers and slots the operations have checked
  struct csched_timer_tree near;
  struct csched_timer_queue never;        ///< timers at CSCHED_FOREVER
  uint64_t occupied[CSCHED_WHEEL_LEVELS]; ///< a bit for each slot that has timers
  struct csched_timer_slot {
    struct csched_timer_list timers;
    csched_time wake; ///< the least deadline + leeway of its timers, or earlier; valid while the slot is occupied
  } slots[CSCHED_WHEEL_LEVELS][CSCHED_WHEEL_SLOTS];
};

typedef enum csched_timer_added {
  CSCHED_TIMER_REFUSED,     ///< the queue is closed; of a move: the timer does not wait here
  CSCHED_TIMER_LATE,        ///< overdue: the timer does not wait here, and the caller delivers it
  CSCHED_TIMER_ADDED,       ///< the timer waits; `wake` is unchanged
  CSCHED_TIMER_ADDED_FIRST, ///< the timer waits; `wake` has become earlier: the caller notifies the sleeping thread
} csched_timer_added;

/// Does: makes `timers`, all zero, empty and open. Thread: before they are shared.
void csched_timers_init_(csched_timers *timers);

/// Does: adds `timer`. Requires: the timer waits in no queue; its job is marked as submitted. Returns: see
/// csched_timer_added. Thread: any.
csched_timer_added csched_timers_add_(csched_timers *timers, csched_timer *timer, csched_time deadline,
                                      csched_time leeway);

/// Does: moves `timer` to another deadline, behind the timers that have that deadline. Returns: see csched_timer_added.
/// Thread: any.
csched_timer_added csched_timers_move_(csched_timers *timers, csched_timer *timer, csched_time deadline);

/// Does: checks whether a new, overdue timer may bypass the queue (W9). It may not while a timer that precedes it waits
/// or is being delivered. If it may, later timers with the same or an earlier deadline bypass, too. Returns: whether
/// the caller must deliver the timer. Thread: any.
bool csched_timers_try_bypass_(csched_timers *timers, csched_time deadline);

/// Does: removes the first timer that is due at `now`; with CSCHED_FOREVER, the first of all. Returns: the timer; NULL:
/// no timer is due, and this call has raised `wake` and `first` above `now`. Thread: any.
csched_timer *csched_timers_pop_(csched_timers *timers, csched_time now);

/// Returns: the least deadline + leeway of the waiting timers; CSCHED_FOREVER: no timer needs a wake. Thread: any.
csched_time csched_timers_wake_(csched_timers *timers);

/// Returns: how many timers wait; timers at CSCHED_FOREVER count only `with_never`. Thread: any.
size_t csched_timers_count_(csched_timers *timers, bool with_never);

/// Does: for dumps, checks up to `most` waiting timers. Out: `*count`, how many are for `target`; `*first`, their least
/// deadline or CSCHED_FOREVER.
/// Returns: whether it has checked all timers. Thread: any.
bool csched_timers_count_for_(csched_timers *timers, const struct csched_target *target, size_t most, size_t *count,
                              csched_time *first);

/// Does: in each phase of a fork, locks or unlocks `timers`, so that the child gets a consistent copy. If
/// `are_orphaned`, in the child the queue is closed, and `wake` and `first` are reset.
void csched_timers_atfork_(csched_timers *timers, csched_atfork_phase phase, bool are_orphaned);

/// Does: refuses every later timer; waiting timers can still be popped. Thread: any, any number of times.
void csched_timers_close_(csched_timers *timers);

/// Does: the second half of csched_timer_cancel: removes and drops `timer`. Requires: this thread has made it DROPPING.
void csched_timer_end_cancel_(csched_timer *timer);
