// A run loop: one thread runs what any thread submits, now or at a given time. More than 120 lines, because its runs are inline.
// Depends on: mpsc.h, timer.h, job.h.
//
// The loop belongs to the thread that created it. Jobs run in the order of their submission, delayed ones in the order of
// their deadlines and, where those are equal, of their submission. A loop with nothing to do sleeps, with no wakeups.
//
// No kind of work starves another: the loop takes up to 16 due timers, then up to 16 sources (loop_fd.h), then up to 16 jobs, and begins
// again. So while each takes no more than 200 us, each kind has its turn within 10 ms. The jobs of a serial queue on the loop count as
// jobs of the loop.
//
// When its thread ends inside of a run (pthread_exit, cancellation), the job has ended, and the loop is closed: what is outstanding is
// dropped. A run that a job leaves by an exception of C++, or by longjmp, is over (job.h says how, and when that is noticed): the loop can
// be run again, or destroyed; if the thread ends before, it is closed. In a child of fork the loops of the thread
// that forked go on, with all that waited in them; another thread's is orphaned.
#ifndef CSCHED_LOOP_H
#define CSCHED_LOOP_H

#include <CScheduler/mpsc.h>
#include <CScheduler/target.h>

CSCHED_BEGIN_DECLS

typedef struct csched_loop csched_loop;

/// What a loop has done, for those who tune: each figure only grows.
typedef struct csched_loop_statistics {
  uint64_t
      jobs; ///< jobs, timers and handlers that it has run or found cancelled, those of queues on it, too; but for its last batch, until the next
  uint64_t sleeps;  ///< how often it has slept
  csched_time idle; ///< nanoseconds that it has slept, the present sleep included; not what a host slept for it
} csched_loop_statistics;

/// One call of csched_loop_run_activation, known by name so that this one can be ended, and no other.
typedef struct csched_activation {
  csched_loop *loop;
  uint32_t ended;
} csched_activation;

/// Why a run returned.
typedef enum csched_run_result {
  CSCHED_RUN_ENDED,     ///< by csched_loop_end_run, or csched_activation_end_run of its own
  CSCHED_RUN_TIMED_OUT, ///< its deadline came
  CSCHED_RUN_CLOSED,    ///< the loop was closed, and what the policy asks for has been done
  CSCHED_RUN_DONE,      ///< nothing is left but what is in the background: csched_loop_run_until_done alone
} csched_run_result;

/// What becomes of the work that is outstanding when a loop is closed. A serial queue (serial.h) or a limit (limit.h) on it runs the batch that it
/// has begun, at most 64 jobs, and drops the others: call csched_serial_sync, or wait for a group, before.
typedef enum csched_stop_policy {
  CSCHED_STOP_RUN,  ///< queued and due jobs are run; delayed ones whose time has not come are dropped
  CSCHED_STOP_DROP, ///< everything that has not begun is dropped
} csched_stop_policy;

/// Does: creates a loop for the calling thread. Returns: 0, or ENOMEM.
int csched_loop_create(csched_loop **loop);

/// Does: closes the loop, drops what is outstanding, frees it. Requires: no thread is in a call on the loop, and none makes
/// one later. Thread: the loop's, outside of its runs, of what it drops, and of syncs on queues whose base it is; any, when the loop
/// was detached (loop_fd.h) or its thread has ended. Elsewhere, and for the main loop or that of a thread, it stops the process with a
/// message.
void csched_loop_destroy(csched_loop *loop);

/// Returns: the loop that is running on this thread, NULL when there is none. Thread: any.
csched_loop *csched_loop_current(void);

/// Returns: whether the calling thread is the loop's. Thread: any.
bool csched_loop_is_on_thread(const csched_loop *loop);

/// Returns: the loop as a target, to submit to (target.h): it is the loop's first member. Valid as long as the loop. Thread: any.
CSCHED_INLINE csched_target *csched_loop_target(csched_loop *loop) {
  CSCHED_NEEDS_ABI();
  return (csched_target *)loop;
}

/// Does: moves a timer that waits in this loop for its deadline to another one, as if cancelled and submitted anew with the
/// same leeway, but without a drop, a release or a wake for the old one. Returns: false, and changes nothing, when it does not
/// wait here: it was never submitted, or it is due and on its way, running, or over. Requires: as csched_timer_cancel. Thread: any.
bool csched_loop_rearm(csched_loop *loop, csched_timer *timer, csched_time deadline);

// Each run is inline for a clean-up in the caller, should a job throw; what ends in `_` is private.
csched_run_result csched_loop_run_activation_(csched_loop *loop, csched_activation *activation, csched_time deadline,
                                              csched_scope *scope);
bool csched_loop_run_once_(csched_loop *loop, csched_time deadline, csched_scope *scope);
size_t csched_loop_run_ready_(csched_loop *loop, size_t max, csched_scope *scope);

/// Does: as csched_loop_run_until, until csched_activation_end_run; one that came before ends it at once. Thread: the loop's.
CSCHED_INLINE csched_run_result csched_loop_run_activation(csched_loop *loop, csched_activation *activation,
                                                           csched_time deadline) {
  CSCHED_NEEDS_ABI();
  CSCHED_AT_END_OF_SCOPE(csched_scope_end_) csched_scope scope;
  csched_run_result result = csched_loop_run_activation_(loop, activation, deadline, &scope);
  scope.level = NULL;
  return result;
}

