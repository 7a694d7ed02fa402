// A target: the common interface for submitting work to loops, threads, pools, serial queues and virtual time.
// Depends on: job.h, timer.h.
//
// Each scheduler has a target (csched_loop_target …), and all work is submitted through it. A target defines how work
// is delivered. A serial queue runs its jobs on another target, its base: any target, even a serial queue, or one that
// you write.
//
// A pool's target is one priority of the pool; it runs jobs in parallel, in no order. A limit (limit.h) may run several
// jobs, too. All other targets run one job at a time, in this order. A queue uses its base's clock, and is lock-free if
// its base is. Virtual time ignores leeways.
//
// The functions that end a scheduler are named by these words:
// - end_run (loop, activation, virtual time) ends one run. Waiting work remains for the next run.
// - close (loop, virtual time) refuses later work, and runs or drops outstanding work, as its policy says (loop.h).
//   Virtual time drops it. A close does not wait. It may be called again: DROP after RUN drops the remaining work; RUN
//   after DROP changes nothing.
// - stop (thread, pool) is close for schedulers with threads of their own, which then end; `join` waits for these
//   threads. A queue has neither close nor stop of its own: it refuses work when its base refuses work.
// - destroy releases the handle, which must not be used any more. A loop and virtual time drop remaining work. A thread
//   and a pool are stopped with RUN, unless they were stopped before. A queue's remaining work still runs, unless its
//   base refuses or drops it. Only a pool's destroy waits until remaining work has run.
//
// Refused or dropped work is reported by ECANCELED or `drop`. In a child of fork, these calls have no effect on an
// orphaned scheduler (base.h).
#ifndef CSCHED_TARGET_H
#define CSCHED_TARGET_H

#include <CScheduler/timer.h>

CSCHED_BEGIN_DECLS

typedef struct csched_target csched_target;
struct csched_text;
struct csched_helping;

/// The functions of a kind of target; one constant table serves all targets of the kind. The library calls them, with
/// jobs that are already marked as submitted. The target must end each delivered job by exactly one call of
/// csched_target_perform or csched_target_discard. A delivered job may be of a private, smaller kind, which has fewer
/// fields (the library makes it for a Swift task): access no field but `next`.
typedef struct csched_target_type {
  /// Does: accepts `job`, to perform it after jobs that the same thread delivered before (unless the target is
  /// concurrent). Returns: 0; ECANCELED when the target accepts no more work, after csched_target_discard(job). Thread:
  /// any. But the library never calls a `deliver` that you wrote on a thread that waits for the timers of a pool or of
  /// another clock (clock.h). So your `deliver` may run the job at once, and may block. Due timers of one such target
  /// are delivered one after the other, in order. Timers that wait in a pool are delivered by a worker of that pool.
  /// Timers of another clock are delivered by a worker of an additional pool, which the library makes for them.
  int (*deliver)(csched_target *target, csched_job *job);
  /// Does: arranges that `timer` is delivered to `timer->target` at `deadline`, or at most `leeway` later. Returns,
  /// thread: as `deliver`.
  int (*deliver_at)(csched_target *target, csched_timer *timer, csched_time deadline, csched_time leeway);
  /// Returns: the target's base, or NULL. A NULL function: the target has no base.
  csched_target *(*base)(const csched_target *target);
  /// Does: lets the calling thread run one piece of work as if the target ran it, until `leave`. Returns: whether the
  /// thread may: the target accepts work, and neither its order nor its binding to a thread would be broken. NULL:
  /// never. Thread: any; it does not wait.
  bool (*enter)(csched_target *target);
  void (*leave)(csched_target *target);
  /// Returns: whether the target runs its work on the calling thread only, so that waiting for it here would never end.
  /// NULL: no.
  bool (*is_bound_here)(const csched_target *target);
  /// Returns: whether the target accepts no more work. NULL: only the result of `deliver` shows it. Thread: any.
  bool (*is_closed)(const csched_target *target);
  /// Called in a child of fork, by a queue or limit on this target, with the `job` that it had submitted: a thread of
  /// the parent may still have been in `deliver` with it, or may have been running it. Returns: whether `job` waits in
  /// this target. If not, the queue or limit submits it again, or, if it had started, the work behind it. NULL: the job
  /// counts as waiting.
  bool (*has)(const csched_target *target, const csched_job *job);
  /// Returns: the current time of the clock that `deliver_at` uses. NULL: the clock of the base; without a base,
  /// csched_now.
  csched_time (*now)(const csched_target *target);
  /// Private, for virtual time as the base of a queue. Does: counts a job of the queue that is about to run (`change`
  /// 1), for csched_virtual_step and `turn_limit`, or undoes that (-1). Returns: whether the job may run. NULL: queues
  /// on this target need not count.
  bool (*count_job_)(csched_target *target, int change);
  /// Private, for virtual time as the base of a queue. Does: waits until a sync on the queue `waited` has ended
  /// (`*ended` says so). Meanwhile it runs the target's due work, if no other thread runs it.
  void (*await_sync_)(csched_target *target, csched_target *waited, uint32_t *ended);
  /// Private. Does: donates `priority` to the target's work (`change` 1), or ends the donation (-1). Returns: whether
  /// `priority` is higher than the target's own. NULL: no donation.
  bool (*donate_)(csched_target *target, int priority, int change);
  /// Private. Returns: where this thread stores whether the current job has a follow-up, a job to run right after it
  /// (csched_target_submit_follow_up_). NULL, or a NULL function: the target runs no follow-ups.
  uint32_t *(*follow_up_)(const csched_target *target);
  /// Private. Does: appends the target's kind, name and state to `text`; if `text->is_name_only`, without the state.
  /// NULL: nothing. Thread: any, while other threads use the target.
  void (*describe_)(const csched_target *target, struct csched_text *text);
  /// Private. Returns: whether a thread that waits for a queue or limit on this target may run its work. NULL: no.
  bool (*may_help_)(const csched_target *target);
  /// Private, for targets without a base. Returns: what this thread may do with the work of a target that was closed
  /// with CSCHED_STOP_RUN, the sum of CSCHED_REST_…; 0 for a target that is open, or was closed to drop its work. NULL:
  /// 0.
  unsigned (*rest_)(const csched_target *target);
  const struct csched_helping
      *helping_;       ///< Private: how a thread that waits runs work of this queue or limit; NULL: it cannot
  bool only_enqueues_; ///< Private: `deliver` is the library's, and only enqueues the job: it runs no user code.
  bool is_concurrent_; ///< Private: the target has a base, and may run several jobs at a time.
  /// Private, for targets with a base. As `deliver`, for a job that csched_target_submit submits: it may also block, or
  /// return EAGAIN. NULL: `deliver`.
  int (*submit_)(csched_target *target, csched_job *job);
} csched_target_type;

