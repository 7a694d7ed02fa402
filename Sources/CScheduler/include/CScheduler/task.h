// A function that is scheduled, as a value: with no memory of the caller's to keep or to free.
// Depends on: target.h.
//
//   csched_task task = csched_target_async(target, download, &request);
//   …
//   csched_task_cancel(task); // from any thread, at any time: it never began, has begun, or was over long ago
//
// A job (job.h) is the caller's memory, which he must keep until the job has ended. A task's memory is the library's: it is used again as soon
// as the task is over, and the value tells one use from the next. So a value may be copied, kept, forgotten and cancelled too late.
#ifndef CSCHED_TASK_H
#define CSCHED_TASK_H

#include <CScheduler/target.h>

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

/// Does: the same; or else, exactly once, calls `drop(context, reason)`: on the thread that cancels, before that returns; on a thread of the
/// target's, or one that stops, destroys or submits to it; or on this one before this returns, when the target takes no more, or for want of
/// memory. It must not be left by an exception or longjmp.
csched_task csched_target_async_or_drop(csched_target *target, void (*function)(void *context),
                                        void (*drop)(void *context, csched_drop_reason reason), void *context);

/// Does: cancels `task` if it has not begun: its `drop` has returned when this does, unless another thread is at that. Returns: what it found
/// (job.h). What is cancelled in its run runs to its end. Thread: any, any number of times, however late; also after its target has gone.
csched_cancel_result csched_task_cancel(csched_task task);

/// Does: as csched_task_cancel, and waits until the run, or a drop that another thread is at, has ended. From inside of either it does not
/// wait. Returns: what it found at first. Thread: any; it may block.
csched_cancel_result csched_task_cancel_and_wait(csched_task task);

/// Returns: whether it has run to its end, or never will, and `drop` has returned; the caller then sees what they did. Thread: any.
bool csched_task_is_over(csched_task task);

/// Does: gives memory of tasks that are over back to the system, in whole pages; what this thread keeps for its next tasks, too. It takes
/// about 10 ns for each task that there is room for; other threads that make tasks may have to wait meanwhile. Tasks stay valid. Thread: any.
void csched_trim(void);

// For the Swift module. Private.

/// Returns: a task whose job is of `type`, not submitted; all zero for want of memory. `type->release` is csched_task_free_, or calls it last.
csched_task csched_task_make_(const csched_job_type *type);
void csched_task_free_(csched_job *job);

/// Returns: four words of the job's memory for what `type` needs, besides `context`.
CSCHED_INLINE void *csched_task_room_(csched_job *job) { return job + 1; }

/// Does: submits `task` to `target`. Returns: as csched_target_submit.
int csched_task_submit_(csched_target *target, csched_task task);

/// Returns: whether it is over, or was cancelled: nothing of it will begin. While a target drops it by itself, it is neither.
bool csched_task_is_cancelled_(csched_task task);

/// Returns: why the job is dropped whose `drop` is calling.
csched_drop_reason csched_task_drop_reason_(void);

CSCHED_END_DECLS

#endif
