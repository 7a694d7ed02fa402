// A run loop: one thread runs the jobs that any thread submits, at once or at a given time.
// Depends on: target.h.
//
// The loop belongs to the thread that created it. Jobs run in the order of their submission. Timers run in the order of their deadlines; equal
// deadlines run in the order of submission. A loop without work sleeps, with no wakeups.
//
// No kind of work starves another: the loop takes up to 16 due timers, then up to 16 sources (loop_fd.h), then up to 16 jobs, and repeats. So each
// kind gets its turn within 10 ms, while each piece of work takes no more than 200 us. Jobs of a serial queue on the loop count as jobs of the loop.
//
// If the loop's thread ends inside a run (pthread_exit, cancellation), the job has ended, and the loop is closed: outstanding work is dropped. A run
// that a C++ exception or longjmp unwinds has ended (job.h says how, and when that is noticed). The loop can then be run again, or destroyed; if its
// thread ends first, it is closed. In a child of fork, loops of the thread that forked continue with all their work. Loops of other threads are
// orphaned.
#ifndef CSCHED_LOOP_H
#define CSCHED_LOOP_H

#include <CScheduler/target.h>

CSCHED_BEGIN_DECLS

typedef struct csched_loop csched_loop;

/// What a loop has done, for tuning. Each value only grows.
typedef struct csched_loop_statistics {
  uint64_t
      jobs; ///< jobs, timers and handlers run or found cancelled, with those of queues on it; without the last batch until the next one
  uint64_t sleeps;  ///< number of sleeps
  csched_time idle; ///< nanoseconds slept, the current sleep included; without a host's sleeps
} csched_loop_statistics;

/// One call of csched_loop_run_activation. It lets a thread end this run, and no other.
typedef struct csched_activation {
  csched_loop *loop;
  uint32_t ended;
} csched_activation;

/// Why a run returned.
typedef enum csched_run_result {
  CSCHED_RUN_ENDED,     ///< by csched_loop_end_run, or csched_activation_end_run for this run
  CSCHED_RUN_TIMED_OUT, ///< its deadline has passed
  CSCHED_RUN_CLOSED,    ///< the loop was closed, and its policy carried out
  CSCHED_RUN_DONE,      ///< only background work remains; csched_loop_run_until_done only
} csched_run_result;

/// What happens to outstanding work when a loop is closed. A serial queue (serial.h) or a limit (limit.h) on the loop finishes the batch that it has
/// started, at most 64 jobs, and drops its other jobs. To run them, call csched_serial_sync, or wait for a group, before the close.
typedef enum csched_stop_policy {
  CSCHED_STOP_RUN,  ///< queued and due jobs run; timers before their deadline are dropped
  CSCHED_STOP_DROP, ///< everything that has not started is dropped
} csched_stop_policy;

/// Does: creates a loop for the calling thread. The caller owns it until csched_loop_destroy. Returns: 0, or ENOMEM.
int csched_loop_create(csched_loop **loop);

/// Does: closes the loop, drops outstanding work, frees the loop. Requires: no thread is in a call on the loop, and none makes one later. Thread: the
/// loop's, outside its runs, the drops of its work, and syncs on queues whose base it is. Any thread, if the loop was detached (loop_fd.h) or its
/// thread has ended. Any other call stops the process with a message, as does one for the main loop or a thread's loop.
void csched_loop_destroy(csched_loop *loop);

/// Returns: the loop that runs on this thread, or NULL. Thread: any.
csched_loop *csched_loop_current(void);

/// Returns: whether the calling thread is the loop's. Thread: any.
bool csched_loop_is_on_thread(const csched_loop *loop);

/// Returns: the loop as a target, to submit to (target.h). Valid as long as the loop, whose first member it is. Thread: any.
CSCHED_INLINE csched_target *csched_loop_target(csched_loop *loop) {
  CSCHED_NEEDS_ABI();
  return (csched_target *)loop;
}

/// Does: moves a timer that waits in this loop to another deadline. The effect is that of a cancel and a new submission with the same leeway, without
/// a drop, a release or a wake for the old one. Returns: false, with no change, if the timer does not wait here: it was never submitted, is due and
/// about to run, runs, or has ended. Requires: as csched_timer_cancel. Thread: any.
bool csched_loop_rearm(csched_loop *loop, csched_timer *timer, csched_time deadline);

// The runs are inline, so that the caller's frame has a clean-up if a job throws. Functions whose name ends in `_` are private.
csched_run_result csched_loop_run_activation_(csched_loop *loop, csched_activation *activation, csched_time deadline,
                                              csched_scope *scope);
bool csched_loop_run_once_(csched_loop *loop, csched_time deadline, csched_scope *scope);
size_t csched_loop_run_ready_(csched_loop *loop, size_t max, csched_scope *scope);

