// Tasks that call C functions: at once, at a deadline, or periodically. No atomics: task.c decides between run and
// cancel.

#include <CScheduler/diagnostics.h>

#include "../base/panic.h"
#include "../job/frames_internal.h"
#include "../job/observed.h"
#include "../targets/target_internal.h"
#include "../targets/task_job.h"
#include "clock_internal.h"

#include <string.h>

// The user's functions. A task stores a copy in its room: the extra memory behind its job or timer (task_job.h).
typedef struct callbacks {
  void (*function)(void *context);
  void (*drop)(void *context, csched_drop_reason reason);
} callbacks;

static void count_task(int64_t change) { // counts live tasks, for leak accounting
  if (csched_is_counting_()) csched_count_(CSCHED_COUNTED_JOBS_, change);
}

// Does: calls the user's `drop`, which may be NULL.
static void call_drop(const callbacks *callbacks, void *context, csched_drop_reason reason) {
  if (callbacks->drop != NULL) callbacks->drop(context, reason);
}

// The `release` of all tasks here. Does: frees the task's memory.
static void end_task(csched_job *job, csched_task_size size) {
  count_task(-1);
  csched_task_free_(job, size);
}

// Returns: a task of `type` and `size`, whose room begins with `callbacks`. Without memory: a task without a job, after
// a call of the user's `drop`.
static csched_task make_task(const csched_job_type *type, csched_task_size size, callbacks callbacks, void *context) {
  csched_task task = csched_task_make_(type, size);
  if (CSCHED_UNLIKELY(task.job == NULL)) {
    call_drop(&callbacks, context, CSCHED_DROP_NO_MEMORY);
    return task;
  }
  void *room = size == CSCHED_TASK_PLAIN ? csched_task_room_(task.job) : csched_task_timer_room_(task.job);
  task.job->context = context;
  memcpy(room, &callbacks, sizeof callbacks);
  count_task(1);
  return task;
}

// MARK: at once

static void run_plain(csched_job *job) { ((callbacks *)csched_task_room_(job))->function(job->context); }
static void drop_plain(csched_job *job) { call_drop(csched_task_room_(job), job->context, csched_task_drop_reason_()); }
static void release_plain(csched_job *job) { end_task(job, CSCHED_TASK_PLAIN); }

static const csched_job_type plain = {run_plain, drop_plain, release_plain};

// Returns: the submitted task; a task without a job if it was refused or memory is short, after the user's `drop` was
// called.
static csched_task submit_task(csched_target *target, callbacks callbacks, void *context) {
  csched_task task = make_task(&plain, CSCHED_TASK_PLAIN, callbacks, context);
  if (task.job == NULL) return task;
  return csched_task_submit_(target, task) == 0 ? task : (csched_task){NULL, 0};
}

CSCHED_NOINLINE csched_task csched_target_async(csched_target *target, void (*function)(void *context), void *context) {
  CSCHED_NEEDS_FUNCTION_(function, "csched_target_async");
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME());
  return submit_task(target, (callbacks){function, NULL}, context);
}

CSCHED_NOINLINE csched_task csched_target_async_or_drop(csched_target *target, void (*function)(void *context),
                                                        void (*drop)(void *context, csched_drop_reason reason),
                                                        void *context) {
  CSCHED_NEEDS_FUNCTION_(function, "csched_target_async_or_drop");
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME());
  return submit_task(target, (callbacks){function, drop}, context);
}

// MARK: at a deadline

static void run_timed(csched_job *job) { ((callbacks *)csched_task_timer_room_(job))->function(job->context); }
static void drop_timed(csched_job *job) {
  call_drop(csched_task_timer_room_(job), job->context, csched_task_drop_reason_());
}
static void release_timed(csched_job *job) { end_task(job, CSCHED_TASK_TIMED); }

static const csched_job_type timed = {run_timed, drop_timed, release_timed};

