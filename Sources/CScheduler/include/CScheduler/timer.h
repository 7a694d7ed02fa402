// A timer: a job with a deadline.
// Depends on: job.h.
//
// Submit a timer to a target (target.h), and cancel it here. A timer runs once per submission. For periodic work use
// csched_target_async_every (task.h), or let the timer's `run` submit the timer again.
#ifndef CSCHED_TIMER_H
#define CSCHED_TIMER_H

#include <CScheduler/job.h>

CSCHED_BEGIN_DECLS

/// The timers that wait in one scheduler. Private.
typedef struct csched_timers csched_timers;

/// A job with a deadline. The caller owns the memory, as for any job; initialise it with csched_timer_init. All fields
/// but `job.context` are private. (`node` has the layout of libbsd's RB_ENTRY, LIST_ENTRY and TAILQ_ENTRY, for its
/// macros; a timer is in one of these three at a time.)
typedef struct csched_timer {
  csched_job job;
  csched_time deadline;
  csched_time leeway;
  uint64_t order;               // number that orders submissions with equal deadlines
  csched_timers *owner;         // the timers in which this one waits, otherwise NULL
  struct csched_target *target; // the target that the timer is delivered to when due
  struct {
    union {
      struct csched_timer *rbe_left, *le_next, *tqe_next;
    };
    union {
      struct csched_timer *rbe_right, **le_prev, **tqe_prev;
    };
    struct csched_timer *rbe_parent;
    int rbe_color;
    uint32_t place; // which tree, list or wheel slot links the timer: values in timer.c
  } node;
} csched_timer;

CSCHED_STATIC_ASSERT(sizeof(csched_timer) <= 13 * sizeof(void *) || sizeof(void *) < 8, "a timer is 13 words");

/// Does: makes `timer` ready to be submitted. Requires: the timer is not pending; `type` outlives it.
CSCHED_INLINE void csched_timer_init(csched_timer *timer, const csched_job_type *type, void *context) {
  csched_job_init(&timer->job, type, context);
  timer->owner = NULL;
  timer->target = NULL;
  timer->node.place = 0;
}

/// Does: as csched_job_cancel on the timer's job, and unlinks the timer at once. So when this returns, `release` was
/// called; without a `release`, the timer is idle. Exception: while a thread delivers the timer (to the waiting timers
/// or, when due, to its target), it is like any queued job (job.h). Requires: the timer stays valid during the call; if
/// it is pending, so does the target that it was submitted to. Earlier targets may be freed. Returns: as
/// csched_job_cancel. Thread: any.
csched_cancel_result csched_timer_cancel(csched_timer *timer);

/// Does: as csched_timer_cancel. If the timer's job is running on another thread, waits until that run has ended.
/// Returns, requires, thread: as csched_timer_cancel and csched_job_cancel_and_wait.
csched_cancel_result csched_timer_cancel_and_wait(csched_timer *timer);

CSCHED_END_DECLS

#endif