/// Does: as csched_loop_run_until, until csched_activation_end_run, which may be called before the run and then ends it at once. Thread: the loop's.
CSCHED_INLINE csched_run_result csched_loop_run_activation(csched_loop *loop, csched_activation *activation,
                                                           csched_time deadline) {
  CSCHED_NEEDS_ABI();
  CSCHED_AT_END_OF_SCOPE(csched_scope_end_) csched_scope scope;
  csched_run_result result = csched_loop_run_activation_(loop, activation, deadline, &scope);
  scope.frame = NULL;
  return result;
}

/// Does: runs jobs until csched_loop_end_run, or until the loop is closed. Runs nest: a job may run its own loop. Thread: the loop's.
CSCHED_INLINE csched_run_result csched_loop_run(csched_loop *loop) {
  return csched_loop_run_activation(loop, NULL, CSCHED_FOREVER);
}

/// Does: as csched_loop_run, until `deadline` (of csched_now, nanoseconds) at the latest. Jobs that are ready then may remain. Thread: the loop's.
CSCHED_INLINE csched_run_result csched_loop_run_until(csched_loop *loop, csched_time deadline) {
  return csched_loop_run_activation(loop, NULL, deadline);
}

/// Does: as csched_loop_run, until no work can come without another thread: no job, no timer with a finite deadline, no source, and no open
/// csched_loop_ref. If another thread cancels a timer, the run notices it at the timer's deadline, at the latest. Returns: CSCHED_RUN_DONE, or as
/// csched_loop_run. Thread: the loop's.
CSCHED_INLINE csched_run_result csched_loop_run_until_done(csched_loop *loop) {
  csched_activation until_done = {NULL, 0};
  return csched_loop_run_activation(loop, &until_done, CSCHED_FOREVER);
}

/// Does: ref makes csched_loop_run_until_done wait for one thing in addition to timers and sources; unref makes it wait for one fewer. A thread that
/// is going to submit calls ref before the run, and unref after the submission. For a source, timer or periodic task in the background, call unref
/// after adding or submitting it, and ref before it is removed, cancelled or due. With too many refs a run does not end; with too many unrefs it ends
/// early. Thread: any.
void csched_loop_ref(csched_loop *loop);
void csched_loop_unref(csched_loop *loop);

/// Does: writes what the loop has done since its creation to `statistics`. This costs one clock read per sleep, and nothing per job. A child of fork
/// continues the counts. Thread: any.
void csched_loop_get_statistics(const csched_loop *loop, csched_loop_statistics *statistics);

/// Does: waits for a job until `deadline` (of csched_now, nanoseconds), and runs this one job. Returns: whether a job ran. Thread: the loop's.
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

/// Does: ends the innermost run. Without a run in progress, it ends the next one at its start; so a call between the loop's creation and its run is
/// not lost. Likewise, if a nested run ends by itself at that moment, the call ends the run outside it. To end one certain run, use an activation.
/// Thread: any.
void csched_loop_end_run(csched_loop *loop);

/// Does: runs what is due and ready, as csched_loop_run_ready, but of the submitted jobs only those up to `last`, which was submitted; none if `last`
/// is NULL. With `is_promised` the host is not notified of remaining work: another of these runs will follow. Returns: whether jobs remain. Thread:
/// the loop's. Private.
bool csched_loop_run_through_(csched_loop *loop, const csched_job *last, bool is_promised);

/// Returns: whether the caller may do work at once without overtaking the loop's work, or running inside it. That holds if the caller is on the
/// loop's thread, nothing is queued or due, no job of the loop or of a queue on it runs, and the loop is open. If false, the next submission runs
/// after what is already due. Thread: any. Private.
bool csched_loop_is_free_(csched_loop *loop);

/// Does: at the end of the process, counts the jobs that have not run: up to 1000 submitted ones, except those of type `except`; and for a loop that
/// has never run also the delayed ones. Returns: whether the program forgot any. False inside a run, after csched_loop_end_run or a close, and while
/// a host runs the loop. For a loop that has run it is also false on another thread, or inside a job. Thread: any. Private.
bool csched_loop_count_unrun_(csched_loop *loop, const csched_job_type *except, size_t *queued, size_t *delayed);

/// Does: closes the loop (target.h). The loop's runs first run or drop outstanding work, as `policy` says, and then return. An invalid policy stops
/// the process. Thread: any.
void csched_loop_close(csched_loop *loop, csched_stop_policy policy);

/// Does: prepares `activation` for one run of `loop`. Thread: any, before it is shared.
void csched_activation_init(csched_activation *activation, csched_loop *loop);

/// Does: ends this activation's run, at once or when it starts, and no other: a nested run inside it first continues to its own end. Requires: the
/// activation and its loop stay valid during the call. Thread: any, any number of times.
void csched_activation_end_run(csched_activation *activation);

CSCHED_END_DECLS

#endif