// Returns: as submit_task, for a run at `deadline`.
static csched_task submit_at(csched_target *target, csched_clock clock, csched_time deadline, csched_time leeway,
                             callbacks callbacks, void *context) {
  csched_task task = make_task(&timed, CSCHED_TASK_TIMED, callbacks, context);
  if (task.job == NULL) return task;
  return csched_task_submit_at_clock_(target, task, clock, deadline, leeway) == 0 ? task : (csched_task){NULL, 0};
}

CSCHED_NOINLINE csched_task csched_target_async_after(csched_target *target, csched_time delay,
                                                      void (*function)(void *context), void *context) {
  CSCHED_NEEDS_FUNCTION_(function, "csched_target_async_after");
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME());
  csched_time deadline = csched_target_now(target) + delay;
  if (deadline < delay) deadline = CSCHED_FOREVER; // the sum has overflowed
  return submit_at(target, CSCHED_CLOCK_MONOTONIC, deadline, 0, (callbacks){function, NULL}, context);
}

CSCHED_NOINLINE csched_task csched_target_async_at(csched_target *target, csched_time deadline,
                                                   void (*function)(void *context), void *context) {
  CSCHED_NEEDS_FUNCTION_(function, "csched_target_async_at");
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME());
  return submit_at(target, CSCHED_CLOCK_MONOTONIC, deadline, 0, (callbacks){function, NULL}, context);
}

CSCHED_NOINLINE csched_task csched_target_async_at_or_drop(csched_target *target, csched_clock clock,
                                                           csched_time deadline, csched_time leeway,
                                                           void (*function)(void *context),
                                                           void (*drop)(void *context, csched_drop_reason reason),
                                                           void *context) {
  CSCHED_NEEDS_FUNCTION_(function, "csched_target_async_at_or_drop");
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME());
  return submit_at(target, clock, deadline, leeway, (callbacks){function, drop}, context);
}

// MARK: periodically

// The room of a periodic task.
typedef struct repeated {
  callbacks callbacks; // first, as in the other tasks: drop_timed reads it
  csched_timing timing;
  csched_time due; // the deadline of the present run, without jitter
} repeated;

CSCHED_STATIC_ASSERT(sizeof(csched_timer) + sizeof(repeated) <= 64 << CSCHED_TASK_REPEATING,
                     "the memory of a repeating task holds the timer and `repeated`");

csched_time csched_timing_next(const csched_timing *timing, csched_time previous, csched_time begun,
                               csched_time ended) {
  csched_time period = timing->period, from = previous, steps = 1, span, next; // next = from + steps * period
  if (previous == CSCHED_FOREVER) return previous;
  if (period == 0) return ended > previous ? ended : previous; // runs again at once
  // `at_begin`, `at_end`: the whole periods from `previous` to the start and to the end of the run. The next run is,
  // with
  //   CATCH_UP: one period after `previous`
  //   COALESCE: at the latest tick that has passed during the run, for all of these; at the next tick if none has
  //   passed
  //   SKIP: at the first tick after the run's end
  //   DELAY: one period after the run's end
  csched_time at_begin = begun > previous ? (begun - previous) / period : 0,
              at_end = ended > previous ? (ended - previous) / period : 0;
  if (timing->pace == CSCHED_PACE_DELAY) from = ended;
  if (timing->pace == CSCHED_PACE_SKIP) steps = at_end + 1;
  if (timing->pace == CSCHED_PACE_COALESCE) steps = at_end > at_begin ? at_end : at_begin + 1;
  return __builtin_mul_overflow(steps, period, &span) || __builtin_add_overflow(from, span, &next) ? CSCHED_FOREVER
                                                                                                   : next;
}

// Returns: `due` plus a pseudo-random delay of 0 to `jitter`: the final steps of splitmix64, seeded with the clock and
// the task's address (`who`).
csched_time csched_jittered_(csched_time due, csched_time jitter, const void *who) {
  if (jitter == 0 || due == CSCHED_FOREVER) return due;
  uint64_t share = csched_now() + (uint64_t)(uintptr_t)who * 0x9e3779b97f4a7c15u;
  share = (share ^ share >> 30) * 0xbf58476d1ce4e5b9u;
  share = (share ^ share >> 27) * 0x94d049bb133111ebu;
  share = (share ^ share >> 31) % (jitter < UINT64_MAX ? jitter + 1 : jitter); // `jitter` + 1 must not overflow
  return __builtin_add_overflow(due, share, &due) ? CSCHED_FOREVER : due;
}

