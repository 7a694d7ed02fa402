// A run loop: one thread runs the jobs that any thread submits, at once or at a given time.
// Depends on: target.h.
//
// The loop belongs to the thread that created it. Jobs run in the order of their submission. Timers run in the order of
// their deadlines; equal deadlines run in the order of submission. A loop without work sleeps, with no wakeups.
//
// Timers, sources and jobs do not starve each other: the loop runs up to 16 due timers, then the handlers of up to 16
// sources (loop_fd.h), then up to 16 jobs, and repeats. So each kind runs again within 10 ms, if none of them takes
// more than 200 us. Jobs of queues on the loop count as its jobs.
//
// A run is a call of a csched_loop_run function. If the loop's thread ends inside a run (pthread_exit, cancellation),
// the library ends the current job and closes the loop: outstanding work is dropped. If a C++ exception or longjmp
// unwinds a run, the run is over; job.h says when the library notices that. The loop can then be run again or
// destroyed. If its thread ends before the loop was run again or destroyed, the library closes the loop. In a child of
// fork, loops of the thread that forked continue with all their work. Loops of other threads are orphaned.
#ifndef CSCHED_LOOP_H
#define CSCHED_LOOP_H

#include <CScheduler/target.h>

CSCHED_BEGIN_DECLS

typedef struct csched_loop csched_loop;

/// What a loop has done, for tuning. Each value only grows.
typedef struct csched_loop_statistics {
  /// Jobs, timers and handlers that ran or were found cancelled, also of queues on the loop. Each batch is added when
  /// the next batch begins.
  uint64_t jobs;
  uint64_t sleeps;  ///< how often the loop slept
  csched_time idle; ///< nanoseconds slept, including the current sleep, without a host's sleeps (loop_fd.h)
} csched_loop_statistics;

/// Identifies one call of csched_loop_run_activation, so that any thread can end this run and no other.
typedef struct csched_activation {
  csched_loop *loop;
  uint32_t ended; // 0, or 1 from csched_activation_end_run on
} csched_activation;

/// Why a run returned.
typedef enum csched_run_result {
  CSCHED_RUN_ENDED,     ///< by csched_loop_end_run, or by csched_activation_end_run for this run
  CSCHED_RUN_TIMED_OUT, ///< the deadline of the run has passed
  CSCHED_RUN_CLOSED,    ///< the loop was closed; outstanding work was run or dropped
  CSCHED_RUN_DONE,      ///< only background work remains; csched_loop_run_until_done only
} csched_run_result;

/// What happens to outstanding work when a loop is closed, or a thread or pool is stopped. With CSCHED_STOP_RUN, jobs
/// run that wait in a serial queue (serial.h) or a limit (limit.h) on the loop or pool, or in queues and limits on
/// these. What jobs submit to these after the close is refused or dropped, so that the work ends. A suspended queue
/// keeps its jobs. If it is resumed after the end of its base, they are dropped, or, if the base is a pool, run by the
/// thread that resumes the queue. With CSCHED_STOP_DROP, a queue may finish a batch that has started.
typedef enum csched_stop_policy {
  CSCHED_STOP_RUN,  ///< queued and due jobs run; timers before their deadline are dropped
  CSCHED_STOP_DROP, ///< everything that has not started is dropped
} csched_stop_policy;

/// Does: creates a loop for the calling thread. The caller owns it until csched_loop_destroy. Returns: 0, or ENOMEM.
int csched_loop_create(csched_loop **loop);

/// Does: closes the loop, drops outstanding work, frees the loop. Requires: no thread is in a call on the loop, and
/// none makes one later. Thread: the loop's, but not inside a run of the loop, a `drop` of its work, or a sync on a
/// queue whose base is the loop. Any thread, if the loop was detached (loop_fd.h) or its thread has ended. On any other
/// thread, or inside one of these, csched_loop_destroy stops the process with a message; so it does for the main loop
/// and for a csched_thread's loop.
void csched_loop_destroy(csched_loop *loop);

