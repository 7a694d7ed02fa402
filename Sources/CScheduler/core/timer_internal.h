// Where timers wait for their deadlines: the other half of timer.h.
// Depends on: timer.h, lock.h, bsd.h.
#pragma once

#include <CScheduler/lock.h>
#include <CScheduler/timer.h>

#include "../platform/platform.h"
#include "bsd.h"

enum { CSCHED_WHEEL_LEVELS = 7, CSCHED_WHEEL_SLOTS = 64 };

LIST_HEAD(csched_timer_list, csched_timer);
TAILQ_HEAD(csched_timer_queue, csched_timer);
RB_HEAD(csched_timer_tree, csched_timer);

/// The timers of one loop. `wake` and `first` may be read without the lock: with relaxed order, for csched_mpsc_notify and
/// csched_mpsc_park to order.
struct csched_timers {
  csched_time wake;  ///< whoever runs them need not look before: CSCHED_FOREVER while none asks for it
  csched_time first; ///< no deadline is earlier: CSCHED_FOREVER while none is to come
  csched_time
      floor; ///< whatever comes with an earlier deadline is due at this one instead; 0: nothing is. Written by the owner
  uint32_t telling; ///< see loop.c
  csched_lock lock;
  bool is_closed;
  bool is_wake_low;    ///< the one that `wake` was made for has left
  csched_time passed;  ///< whatever comes with an earlier deadline need not wait here
  csched_time put_off; ///< the latest floor that a deadline was put off to
  uint64_t last_order;
  uint64_t base;      ///< in ticks: what is not after it is in `near`
  size_t pending;     ///< those in `near` and `slots`
  size_t never_count; ///< those in `never`
  uint64_t steps;     ///< timers and slots that were looked at beyond the one asked for; tests count them
  struct csched_timer_tree near;
  struct csched_timer_queue never; ///< at CSCHED_FOREVER
  uint64_t occupied[CSCHED_WHEEL_LEVELS];
  struct csched_timer_slot {
    struct csched_timer_list timers;
    csched_time wake; ///< of its timers, or earlier; while it is occupied
  } slots[CSCHED_WHEEL_LEVELS][CSCHED_WHEEL_SLOTS];
};

typedef enum csched_timer_added {
  CSCHED_TIMER_REFUSED,     ///< closed
  CSCHED_TIMER_LATE,        ///< it need not wait here: deliver it
  CSCHED_TIMER_ADDED,       ///< `wake` is what it was
  CSCHED_TIMER_ADDED_FIRST, ///< `wake` has become earlier: whoever sleeps for it must hear of it
} csched_timer_added;

/// Does: makes `timers`, all zero, empty and open. Thread: before they are shared.
void csched_timers_init_(csched_timers *timers);

/// Does: adds `timer`. Requires: it waits nowhere; its job is marked as submitted. Thread: any.
csched_timer_added csched_timers_add_(csched_timers *timers, csched_timer *timer, csched_time deadline,
                                      csched_time leeway);

/// Does: moves `timer` to another deadline, behind those that have it already. Returns: REFUSED when it does not wait here;
/// LATE when it does not any more. Thread: any.
csched_timer_added csched_timers_move_(csched_timers *timers, csched_timer *timer, csched_time deadline);

/// Does: lets a timer whose deadline has come go past those that wait here, unless one of them, or one on its way (`telling`), comes
/// before it. If so, the same holds from then on for that deadline and all earlier ones. Returns: whether it may. Thread: any.
bool csched_timers_pass_(csched_timers *timers, csched_time deadline);

/// Does: takes the first timer whose deadline has come at `now`; with CSCHED_FOREVER, the first of all.
/// Returns: NULL when there is none; `wake` and `first` are then after `now`. Thread: any.
csched_timer *csched_timers_pop_(csched_timers *timers, csched_time now);

/// Returns: the least deadline + leeway of those that wait; CSCHED_FOREVER: there is none, or none before that. Thread: any.
csched_time csched_timers_wake_(csched_timers *timers);

/// Returns: how many wait; those at CSCHED_FOREVER only `with_never`. Thread: any.
size_t csched_timers_count_(csched_timers *timers, bool with_never);

/// Does: counts those that wait and are to be delivered to `target`, and writes the first one's deadline, CSCHED_FOREVER for none; it looks at `most` timers
/// at the most. Returns: whether it has seen all. Thread: any.
bool csched_timers_look_for_(csched_timers *timers, const struct csched_target *target, size_t most, size_t *count,
                             csched_time *first);

/// Does: in each phase of a fork, keeps other threads from them, so that the child finds them whole. Those that are orphaned take no more, and
/// any that is moved to a time comes to be the first.
void csched_timers_atfork_(csched_timers *timers, csched_atfork_phase phase, bool are_orphaned);

/// Does: refuses every later timer; those that wait can still be popped. Thread: any, any number of times.
void csched_timers_close_(csched_timers *timers);

/// Does: the second half of csched_timer_cancel: takes `timer` out, and drops it. Requires: its job is DROPPING by this hand.
void csched_timer_end_cancel_(csched_timer *timer);
