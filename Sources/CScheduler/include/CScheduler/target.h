// A target: the common interface for submitting work to loops, threads, pools, serial queues and virtual time.
// Depends on: job.h, timer.h.
//
// Each scheduler has a target (csched_loop_target …), and all work is submitted through it. A target defines how work is delivered. Any target can be
// the base of a serial queue, even another serial queue, or a target that you write.
//
// A pool's target is one priority of the pool; it runs jobs in parallel, in no order. All other targets run one job at a time, in the order described
// here. A queue uses its base's clock, and is lock-free if its base is. Virtual time ignores leeways.
//
// These words end a scheduler:
// - end_run (loop, activation, virtual time) ends one run. Waiting work stays for the next run.
// - close (loop, virtual time) refuses later work, and runs or drops outstanding work, as its policy says (loop.h). Virtual time drops it. A close
//   does not wait. It may be called again: DROP after RUN drops the remaining work; RUN after DROP changes nothing.
// - stop (thread, pool) is close for schedulers with threads of their own, which then end; `join` waits for them. A queue has neither close nor stop:
//   it refuses work when its base does.
// - destroy releases the handle, which must not be used any more. A loop and virtual time drop remaining work. A thread, a pool and a queue run it,
//   unless they were stopped to drop. Only a pool's destroy waits for that.
//
// Refused or dropped work is reported by ECANCELED or `drop`. In a child of fork none of these affects an orphaned scheduler.
#ifndef CSCHED_TARGET_H
#define CSCHED_TARGET_H

#include <CScheduler/timer.h>

CSCHED_BEGIN_DECLS

typedef struct csched_target csched_target;
struct csched_text;

/// How work is delivered. One constant table serves all targets of a kind. Each delivered job is already marked as submitted. It ends in exactly one
/// call of csched_target_perform or csched_target_discard. It may be a node: use only `next`.
typedef struct csched_target_type {
  /// Does: accepts `job`, to be performed after jobs that the same thread delivered before (unless the target is concurrent). Returns: 0; ECANCELED
  /// when the target accepts no more work, after csched_target_discard. Thread: any, except a thread that keeps the time. So it may run the job at
  /// once, and block. A worker of a pool delivers the timers that wait in the pool; a worker of the clocks' own pool delivers timers of another clock
  /// (clock.h). Timers of one target are delivered one after the other, in order.
  int (*deliver)(csched_target *target, csched_job *job);
  /// Does: arranges that `timer` is delivered to `timer->target` at `deadline`, or at most `leeway` later. Returns, thread: as deliver.
  int (*deliver_at)(csched_target *target, csched_timer *timer, csched_time deadline, csched_time leeway);
  /// Returns: the target's base, or NULL. A NULL function: the target has no base.
  csched_target *(*base)(const csched_target *target);
  /// Does: lets the calling thread do one piece of the target's work itself, if that keeps order and thread, and the target still takes work; `leave`
  /// ends it. Returns: whether it may. NULL: never. Thread: any; it does not wait.
  bool (*enter)(csched_target *target);
  void (*leave)(csched_target *target);
  /// Returns: whether the target runs its work on the calling thread only, so that waiting for it here would never end. NULL: no.
  bool (*is_bound_here)(const csched_target *target);
  /// Returns: whether the target accepts no more work. NULL: only the result of `deliver` shows it. Thread: any.
  bool (*is_closed)(const csched_target *target);
  /// Returns: whether the submitted `job` waits in this target. Called in a child of fork, because a thread of the parent may have been delivering
  /// the job. NULL: the job waits here.
  bool (*has)(const csched_target *target, const csched_job *job);
  /// Returns: the current time of the clock of `deliver_at`. NULL: its base's clock; without a base, csched_now.
  csched_time (*now)(const csched_target *target);
  /// Private. Does: counts one job of a queue on this base more, or less (-1). Returns: whether it may run.
  bool (*turn_)(csched_target *target, int change);
  /// Private. Does: waits until a job of the queue `waited` sets `*ended`, and runs due work if no other thread does. NULL: other threads run the
  /// work.
  void (*await_)(csched_target *target, csched_target *waited, uint32_t *ended);
  /// Private. Does: donates `priority` to the target's work, or ends the donation (-1). Returns: whether `priority` is higher than the target's own.
  /// NULL: never.
  bool (*lend_)(csched_target *target, int priority, int change);
  /// Private. Returns: where this thread stores the state of the current job's follow-up. NULL, or a NULL function: the target runs no follow-ups.
  /// See csched_target_submit_follow_up_.
  uint32_t *(*follow_up_)(const csched_target *target);
  /// Private. Does: appends the target's kind and state to `text`. NULL: nothing. Thread: any, while other threads use the target.
  void (*describe_)(const csched_target *target, struct csched_text *text);
  bool passes_on_;     ///< Private: `deliver` is the library's, and runs nothing.
  bool is_concurrent_; ///< Private: it has a base, and may run several jobs at a time.
} csched_target_type;