/// Does: runs jobs until csched_loop_end_run, or until the loop is closed. Runs nest: a job may run its own loop. Thread: the loop's.
CSCHED_INLINE csched_run_result csched_loop_run(csched_loop *loop) {
  return csched_loop_run_activation(loop, NULL, CSCHED_FOREVER);
}

/// Does: as csched_loop_run, until `deadline` at the most. Jobs that are ready at the deadline may be left. Thread: the loop's.
CSCHED_INLINE csched_run_result csched_loop_run_until(csched_loop *loop, csched_time deadline) {
  return csched_loop_run_activation(loop, NULL, deadline);
}

/// Does: as csched_loop_run, until nothing is left that can come by itself: no job, no timer that has a time, no source, and nobody who has said
/// by csched_loop_ref that something will come. A timer that another thread cancels is noticed at its deadline, at the latest.
/// Returns: CSCHED_RUN_DONE, or as csched_loop_run. Thread: the loop's.
CSCHED_INLINE csched_run_result csched_loop_run_until_done(csched_loop *loop) {
  csched_activation until_done = {NULL, 0};
  return csched_loop_run_activation(loop, &until_done, CSCHED_FOREVER);
}

/// Does: has csched_loop_run_until_done go on for one thing more than timers and sources (ref), or for one less (unref), whatever that is.
/// A thread that is going to submit calls ref before the run, and unref after the submission. Whoever adds a source, or submits a timer or
/// a periodic task, that is to be in the background calls unref after it, and ref before it is removed, cancelled or due. Too many of the one
/// are runs that do not end; of the other, runs that end early. Thread: any.
void csched_loop_ref(csched_loop *loop);
void csched_loop_unref(csched_loop *loop);

/// Does: writes what the loop has done since it was made. It costs a look at the clock for each sleep, and none for a job. In a child of
/// fork it goes on counting. Thread: any.
void csched_loop_get_statistics(const csched_loop *loop, csched_loop_statistics *statistics);

/// Does: waits for a job until `deadline`, and runs that one. Returns: whether one ran. Thread: the loop's.
CSCHED_INLINE bool csched_loop_run_once(csched_loop *loop, csched_time deadline) {
  CSCHED_NEEDS_ABI();
  CSCHED_AT_END_OF_SCOPE(csched_scope_end_) csched_scope scope;
  bool ran = csched_loop_run_once_(loop, deadline, &scope);
  scope.level = NULL;
  return ran;
}

/// Does: runs at most `max` jobs that are ready, without waiting. Returns: how many ran. Thread: the loop's.
CSCHED_INLINE size_t csched_loop_run_ready(csched_loop *loop, size_t max) {
  CSCHED_NEEDS_ABI();
  CSCHED_AT_END_OF_SCOPE(csched_scope_end_) csched_scope scope;
  size_t count = csched_loop_run_ready_(loop, max, &scope);
  scope.level = NULL;
  return count;
}

/// Does: ends the innermost run. Asked while none is in progress, it ends the next as soon as that begins, so that it
/// cannot fall between creating a loop and running it; in the same way one that comes just as a nested run ends by itself ends
/// the run outside it. To end one certain run, use an activation. Thread: any.
void csched_loop_end_run(csched_loop *loop);

/// Does: runs what is due and ready, as csched_loop_run_ready, and of the submitted jobs those as far as `last`, which was submitted;
/// none when that is NULL. With `is_promised` the host is not told of what is left: another of these runs is on its way.
/// Returns: whether jobs are left. Thread: the loop's. Private.
bool csched_loop_run_through_(csched_loop *loop, const csched_job *last, bool is_promised);

/// Returns: whether work can be done here at once without overtaking what waits in the loop, or running inside of it: the caller is on
/// the loop's thread, nothing is queued or due, nothing of the loop or of a queue on it is running, and it is open. If not, what
/// is submitted next runs after what is due already. Thread: any. Private.
bool csched_loop_is_free_(csched_loop *loop);

/// Does: at the end of the process, counts the jobs that no run has come to: those submitted, up to 1000, without those of type `except`, and of a loop
/// that has never run those delayed. Returns: whether there are any that the program has not given up: not inside of a run, nor after
/// csched_loop_end_run, nor after a close, nor while a host runs the loop. One that has run is asked on its thread only, outside of jobs. Thread: any. Private.
bool csched_loop_count_unrun_(csched_loop *loop, const csched_job_type *except, size_t *queued, size_t *delayed);

/// Does: closes the loop (target.h): what is outstanding gets what `policy` says in its runs, which then return. What is no policy stops
/// the process. Thread: any.
void csched_loop_close(csched_loop *loop, csched_stop_policy policy);

/// Does: makes `activation` ready for one run of `loop`. Thread: before it is shared.
void csched_activation_init(csched_activation *activation, csched_loop *loop);

/// Does: ends this activation's run, now or when it begins, and touches no other: a run nested inside goes on to its own
/// end first. Requires: the activation and its loop stay valid during the call. Thread: any, any number of times.
void csched_activation_end_run(csched_activation *activation);

CSCHED_END_DECLS

#endif
