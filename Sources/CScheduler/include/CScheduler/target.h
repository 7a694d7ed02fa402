// Where work can be submitted: what loops, threads, pools, serial queues and virtual time have in common. More than 120 lines: one table.
// Depends on: job.h, timer.h.
//
// Each of them shows its target (csched_loop_target …), and to submit to that is the only way in. It says how work is delivered to
// it, so any can be the base of a serial queue: another serial queue, too, and one that you write yourself.
//
// What differs by kind: a pool's target is one priority of it, and runs jobs side by side, in no order; all others run one at a time, in
// the order told here. A queue keeps time by its base's clock, and is lock-free as its base is. Virtual time takes a leeway for none.
//
// The same words end each kind:
//  end_run  (loop, activation, virtual time) ends a run, and nothing else: what waits is there for the next one.
//  close    (loop, virtual time) takes no more from now on, and has what is outstanding run or dropped, as its policy says (loop.h); virtual
//           time drops it. It does not wait. Any number of times: DROP after RUN drops what is left, RUN after DROP changes nothing.
//  stop     (thread, pool) is that for what has threads of its own, which then end: `join` waits for them. A queue has neither: it
//           takes no more when its base does.
//  destroy  gives up the handle, which nobody may use any more. A loop and virtual time, which others run, drop what is left; a thread, a pool
//           and a queue, which go on by themselves, run it, unless they were stopped to drop. Only a pool's waits for that.
// What is refused or dropped is told by ECANCELED or `drop`. In a child of fork none of these does anything to what is orphaned.
#ifndef CSCHED_TARGET_H
#define CSCHED_TARGET_H

#include <CScheduler/timer.h>

CSCHED_BEGIN_DECLS

typedef struct csched_target csched_target;
struct csched_text;

/// How work is delivered. One constant table serves all targets of a kind. Each job that is delivered, called `submitted` here
/// because it has been marked so, ends in exactly one of csched_target_perform and csched_target_discard. It may be a node: use only `next`.
typedef struct csched_target_type {
  /// Does: sees to it that `job` is performed later, after those delivered before it by the same thread (unless the target is
  /// concurrent). Returns: 0; ECANCELED when the target takes no more, after csched_target_discard. Thread: any, but none that keeps the
  /// time: timers that a pool has kept are delivered by one of its workers, those of another clock (clock.h) by one of a pool of the
  /// clocks' own; for one target one after the other, in order. So it may run the job at once, and block.
  int (*deliver)(csched_target *target, csched_job *job);
  /// Does: sees to it that `timer` is delivered to `timer->target` at `deadline`, or `leeway` later at the most. Returns, thread:
  /// as deliver.
  int (*deliver_at)(csched_target *target, csched_timer *timer, csched_time deadline, csched_time leeway);
  /// Returns: the target's base. NULL, for the function too: it has none.
  csched_target *(*base)(const csched_target *target);
  /// Does: lets the calling thread do one piece of the target's work itself, if that keeps to its order and place, and if the target
  /// still takes work; `leave` ends it. Returns: whether it may. NULL: never. Thread: any; it does not wait.
  bool (*enter)(csched_target *target);
  void (*leave)(csched_target *target);
  /// Returns: whether the work is done on the calling thread only, so that to wait for it here would never end. NULL: no.
  bool (*is_bound_here)(const csched_target *target);
  /// Returns: whether the target takes no more. NULL: it says so only when it is asked to deliver. Thread: any.
  bool (*is_closed)(const csched_target *target);
  /// Returns: whether `job`, which was submitted, has come here and waits. Asked in a child of fork, by the one thread that there is:
  /// another one may have been on its way with it. NULL: it has.
  bool (*has)(const csched_target *target, const csched_job *job);
  /// Returns: the present time of the clock that the deadlines of `deliver_at` are of. NULL: that of its base; without one, csched_now.
  csched_time (*now)(const csched_target *target);
  /// Private. Does: counts one more job of a queue whose base this is, or one less (-1). Returns: whether it may run.
  bool (*turn_)(csched_target *target, int change);
  /// Private. Does: waits for a job of the queue `waited` to set `*ended`, and runs what is due, should nobody else. NULL: others do.
  void (*await_)(csched_target *target, csched_target *waited, uint32_t *ended);
  /// Private. Does: lends `priority` to what the target runs with, or takes it back (-1). Returns: whether that is higher than its own. NULL: never.
  bool (*lend_)(csched_target *target, int priority, int change);
  /// Private. Returns: where this thread notes a follow-up of the present job; NULL: it runs none. NULL: the same. See csched_target_submit_follow_up_.
  uint32_t *(*follow_up_)(const csched_target *target);
  /// Private. Does: adds to `text` what the target is, and in which state. NULL: it does not tell. Thread: any, while others use it.
  void (*describe_)(const csched_target *target, struct csched_text *text);
  bool passes_on_;     ///< Private: `deliver` is the library's, and runs nothing.
  bool is_concurrent_; ///< Private: it has a base, and may run several jobs at a time.
} csched_target_type;

