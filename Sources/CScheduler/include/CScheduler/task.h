// Tasks: a function that is scheduled once or periodically, as a value, without memory that the caller must keep.
// Depends on: clock.h.
//
//   csched_task task = csched_target_async(target, download, &request);
//   …
//   csched_task_cancel(task); // from any thread, at any time: before, during or long after the run
//
// A periodic timer is a task, too, on any target:
//
//   csched_time second = 1000000000; // nanoseconds
//   csched_timing timing = {.first = csched_time_after(csched_target_now(target), second), .period = second};
//   csched_task polling = csched_target_async_every(target, &timing, poll, NULL, &server);
//   …
//   csched_task_cancel_and_wait(polling); // no call runs from here on
//
// The caller owns the memory of a job (job.h), and must keep it until the job has ended. The library owns a task's
// memory, and reuses it when the task is over. The csched_task value contains a generation number, which distinguishes
// one use of the memory from the next. So a value may be copied, stored, discarded, or cancelled too late.
#ifndef CSCHED_TASK_H
#define CSCHED_TASK_H

#include <CScheduler/target.h>

CSCHED_BEGIN_DECLS

/// A function that was scheduled. All zero is a task that is over. Its fields are private.
typedef struct csched_task {
  csched_job *job;
  uint64_t life; // generation number of this use of `job`, whose memory is reused
} csched_task;

/// Does: has `target` call `function(context)`, after all work that the same thread submitted to `target` before.
/// Returns: the task, to cancel it. When the target accepts no more work, or memory is short, the function is not
/// called, and the task is over. Thread: any; not in a signal handler: submit a job (job.h) there. It allocates memory
/// only when more tasks of all threads wait at a time than ever before, or after csched_trim.
csched_task csched_target_async(csched_target *target, void (*function)(void *context), void *context);

/// Does: as csched_target_async. If `function` will not be called, it calls `drop(context, reason)` exactly once,
/// unless `drop` is NULL. A cancel calls `drop` on the cancelling thread, before it returns. Otherwise `drop` runs on a
/// thread of the target, or on a thread that stops, destroys or submits to it. When the target accepts no more work, or
/// memory is short, the calling thread runs `drop` before this call returns. An exception or longjmp must not unwind
/// `drop`.
csched_task csched_target_async_or_drop(csched_target *target, void (*function)(void *context),
                                        void (*drop)(void *context, csched_drop_reason reason), void *context);

/// Does: as csched_target_async, but `target` calls the function after `delay` nanoseconds of its clock
/// (csched_target_now). Returns, thread: as csched_target_async.
csched_task csched_target_async_after(csched_target *target, csched_time delay, void (*function)(void *context),
                                      void *context);

/// Does: as csched_target_async_after, at `deadline` of the target's clock, without a leeway (csched_target_submit_at).
csched_task csched_target_async_at(csched_target *target, csched_time deadline, void (*function)(void *context),
                                   void *context);

/// Does: has `target` call `function(context)` at `deadline` of `clock`, or up to `leeway` nanoseconds later, as
/// csched_target_submit_at_clock. If `function` will not be called, it calls `drop` as csched_target_async_or_drop
/// does. Returns: as csched_target_async. Requires: the target is not freed during another thread's cancel of a task
/// that is not over. Thread: any.
csched_task csched_target_async_at_or_drop(csched_target *target, csched_clock clock, csched_time deadline,
                                           csched_time leeway, void (*function)(void *context),
                                           void (*drop)(void *context, csched_drop_reason reason), void *context);

/// What happens to missed ticks, and from where the next tick is counted.
typedef enum csched_pace {
  CSCHED_PACE_COALESCE, ///< fixed grid: one call for all ticks that are due before it starts
  CSCHED_PACE_CATCH_UP, ///< fixed grid: one call for each missed tick, without a pause
  CSCHED_PACE_SKIP, ///< fixed grid: skips missed ticks; the next call is at the first tick after the previous call's end
  CSCHED_PACE_DELAY, ///< no grid: one period after the end of the previous call
} csched_pace;

/// When a function is called repeatedly, in nanoseconds of the target's clock.
typedef struct csched_timing {
  csched_time first; ///< deadline of the first call
  /// 0: as soon as the previous call has ended, behind the target's other work. In virtual time 0 means one call only.
  /// On a custom target (with a csched_target_type that you wrote), each call is due at least a millisecond after the
  /// previous call's end, so that calls do not nest.
  csched_time period;
  csched_time leeway; ///< how much later than its deadline a call may start
  csched_pace pace;
  /// Each call, the first included, is delayed by a random time up to this, so that timers of one period do not fire
  /// together. The grid does not move. With a jitter of a period or more, two calls may be due at once; they run one
  /// after the other. Virtual time ignores it.
  csched_time jitter;
} csched_timing;

/// Returns: when the next call is due, without its jitter; a time in the past means at once. CSCHED_FOREVER on
/// overflow, and if `previous` is CSCHED_FOREVER. `previous` is when the previous call was due; `begun` and `ended` are
/// when it started and ended. Thread: any.
csched_time csched_timing_next(const csched_timing *timing, csched_time previous, csched_time begun, csched_time ended);

/// Returns: `due` plus a random time up to `jitter`, or CSCHED_FOREVER on overflow. The address `who` makes results
/// differ. Thread: any. Private.
csched_time csched_jittered_(csched_time due, csched_time jitter, const void *who);

/// Does: has `target` call `function(context)` as `timing` says, until the task is cancelled or the target accepts no
/// more work. Calls never overlap. After the final call has ended it calls `drop` exactly once, unless `drop` is NULL.
/// `drop` runs on the thread of the final call, or on the thread that cancels, or on one that stops the target. If an
/// exception or longjmp unwinds a call, that call is the final one, and `drop` is not called (job.h). Returns,
/// requires, thread: as csched_target_async_at_or_drop. In virtual time csched_virtual_run returns after the first
/// call.
csched_task csched_target_async_every(csched_target *target, const csched_timing *timing,
                                      void (*function)(void *context),
                                      void (*drop)(void *context, csched_drop_reason reason), void *context);

/// Does: cancels `task` if it has not started. The task's `drop` has returned when this returns, unless another thread
/// is calling it. A call of the function that has started continues to its end, and is not repeated. Returns: the state
/// in which it found the task (job.h). Thread: any, any number of times; once the task is over, also after the target
/// was destroyed.
csched_cancel_result csched_task_cancel(csched_task task);

/// Does: as csched_task_cancel, and waits until the task's function or `drop`, if running on another thread, has
/// returned. Inside this function or `drop` it does not wait. Returns: the state in which it found the task. Thread:
/// any; it may block.
csched_cancel_result csched_task_cancel_and_wait(csched_task task);

/// Returns: whether the task has run to its end or will never run, and its `drop` has returned. If so, the caller sees
/// their writes. Thread: any.
bool csched_task_is_over(csched_task task);

/// Does: returns memory of finished tasks to the system, in whole pages, including the memory that this thread keeps
/// for its next tasks. It takes about 10 ns for each task that fits into this memory. Other threads that create tasks
/// may wait meanwhile. Task values stay valid. Thread: any.
void csched_trim(void);

CSCHED_END_DECLS

#endif
