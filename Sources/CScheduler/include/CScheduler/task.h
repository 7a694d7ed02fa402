// A function that is scheduled once, or periodically, as a value: with no memory of the caller's to keep or to free.
// Depends on: clock.h.
//
//   csched_task task = csched_target_async(target, download, &request);
//   …
//   csched_task_cancel(task); // from any thread, at any time: it never began, has begun, or was over long ago
//
// A periodic timer is such a task, too, on any target:
//
//   csched_time second = 1000000000; // nanoseconds
//   csched_timing timing = {.first = csched_time_after(csched_target_now(target), second), .period = second};
//   csched_task polling = csched_target_async_every(target, &timing, poll, NULL, &server);
//   …
//   csched_task_cancel_and_wait(polling); // no call runs from here on
//
// A job (job.h) is the caller's memory, which he must keep until the job has ended. A task's memory is the library's: it is used again as soon
// as the task is over, and the value tells one use from the next. So a value may be copied, kept, forgotten and cancelled too late.
#ifndef CSCHED_TASK_H
#define CSCHED_TASK_H

#include <CScheduler/clock.h>

CSCHED_BEGIN_DECLS

/// A function that was scheduled. All zero stands for one that is over. Its fields are private.
typedef struct csched_task {
  csched_job *job;
  uint64_t life;
} csched_task;

/// Does: has `target` call `function(context)`, after what the same thread has submitted to it before. Returns: what cancels it; a task that
/// is over when the target takes no more, or for want of memory. Thread: any; not in a signal handler, where a job (job.h) is what to submit.
/// It asks the system for memory only when more tasks wait at a time, of all threads, than ever before, or after csched_trim.
csched_task csched_target_async(csched_target *target, void (*function)(void *context), void *context);

/// Does: the same; or else, exactly once, calls `drop(context, reason)`, unless `drop` is NULL: on the thread that cancels, before that returns; on a thread of the
/// target's, or one that stops, destroys or submits to it; or on this one before this returns, when the target takes no more, or for want of
/// memory. It must not be left by an exception or longjmp.
csched_task csched_target_async_or_drop(csched_target *target, void (*function)(void *context),
                                        void (*drop)(void *context, csched_drop_reason reason), void *context);

/// Does: has `target` call `function(context)` when `delay` nanoseconds have passed on its clock (csched_target_now). Returns, thread: as
/// csched_target_async.
csched_task csched_target_async_after(csched_target *target, csched_time delay, void (*function)(void *context),
                                      void *context);

/// Does: the same at `deadline` of the target's clock, as csched_target_submit_at without a leeway.
csched_task csched_target_async_at(csched_target *target, csched_time deadline, void (*function)(void *context),
                                   void *context);

/// Does: has `target` call `function(context)` at `deadline` of `clock`, or up to `leeway` nanoseconds later: as
/// csched_target_submit_at_clock. Or else calls `drop`, which may be NULL: as csched_target_async_or_drop. Returns: as that.
/// Requires: until the task is over, the target is not freed while another thread cancels the task. Thread: any.
csched_task csched_target_async_at_or_drop(csched_target *target, csched_clock clock, csched_time deadline,
                                           csched_time leeway, void (*function)(void *context),
                                           void (*drop)(void *context, csched_drop_reason reason), void *context);

/// What becomes of ticks whose time has passed when the function comes to run, and from where the next one is counted.
typedef enum csched_pace {
  CSCHED_PACE_COALESCE, ///< a grid: one tick stands for all whose time has come before it begins
  CSCHED_PACE_CATCH_UP, ///< a grid: each is made up for, one after the other, at once
  CSCHED_PACE_SKIP,     ///< a grid: they are left out; the next is the first that is yet to come when one ends
  CSCHED_PACE_DELAY,    ///< no grid: one period after the end of the last one
} csched_pace;

/// When a function is called again and again, in nanoseconds of the target's clock.
typedef struct csched_timing {
  csched_time first; ///< when, at first
  /// 0: as soon as the last call has ended, behind the target's other work; in virtual time once, which it does not move. On a target of
  /// the user's own a call is due a millisecond after the last one at the earliest, so that none begins inside of another.
  csched_time period;
  csched_time leeway; ///< how much later than it is due a call may begin
  csched_pace pace;
  /// Each call, the first one, too, is due up to this much later, by a random share of its own, so that many timers of one period do not come
  /// together. The grid stays where it is; a jitter of a period or more has calls of a grid fall together. Virtual time has none.
  csched_time jitter;
} csched_timing;

/// Returns: when the call after one is due, without its jitter: at once, where that has passed; CSCHED_FOREVER: at the end of time, which does not come. `last` is
/// when that one was due, `begun` and `ended` when it did so. Thread: any.
csched_time csched_timing_next(const csched_timing *timing, csched_time last, csched_time begun, csched_time ended);

/// Returns: `due`, or up to `jitter` later, at random; `who` tells those apart who ask at the same time. Thread: any. Private.
csched_time csched_jittered_(csched_time due, csched_time jitter, const void *who);

/// Does: has `target` call `function(context)` as `timing` says, until it is cancelled or the target takes no more; never two calls at a time.
/// Then, exactly once, and with the last call ended, calls `drop`, which may be NULL: where csched_target_async_or_drop does, or on the thread
/// of the last call. A call that is left by an exception or longjmp is the last one, too, and nothing is called then, as after any such run (job.h).
/// Returns, requires, thread: as csched_target_async_at_or_drop. In virtual time csched_virtual_run goes on for the first call, and for no
/// other.
csched_task csched_target_async_every(csched_target *target, const csched_timing *timing,
                                      void (*function)(void *context),
                                      void (*drop)(void *context, csched_drop_reason reason), void *context);

/// Does: cancels `task` if it has not begun: its `drop` has returned when this does, unless another thread is at that. Returns: what it found
/// (job.h). What is cancelled in its run runs to its end, and not again. Thread: any, any number of times, however late; also after its
/// target has gone.
csched_cancel_result csched_task_cancel(csched_task task);

/// Does: as csched_task_cancel, and waits until the run, or a drop that another thread is at, has ended. From inside of either it does not
/// wait. Returns: what it found at first. Thread: any; it may block.
csched_cancel_result csched_task_cancel_and_wait(csched_task task);

/// Returns: whether it has run to its end, or never will, and `drop` has returned; the caller then sees what they did. Thread: any.
bool csched_task_is_over(csched_task task);

/// Does: gives memory of tasks that are over back to the system, in whole pages; what this thread keeps for its next tasks, too. It takes
/// about 10 ns for each task that there is room for; other threads that make tasks may have to wait meanwhile. Tasks stay valid. Thread: any.
void csched_trim(void);

CSCHED_END_DECLS

#endif