/// The first member of everything that can be submitted to. Keep it where it is: its address is its identity.
struct csched_target {
  const csched_target_type *type;
  void *owner;              ///< for whoever made the target; set it before anything is submitted
  csched_target *waits_for; ///< private: what the thread waits for that holds this one
};

/// A target that this thread is inside of; it lives on the stack. Its fields are private.
typedef csched_scope csched_target_inside;

CSCHED_STATIC_ASSERT(sizeof(csched_target_inside) == 6 * sizeof(void *), "the Swift module keeps room for so much");

/// Does: submits `job`, to run after those that the same thread has submitted before. Returns: 0; ECANCELED when the target, or one of
/// its bases, takes no more, after the job has been dropped and released. Requires: the job is idle. Thread: any. Lock-free but
/// for virtual time, a limited target (limit.h), and for what it takes to wake a thread that sleeps, or start one; those that are awake are not woken.
int csched_target_submit(csched_target *target, csched_job *job);

/// Returns: the present time of the clock that deadlines of csched_target_submit_at are of: csched_now, unless it or one of its bases
/// has virtual time (virtual.h). Thread: any.
csched_time csched_target_now(const csched_target *target);

/// Does: submits `timer`, to run at `deadline` (of csched_target_now) or as soon after as the target comes to it, never before; those of
/// the same deadline in the order of their submission. A deadline that is not in the future is a plain submission; but while timers that
/// were due before wait, it comes after them, among the timers: so one that asks for the past again and again keeps nobody waiting.
/// CSCHED_FOREVER never comes: the timer waits to be cancelled or dropped. Whoever keeps the time may sleep for up to `leeway` nanoseconds
/// more, so that one wake serves many timers; what is due runs whenever it is awake, and for CSCHED_FOREVER it never wakes.
/// Returns, thread: as csched_target_submit. Requires: the same; a target of your own stays valid until the timer's release.
int csched_target_submit_at(csched_target *target, csched_timer *timer, csched_time deadline, csched_time leeway);

/// Returns: the target whose job is running on this thread, the innermost one; NULL outside of any. Thread: any.
csched_target *csched_target_current(void);

/// Returns: whether a job of `target`, or of a queue on it, is on this thread's stack. Thread: any.
bool csched_target_is_inside(const csched_target *target);

// For whoever writes a target.

/// Does: runs `job`, unless it was cancelled, with `target` as the current one. Thread: the one that the target runs its work on.
void csched_target_perform_(csched_target *target, csched_job *job, csched_scope *scope);
CSCHED_INLINE void csched_target_perform(csched_target *target, csched_job *job) {
  CSCHED_NEEDS_ABI();
  CSCHED_AT_END_OF_SCOPE(csched_scope_end_) csched_scope scope;
  csched_target_perform_(target, job, &scope);
  scope.level = NULL;
}

/// Does: makes `target` the current one of this thread, until csched_target_leave, for work that is not a job.
void csched_target_enter(csched_target_inside *inside, csched_target *target);
void csched_target_leave(const csched_target_inside *inside);

/// Does: drops `job`, unless it was cancelled. Thread: any.
void csched_target_discard(csched_job *job);

CSCHED_END_DECLS

#endif