/// Returns: the loop that runs on this thread, or NULL. Thread: any.
csched_loop *csched_loop_current(void);

/// Returns: whether the calling thread is the loop's. Thread: any.
bool csched_loop_is_on_thread(const csched_loop *loop);

/// Returns: the loop as a target, to submit to (target.h). Valid as long as the loop, whose first member it is. Thread:
/// any.
CSCHED_INLINE csched_target *csched_loop_target(csched_loop *loop) {
  CSCHED_NEEDS_ABI();
  return (csched_target *)loop;
}

/// Does: moves a timer that waits in this loop to another deadline. This acts as a cancel and a new submission with the
/// same leeway, without a `drop`, a `release`, or a wake for the old deadline. Returns: true if the timer was moved;
/// false, with no change, if it does not wait in this loop: never submitted, due, running, or ended. Requires: the
/// timer, and its target, stay valid during the call. Thread: any.
bool csched_loop_rearm(csched_loop *loop, csched_timer *timer, csched_time deadline);

// The run functions are inline, so that the caller's stack frame has a clean-up, csched_scope_end_, in case a job
// throws. After a normal return, `scope.frame = NULL` disables the clean-up. Functions whose name ends in `_` are
// private: they do the same as the inline function of that name.
csched_run_result csched_loop_run_activation_(csched_loop *loop, csched_activation *activation, csched_time deadline,
                                              csched_scope *scope);
bool csched_loop_run_once_(csched_loop *loop, csched_time deadline, csched_scope *scope);
size_t csched_loop_run_ready_(csched_loop *loop, size_t max, csched_scope *scope);

/// Does: runs jobs until csched_activation_end_run for `activation`, csched_loop_end_run, the loop's close, or
/// `deadline` (of csched_now). If `activation` was ended before the call, the run returns at once. Thread: the loop's.
CSCHED_INLINE csched_run_result csched_loop_run_activation(csched_loop *loop, csched_activation *activation,
                                                           csched_time deadline) {
  CSCHED_NEEDS_ABI();
  CSCHED_AT_END_OF_SCOPE(csched_scope_end_) csched_scope scope;
  csched_run_result result = csched_loop_run_activation_(loop, activation, deadline, &scope);
  scope.frame = NULL;
  return result;
}

/// Does: runs jobs until csched_loop_end_run, or until the loop is closed. Runs nest: a job may run its own loop.
/// Thread: the loop's.
CSCHED_INLINE csched_run_result csched_loop_run(csched_loop *loop) {
  return csched_loop_run_activation(loop, NULL, CSCHED_FOREVER);
}

/// Does: as csched_loop_run, until `deadline` (of csched_now, nanoseconds) at the latest. Ready jobs may remain then.
/// Thread: the loop's.
CSCHED_INLINE csched_run_result csched_loop_run_until(csched_loop *loop, csched_time deadline) {
  return csched_loop_run_activation(loop, NULL, deadline);
}

/// Does: as csched_loop_run, but also returns when the loop waits for nothing: no job, no timer with a finite deadline,
/// no source, and no csched_loop_ref without its unref. If another thread cancels a timer, the run notices that at the
/// timer's deadline, at the latest. Returns: CSCHED_RUN_DONE in that case, otherwise as csched_loop_run. Thread: the
/// loop's.
CSCHED_INLINE csched_run_result csched_loop_run_until_done(csched_loop *loop) {
  csched_activation until_done = {NULL, 0}; // `loop` NULL means: return when the loop waits for nothing
  return csched_loop_run_activation(loop, &until_done, CSCHED_FOREVER);
}