/// The first member of everything that work can be submitted to. Do not move it: its address is its identity.
struct csched_target {
  const csched_target_type *type;
  void *owner;              ///< for the target's creator; set it before anything is submitted
  csched_target *waits_for; ///< private: the target that this target's owning thread waits for
};

/// A target that this thread has entered, on its stack: see csched_target_enter. Its fields are private.
typedef csched_scope csched_target_inside;

CSCHED_STATIC_ASSERT(sizeof(csched_target_inside) == 6 * sizeof(void *), "the Swift module keeps room for so much");

/// Does: submits `job`, to run after jobs that the same thread submitted before. Returns: 0; ECANCELED when the target or one of its bases accepts no
/// more work, after the job was dropped and released. Requires: the job is idle. Thread: any. It is lock-free, except for virtual time, a limited
/// target (limit.h), and when it must wake or start a thread. Threads that are awake are not woken.
int csched_target_submit(csched_target *target, csched_job *job);

/// Returns: the current time of the clock for csched_target_submit_at: csched_now, unless the target or one of its bases has virtual time
/// (virtual.h). Thread: any.
csched_time csched_target_now(const csched_target *target);

/// Does: submits `timer`, to run at `deadline` (nanoseconds of csched_target_now) or as soon after as the target can, never before. Timers of one
/// deadline run in the order of submission. A deadline that is not in the future is a plain submission. But while earlier due timers wait, it comes
/// after them, so a timer that asks for the past repeatedly does not starve others. CSCHED_FOREVER is never reached: the timer waits to be cancelled
/// or dropped. The thread that keeps the time may sleep up to `leeway` nanoseconds longer, so that one wakeup serves many timers. Due timers run
/// whenever that thread is awake; for a leeway of CSCHED_FOREVER it never wakes. Returns, thread: as csched_target_submit. Requires: the timer's job
/// is idle; a target that you wrote stays valid until the timer's release.
int csched_target_submit_at(csched_target *target, csched_timer *timer, csched_time deadline, csched_time leeway);

/// Returns: the target of the innermost job that runs on this thread; NULL outside any. Thread: any.
csched_target *csched_target_current(void);

/// Returns: whether a job of `target`, or of a queue on it, is on this thread's stack. Thread: any.
bool csched_target_is_inside(const csched_target *target);

// For authors of targets.

/// Does: runs `job` with `target` as the current target, unless the job was cancelled. Thread: the one that the target runs its work on.
void csched_target_perform_(csched_target *target, csched_job *job, csched_scope *scope);
CSCHED_INLINE void csched_target_perform(csched_target *target, csched_job *job) {
  CSCHED_NEEDS_ABI();
  CSCHED_AT_END_OF_SCOPE(csched_scope_end_) csched_scope scope;
  csched_target_perform_(target, job, &scope);
  scope.frame = NULL;
}

/// Does: makes `target` this thread's current target until csched_target_leave, for work that is not a job.
void csched_target_enter(csched_target_inside *inside, csched_target *target);
void csched_target_leave(const csched_target_inside *inside);

/// Does: drops `job`, unless it was cancelled. Thread: any.
void csched_target_discard(csched_job *job);

CSCHED_END_DECLS

#endif
