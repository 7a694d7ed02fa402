// Virtual time: a target whose clock you move by hand, for tests and simulations.
// Depends on: target.h.
//
// Time is a 64-bit count of ticks, with any meaning that you like. It moves only by the calls below, never back. Work
// that becomes due runs on the thread that moves the clock, in the order of deadlines, and within a tick in the order
// of submission. The deadlines of csched_target_submit_at are ticks. Jobs, timers and serial queues work as on other
// targets, but leeways are ignored, with one exception: csched_virtual_run does not continue for a timer whose leeway
// is CSCHED_FOREVER.
//
// A csched_serial_sync waits if its queue, whose base is the virtual time, has work or is suspended. Until that sync
// ends, work due at the current tick runs as soon as it is submitted: on the thread that drives, or if none drives, on
// a thread that waits in a sync.
//
// A drive is a call that moves the clock and runs due work. One thread at a time drives. If a job or another thread
// then calls csched_virtual_advance, _advance_to, _run, _run_all or _step, the call extends the current drive and
// returns at once. A C++ exception, longjmp or thread exit that unwinds a drive ends it, and all requests that extended
// it. In a child of fork the drive continues; the job that was running does not run again there.
#ifndef CSCHED_VIRTUAL_H
#define CSCHED_VIRTUAL_H

#include <CScheduler/target.h>

CSCHED_BEGIN_DECLS

typedef struct csched_virtual csched_virtual;

/// Does: creates virtual time whose clock starts at `start`. If a drive has run `turn_limit` jobs (0: 2^21) and more
/// are due, it counts as endless, and the process stops with a message. Returns: 0 or ENOMEM. Thread: any.
int csched_virtual_create(csched_virtual **timeline, csched_time start, size_t turn_limit);

/// Does: closes the virtual time (target.h), and drops waiting work. Thread: any.
void csched_virtual_close(csched_virtual *timeline);

/// Does: closes and frees the virtual time. Requires: no thread is in a call on it or makes one later; its queues were
/// destroyed or have no work; all submitted work was released. Thread: any.
void csched_virtual_destroy(csched_virtual *timeline);

/// Returns: the virtual time as a target, to submit to (target.h). Valid as long as `timeline`. Thread: any may submit
/// and cancel at any time.
CSCHED_INLINE csched_target *csched_virtual_target(csched_virtual *timeline) {
  CSCHED_NEEDS_ABI();
  return (csched_target *)timeline;
}

/// Returns: the current tick; inside a job, the job's tick. Thread: any.
csched_time csched_virtual_now(csched_virtual *timeline);

/// Returns: how many jobs and timers wait, without cancelled ones; a serial queue with work counts as one. The call
/// takes constant time, unless jobs that are not timers wait. Thread: any.
size_t csched_virtual_pending(csched_virtual *timeline);

/// Which of the functions below a drive serves. Private.
typedef enum csched_virtual_request {
  CSCHED_VIRTUAL_ADVANCE,
  CSCHED_VIRTUAL_RUN,
  CSCHED_VIRTUAL_RUN_ALL,
  CSCHED_VIRTUAL_STEP,
} csched_virtual_request;

/// Does: serves `request`, or adds it to the current drive. `amount`: the goal's tick (ADVANCE), the number of jobs
/// (STEP), otherwise unused.
/// Returns: false when the drive exceeds `turn_limit`; csched_virtual_panic_ then stops the process. Private.
bool csched_virtual_drive_(csched_virtual *timeline, csched_virtual_request request, csched_time amount,
                           csched_scope *scope);
void csched_virtual_panic_(const csched_virtual *timeline, const char *function) CSCHED_NORETURN;
CSCHED_INLINE void csched_virtual_drive(csched_virtual *timeline, csched_virtual_request request, csched_time amount,
                                        const char *function) {
  CSCHED_NEEDS_ABI();
  CSCHED_AT_END_OF_SCOPE(csched_scope_end_) csched_scope scope;
  scope.frame = NULL; // the clean-up has nothing to end if no job starts here
  if (!csched_virtual_drive_(timeline, request, amount, &scope)) csched_virtual_panic_(timeline, function);
  scope.frame = NULL;
}

/// Does: moves the clock to `time`, and runs all work due until then, `time` included, also what that work submits. A
/// past `time` counts as the current tick. Only an advance to CSCHED_FOREVER runs work due at CSCHED_FOREVER. Thread:
/// any.
CSCHED_INLINE void csched_virtual_advance_to(csched_virtual *timeline, csched_time time) {
  csched_virtual_drive(timeline, CSCHED_VIRTUAL_ADVANCE, time, "csched_virtual_advance_to");
}

/// Does: as csched_virtual_advance_to, by `span` ticks from the current tick, at most to CSCHED_FOREVER. Thread: any.
CSCHED_INLINE void csched_virtual_advance(csched_virtual *timeline, csched_time span) {
  csched_time now = csched_virtual_now(timeline);
  csched_virtual_drive(timeline, CSCHED_VIRTUAL_ADVANCE, span > CSCHED_FOREVER - now ? CSCHED_FOREVER : now + span,
                       "csched_virtual_advance");
}

/// Does: runs all work, and moves the clock to each deadline. Returns when only timers due at CSCHED_FOREVER, or with a
/// leeway of CSCHED_FOREVER, remain. While other work remains, timers of that leeway run in their order. Give this
/// leeway to a timer that repeats forever, except for its first time. Thread: any.
CSCHED_INLINE void csched_virtual_run(csched_virtual *timeline) {
  csched_virtual_drive(timeline, CSCHED_VIRTUAL_RUN, 0, "csched_virtual_run");
}

/// Does: as csched_virtual_run, but continues for timers of any leeway: work that repeats must end by itself. Thread:
/// any.
CSCHED_INLINE void csched_virtual_run_all(csched_virtual *timeline) {
  csched_virtual_drive(timeline, CSCHED_VIRTUAL_RUN_ALL, 0, "csched_virtual_run_all");
}

/// Does: runs the next `count` jobs that were not cancelled, and moves the clock to the deadline of each; fewer if no
/// more are due before CSCHED_FOREVER. A serial queue's job counts like any other. Thread: any.
CSCHED_INLINE void csched_virtual_step(csched_virtual *timeline, csched_time count) {
  csched_virtual_drive(timeline, CSCHED_VIRTUAL_STEP, count, "csched_virtual_step");
}

/// Does: ends the current drive, with the requests that extended it, after the running job, but no later drive. The
/// clock stays. Thread: any.
void csched_virtual_end_run(csched_virtual *timeline);

/// Does: moves the clock to `time`, unless `time` has passed, and runs nothing. Work due by then runs in the next
/// drive, late. Thread: any.
void csched_virtual_skip_to(csched_virtual *timeline, csched_time time);

CSCHED_END_DECLS

#endif