/// A target; it is the first member of each scheduler. Do not move it: its address is its identity.
struct csched_target {
  const csched_target_type *type;
  void *owner;              ///< for the target's creator; set it before anything is submitted
  csched_target *waits_for; ///< private: the target that this target's owning thread waits for
};

/// The state of one csched_target_enter or csched_serial_try_enter; it is in the caller's memory. Its fields are
/// private.
typedef csched_scope csched_target_inside;

CSCHED_STATIC_ASSERT(sizeof(csched_target_inside) == 6 * sizeof(void *), "the Swift module keeps room for so much");

/// Does: submits `job`, to run after jobs that the same thread submitted before. Returns: 0; ECANCELED when the target
/// or one of its bases accepts no more work, after the job was dropped and released; the same with EAGAIN when a
/// limited target is full (limit.h). Requires: the job is idle. Thread: any. It is lock-free, except for virtual time,
/// a limited target (limit.h), and when it must wake or start a thread. It makes no call to wake a thread that is
/// awake.
int csched_target_submit(csched_target *target, csched_job *job);

/// Returns: the current time of the clock for csched_target_submit_at: csched_now, unless the target or a base has
/// virtual time. Thread: any.
csched_time csched_target_now(const csched_target *target);

/// Does: submits `timer`, to run at `deadline` (nanoseconds of csched_target_now) or as soon after as the target can,
/// never before. Timers of one deadline run in the order of submission. If the deadline is not in the future, the timer
/// is submitted as a job at once, but behind timers that are due already: so a timer that is resubmitted for the past
/// does not starve others. With the deadline CSCHED_FOREVER the timer waits until it is cancelled or dropped. The
/// thread that waits for deadlines may sleep up to `leeway` nanoseconds longer, so that one wakeup serves many timers.
/// While awake, it runs all due timers; for a leeway of CSCHED_FOREVER it never wakes up. Returns, thread: as
/// csched_target_submit. Requires: the timer's job is idle; a target that you wrote stays valid until the timer's
/// release.
int csched_target_submit_at(csched_target *target, csched_timer *timer, csched_time deadline, csched_time leeway);

/// Returns: the target of the innermost job (or csched_target_enter) on this thread's stack; NULL outside all jobs.
/// Thread: any.
csched_target *csched_target_current(void);

/// Returns: whether a job of `target`, or of a queue on it, is on this thread's stack. Thread: any.
bool csched_target_is_inside(const csched_target *target);

// For targets that you write: the functions that `deliver`, and the threads of such a target, call.

/// Does: runs `job` with `target` as the current target, unless the job was cancelled. Thread: the thread on which the
/// target runs its work.
void csched_target_perform_(csched_target *target, csched_job *job, csched_scope *scope);
CSCHED_INLINE void csched_target_perform(csched_target *target, csched_job *job) {
  CSCHED_NEEDS_ABI();
  CSCHED_AT_END_OF_SCOPE(csched_scope_end_) csched_scope scope;
  csched_target_perform_(target, job, &scope);
  scope.frame = NULL;
}

/// Does: makes `target` this thread's current target until csched_target_leave, for work that is not a job. `inside`
/// must stay valid until then.
void csched_target_enter(csched_target_inside *inside, csched_target *target);
void csched_target_leave(const csched_target_inside *inside);

/// Does: ends a delivered `job` without a run: calls its `drop`, unless it was cancelled, and its `release`. Thread:
/// any.
void csched_target_discard(csched_job *job);

CSCHED_END_DECLS

#endif
