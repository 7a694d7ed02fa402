// A job with a deadline.
// Depends on: job.h.
//
// What a timer is, whoever runs it: it is submitted to a target (target.h), and cancelled here. It is due once. A periodic one is a task:
// csched_target_async_every (task.h); or the timer's run submits it again.
#ifndef CSCHED_TIMER_H
#define CSCHED_TIMER_H

#include <CScheduler/job.h>

CSCHED_BEGIN_DECLS

/// Where timers wait. Private.
typedef struct csched_timers csched_timers;

/// A job with a deadline. The caller owns the memory, as for any job; initialise it with csched_timer_init. Its fields but
/// `job.context` are private. (`node` has the shapes of libbsd's RB_ENTRY, LIST_ENTRY and TAILQ_ENTRY, for its macros; a timer
/// is in one of the three at a time.)
typedef struct csched_timer {
  csched_job job;
  csched_time deadline;
  csched_time leeway;
  uint64_t order;
  csched_timers *owner;
  struct csched_target *target; // where it is delivered when its time has come
  struct {
    union {
      struct csched_timer *rbe_left, *le_next, *tqe_next;
    };
    union {
      struct csched_timer *rbe_right, **le_prev, **tqe_prev;
    };
    struct csched_timer *rbe_parent;
    int rbe_color;
    uint32_t place;
  } node;
} csched_timer;

CSCHED_STATIC_ASSERT(sizeof(csched_timer) <= 13 * sizeof(void *) || sizeof(void *) < 8, "a timer is 13 words");

/// Does: makes `timer` ready to be submitted. Requires: it is not pending anywhere; `type` outlives it.
CSCHED_INLINE void csched_timer_init(csched_timer *timer, const csched_job_type *type, void *context) {
  csched_job_init(&timer->job, type, context);
  timer->owner = NULL;
  timer->target = NULL;
  timer->node.place = 0;
}

/// Does: as csched_job_cancel on the timer's job, and takes the timer out of where it waits, or is about to, at once, so that
/// `release` follows without waiting for the deadline: it has been called, or without one the timer is idle, when this returns. Not so
/// when the timer was on its way, to where it would wait, or, being due, to its target: then it is as any job that is queued (job.h).
/// Requires: the timer stays valid during the call; so does what it was submitted to, if it is pending. What it was submitted to before
/// may be gone. Thread: any.
csched_cancel_result csched_timer_cancel(csched_timer *timer);

/// Does: as csched_timer_cancel, and if the job is running on another thread waits until that run has ended. Returns, requires, thread:
/// as both csched_timer_cancel and csched_job_cancel_and_wait.
csched_cancel_result csched_timer_cancel_and_wait(csched_timer *timer);

CSCHED_END_DECLS

#endif