/// Does: csched_loop_ref makes csched_loop_run_until_done wait for one more thing, and csched_loop_unref for one less.
/// If another thread is going to submit, call ref before the run, and unref after the submission. For a source, timer
/// or periodic task that must not prolong the run, do the reverse: call unref after adding or submitting it, and ref
/// before it is removed, cancelled or due. With too many refs such a run does not end; with too many unrefs it ends
/// early. Thread: any.
void csched_loop_ref(csched_loop *loop);
void csched_loop_unref(csched_loop *loop);

/// Does: writes what the loop has done since its creation to `statistics`. This costs one clock read per sleep, and
/// nothing per job. A child of fork continues the counts. Thread: any.
void csched_loop_get_statistics(const csched_loop *loop, csched_loop_statistics *statistics);

/// Does: waits until `deadline` (of csched_now, nanoseconds) at most for a job, and runs it. Returns: whether a job
/// ran. Thread: the loop's.
CSCHED_INLINE bool csched_loop_run_once(csched_loop *loop, csched_time deadline) {
  CSCHED_NEEDS_ABI();
  CSCHED_AT_END_OF_SCOPE(csched_scope_end_) csched_scope scope;
  bool ran = csched_loop_run_once_(loop, deadline, &scope);
  scope.frame = NULL;
  return ran;
}

/// Does: runs at most `max` jobs that are ready, without waiting. Returns: how many ran. Thread: the loop's.
CSCHED_INLINE size_t csched_loop_run_ready(csched_loop *loop, size_t max) {
  CSCHED_NEEDS_ABI();
  CSCHED_AT_END_OF_SCOPE(csched_scope_end_) csched_scope scope;
  size_t count = csched_loop_run_ready_(loop, max, &scope);
  scope.frame = NULL;
  return count;
}

/// Does: ends the innermost run. Without a run in progress, it ends the next run at its start; so a call before the
/// loop's first run is not lost. If a nested run returns for another reason at that moment, the call ends the enclosing
/// run. To end one certain run, use an activation. Thread: any.
void csched_loop_end_run(csched_loop *loop);

/// Does: as csched_loop_run_ready, but runs jobs only up to `last`, a submitted one; NULL: only due timers and sources.
/// `will_run_again`: the caller will call this again, so the host is not notified of remaining work. Returns: whether
/// jobs remain. Thread: the loop's. Private.
bool csched_loop_run_through_(csched_loop *loop, const csched_job *last, bool will_run_again);

/// Returns: true if the caller may run its work at once, in place of a submission: it is on the loop's thread, no work
/// is queued or due, no job of the loop or of a queue on it runs, and the loop is open. Outside jobs, on the loop's
/// thread, it first moves due timers to the queue of jobs: a later submission runs after them. Thread: any. Private.
bool csched_loop_is_free_(csched_loop *loop);

/// Does: at the end of the process, counts the jobs that will never run. `*queued` gets the number of submitted jobs,
/// up to 1000, without those of type `except`; `*delayed` gets the number of timers if the loop never ran, else 0.
/// Returns: whether a number is not 0. It counts nothing after csched_loop_end_run or a close. If the loop has run, it
/// also counts nothing inside a run or job, on a thread other than the loop's, or with a host. Thread: any. Private.
bool csched_loop_count_unrun_(csched_loop *loop, const csched_job_type *except, size_t *queued, size_t *delayed);

/// Does: closes the loop: it refuses later work. Its current run, or else its next run, runs or drops outstanding work
/// as `policy` says, and then returns. An invalid policy stops the process. Thread: any.
void csched_loop_close(csched_loop *loop, csched_stop_policy policy);

/// Does: prepares `activation` for one run of `loop`. Thread: any, before it is shared.
void csched_activation_init(csched_activation *activation, csched_loop *loop);

/// Does: ends the run of `activation`: now, or at its start if it has not started. No other run ends: a nested run
/// inside it first continues to its own end. Requires: the activation and its loop stay valid during the call. Thread:
/// any, any number of times.
void csched_activation_end_run(csched_activation *activation);

CSCHED_END_DECLS

#endif
