// Virtual time: a target whose clock is moved by hand, for tests and simulations.
// Depends on: target.h.
//
// Its time is counted in ticks of 64 bits that mean what you like. It moves only when it is told to, and never back; what becomes due on the
// way runs on the thread that moves it, in the order of deadlines, and within a tick in the order of submission. Jobs, timers and serial
// queues on it are what they are anywhere else: csched_target_submit_at's deadlines are ticks here, and its leeway is taken for none. Only
// one of CSCHED_FOREVER makes a difference: csched_virtual_run does not go on for the sake of such a timer.
//
// A sync on a queue whose base it is, and that has something to do or is suspended, waits, and until its end what is due at the present tick
// is run as soon as it comes: by whoever drives, else by one that waits.
//
// One thread at a time drives. A call of csched_virtual_advance, _advance_to, _run or _step while another one is under way, on another thread
// or in a job, widens what that is to do, and returns at once. What is left by an exception of C++, longjmp or the end of its thread is
// over, with all that was asked for. In a child of fork it goes on; a job that runs in the parent does not run there again.
#ifndef CSCHED_VIRTUAL_H
#define CSCHED_VIRTUAL_H

#include <CScheduler/target.h>

CSCHED_BEGIN_DECLS

typedef struct csched_virtual csched_virtual;

/// Does: creates one whose clock stands at `start`. A call that drives is taken for one without an end, and stops the process, when it has
/// run `turn_limit` jobs and finds still more; 0: 2^21. Returns: 0 or ENOMEM. Thread: any.
int csched_virtual_create(csched_virtual **timeline, csched_time start, size_t turn_limit);

/// Does: closes it (target.h), and drops what waits. Thread: any.
void csched_virtual_close(csched_virtual *timeline);

/// Does: the same, and frees it. Requires: no thread is in a call on it, or makes one later; the queues on it are gone or have
/// nothing to do; what was submitted has been released. Thread: any.
void csched_virtual_destroy(csched_virtual *timeline);

/// Returns: it as a target, to submit to (target.h). Valid as long as it. Thread: any may submit and cancel at any time.
CSCHED_INLINE csched_target *csched_virtual_target(csched_virtual *timeline) {
  CSCHED_NEEDS_ABI();
  return (csched_target *)timeline;
}

/// Returns: the present tick; in a job, that of the job. Thread: any.
csched_time csched_virtual_now(csched_virtual *timeline);

/// Returns: how many jobs and timers wait, cancelled ones not counted; a serial queue that has something to do counts as one. In constant time,
/// where no plain jobs wait. Thread: any.
size_t csched_virtual_pending(csched_virtual *timeline);

/// What a call asks for. Private.
typedef enum csched_virtual_request {
  CSCHED_VIRTUAL_ADVANCE,
  CSCHED_VIRTUAL_RUN,
  CSCHED_VIRTUAL_RUN_ALL,
  CSCHED_VIRTUAL_STEP,
} csched_virtual_request;

/// Does: what `request` asks for, with `amount`. Returns: false when that passes the limit. Private.
bool csched_virtual_drive_(csched_virtual *timeline, csched_virtual_request request, csched_time amount,
                           csched_scope *scope);
void csched_virtual_panic_(const csched_virtual *timeline, const char *function) CSCHED_NORETURN;
CSCHED_INLINE void csched_virtual_drive(csched_virtual *timeline, csched_virtual_request request, csched_time amount,
                                        const char *function) {
  CSCHED_NEEDS_ABI();
  CSCHED_AT_END_OF_SCOPE(csched_scope_end_) csched_scope scope;
  scope.level = NULL; // if nothing begins here
  if (!csched_virtual_drive_(timeline, request, amount, &scope)) csched_virtual_panic_(timeline, function);
  scope.level = NULL;
}

/// Does: moves the clock to `time`, and runs on the way all that is due by then, `time` included, also what that submits. A `time` that has
/// passed is the present. Only an advance to CSCHED_FOREVER comes to what waits there. Thread: any.
CSCHED_INLINE void csched_virtual_advance_to(csched_virtual *timeline, csched_time time) {
  csched_virtual_drive(timeline, CSCHED_VIRTUAL_ADVANCE, time, "csched_virtual_advance_to");
}

/// Does: as csched_virtual_advance_to, `span` from now, held at CSCHED_FOREVER. Thread: any.
CSCHED_INLINE void csched_virtual_advance(csched_virtual *timeline, csched_time span) {
  csched_time now = csched_virtual_now(timeline);
  csched_virtual_drive(timeline, CSCHED_VIRTUAL_ADVANCE, span > CSCHED_FOREVER - now ? CSCHED_FOREVER : now + span,
                       "csched_virtual_advance");
}

/// Does: runs all, and moves the clock to each, until nothing is left but what waits at CSCHED_FOREVER, or with a leeway of CSCHED_FOREVER,
/// which runs where it comes before something else. So a job that repeats for ever is submitted with that leeway, but for its first time.
/// Thread: any.
CSCHED_INLINE void csched_virtual_run(csched_virtual *timeline) {
  csched_virtual_drive(timeline, CSCHED_VIRTUAL_RUN, 0, "csched_virtual_run");
}

/// Does: the same, and goes on for every leeway: what repeats must come to an end by itself. Thread: any.
CSCHED_INLINE void csched_virtual_run_all(csched_virtual *timeline) {
  csched_virtual_drive(timeline, CSCHED_VIRTUAL_RUN_ALL, 0, "csched_virtual_run_all");
}

/// Does: runs the next `count` jobs that were not cancelled, and moves the clock to each; fewer if there are no more before CSCHED_FOREVER.
/// A job of a serial queue counts as any other. Thread: any.
CSCHED_INLINE void csched_virtual_step(csched_virtual *timeline, csched_time count) {
  csched_virtual_drive(timeline, CSCHED_VIRTUAL_STEP, count, "csched_virtual_step");
}

/// Does: makes an end of what is being driven, after the job that is running, and of what it was widened to; calls that are made afterwards
/// count. The clock stays. Thread: any.
void csched_virtual_end_run(csched_virtual *timeline);

/// Does: moves the clock to `time`, unless that has passed, and runs nothing: what is due by then runs late, at the next drive. Thread: any.
void csched_virtual_skip_to(csched_virtual *timeline, csched_time time);

CSCHED_END_DECLS

#endif