// Returns: the deadline of the next run. The present run started at `begun` and ends now.
static csched_time next_deadline(const repeated *repeated, const csched_target *target, csched_time begun) {
  enum { LEAST_DELAY = 1000000 }; // ns, for a user's target: it may run a due job inside the submission, and recurse
  csched_time now = csched_target_now(target);
  csched_time next = csched_timing_next(&repeated->timing, repeated->due, begun, now);
  if (csched_target_has_virtual_time_(target)) // with a period of 0, the task would run forever at one tick
    return repeated->timing.period == 0 ? CSCHED_FOREVER : next;
  csched_time earliest = csched_time_after(now, LEAST_DELAY);
  return csched_target_find_custom_((csched_target *)target) != NULL && next < earliest ? earliest : next;
}

// Does: calls the user's function, and submits the job again for the next period.
static void run_repeating(csched_job *job) {
  repeated *repeated = csched_task_timer_room_(job);
  csched_target *target = csched_task_target_(job);
  csched_time begun = csched_target_now(target);
  if (!csched_task_is_unwanted_(job)) repeated->callbacks.function(job->context); // task.c TK6: no call after a cancel
  repeated->due = next_deadline(repeated, target, begun);
  bool is_virtual = csched_target_has_virtual_time_(target);
  // In virtual time, leeway FOREVER marks work that does not keep csched_virtual_run going (virtual.c VT6).
  csched_time leeway = is_virtual ? CSCHED_FOREVER : repeated->timing.leeway;
  csched_time due = csched_jittered_(repeated->due, is_virtual ? 0 : repeated->timing.jitter, job);
  if (csched_task_submit_again_(job, due, leeway) == CSCHED_TASK_UNWANTED_)
    call_drop(&repeated->callbacks, job->context, CSCHED_DROP_CANCELLED); // a running job's `drop` is not called
}

static void release_repeating(csched_job *job) { end_task(job, CSCHED_TASK_REPEATING); }

static const csched_job_type repeating = {run_repeating, drop_timed, release_repeating};

CSCHED_NOINLINE csched_task csched_target_async_every(csched_target *target, const csched_timing *timing,
                                                      void (*function)(void *context),
                                                      void (*drop)(void *context, csched_drop_reason reason),
                                                      void *context) {
  CSCHED_NEEDS_FUNCTION_(function, "csched_target_async_every");
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME());
  if (CSCHED_UNLIKELY((unsigned)timing->pace > CSCHED_PACE_DELAY))
    csched_panic_("csched_target_async_every", "%d is no pace. Name one of csched_pace.", (int)timing->pace);
  csched_task task = make_task(&repeating, CSCHED_TASK_REPEATING, (callbacks){function, drop}, context);
  if (task.job == NULL) return task;
  repeated *repeated = csched_task_timer_room_(task.job);
  repeated->timing = *timing;
  repeated->due = timing->first;
  csched_time first =
      csched_jittered_(timing->first, csched_target_has_virtual_time_(target) ? 0 : timing->jitter, task.job);
  int error = csched_task_submit_at_(target, task, first, timing->leeway);
  return error == 0 ? task : (csched_task){NULL, 0};
}

// MARK: for observers: where the jobs of each type store the user's function

const csched_observed_code csched_async_codes_[CSCHED_ASYNC_CODES] = {
    {&plain, sizeof(csched_job) + offsetof(callbacks, function), false},
    {&timed, sizeof(csched_timer) + offsetof(callbacks, function), false},
    {&repeating, sizeof(csched_timer) + offsetof(repeated, callbacks.function), false},
};
