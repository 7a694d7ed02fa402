// Private functions for the Swift module: a word per thread, context frames, deferred drops, sleeping, panics.
// Depends on: loop_fd.h, target.h.
#pragma once

#include <CScheduler/loop_fd.h>
#include <CScheduler/target.h>

/// Returns: the calling thread's slot, NULL at first. It lives as long as the thread. Thread: any.
void **csched_swift_drain_slot_(void);

/// Returns: the thread's innermost context frame; `outer` leads to the frames around it. Thread: any.
csched_frame *csched_swift_innermost_(void);

/// Whether other threads may wait for the job that this thread runs: a job of a queue, a loop or a limit.
typedef enum csched_swift_holding {
  CSCHED_SWIFT_HOLDS_NOTHING,
  CSCHED_SWIFT_HOLDS,
  CSCHED_SWIFT_LEAVES_QUEUE, ///< only queues or limits on a pool, whose batches end when the current job returns
} csched_swift_holding;

/// Returns: what this thread holds. `*target` is the pool to which to submit a job that must run outside the held targets: the thread's pool, or NULL
/// for the shared pool. Inside virtual time a thread holds nothing: its tasks continue on the driving thread. `last_of`, unless NULL: the caller is a
/// job of that target, and runs no more user code. Thread: any.
csched_swift_holding csched_swift_holds_(const csched_target *last_of, csched_target **target);

/// Does: submits `job` to the pool `target`, to run on this thread after the queue has ended its batch. It wakes no thread. Requires:
/// csched_swift_holds_ has returned CSCHED_SWIFT_LEAVES_QUEUE.
int csched_swift_submit_follow_up_(csched_target *target, csched_job *job);

/// A thread's deferred drops. They run at the end of the drop that the thread is executing.
typedef struct csched_swift_discards {
  csched_job *first, *last;
  bool is_discarding;
} csched_swift_discards;

/// Does: defers drops on this thread until csched_swift_discards_end_, which runs them and restores the outer deferred drops. Between the two calls
/// the thread counts as inside a drop observer, which does not observe these drops.
csched_swift_discards csched_swift_discards_begin_(void);
void csched_swift_discards_end_(csched_swift_discards outer);

/// Does: begins an operation that is not a job's drop, but defers nested drops like a drop. Returns: true when the thread was inside no drop. Then
/// the caller must call csched_swift_discards_end_outermost_.
bool csched_swift_discards_begin_if_outermost_(void);
void csched_swift_discards_end_outermost_(void);

/// Returns: whether the thread is between these two calls, or inside a job's drop. Thread: any.
bool csched_swift_is_in_drop_(void);

/// Does: registers functions that keep a job's owner alive while the job's drop is deferred: `of` returns the owner of a job. Call it once, before
/// the first submission.
void csched_swift_on_put_off_(const void *(*of)(const csched_job *job), void (*retain)(const void *owner),
                              void (*release)(const void *owner));

/// Returns: whether the thread is inside a job's drop; if so, stores the reason of that drop in `*reason`. Thread: any.
bool csched_swift_discards_reason_(csched_drop_reason *reason);

/// Does: sets a flag of this thread: its callers are notified of refusals, so that no message is printed. Returns: the previous value, false at
/// first. Thread: any.
bool csched_swift_report_refusals_(bool are_reported);
/// Returns: the flag that csched_swift_report_refusals_ sets. Thread: any.
bool csched_swift_are_refusals_reported_(void);

/// Does: sets the sleeping task for which this thread submits from now on; NULL: none. Returns: the previous one. Thread: any.
void *csched_swift_note_sleeper_(void *sleeper);
/// Returns: the task that csched_swift_note_sleeper_ has set. Thread: any.
void *csched_swift_sleeper_(void);

/// Does: sleeps until `deadline` (of csched_now). Thread: any.
void csched_swift_sleep_until_(csched_time deadline);

/// Returns: a number that no other living thread has. Thread: any.
uintptr_t csched_swift_thread_(void);

/// Does: informs observers that jobs of `type` contain, at `offset`, the address of the function that they call. If a job's `context` is odd, it is
/// that address plus 1. Thread: any.
void csched_swift_observe_(const struct csched_job_type *type, size_t offset);

/// Does: writes `text`, of any length and with its newline, to standard error, and aborts. Thread: any.
void csched_swift_stop_(const char *text) CSCHED_NORETURN;

/// Does: sleeps while `*word` is `value`, until csched_swift_wake_. It may return early. Thread: any.
void csched_swift_wait_(uint32_t *word, uint32_t value);

/// Does: wakes all threads that wait on `word`, without reading it. Thread: any.
void csched_swift_wake_(uint32_t *word);

/// Returns: whether `error` is EDEADLK. With these two functions the Swift module needs no import of the C library.
bool csched_swift_is_deadlock_(int error);

/// Returns: whether `error` is ECANCELED.
bool csched_swift_is_stopped_(int error);

/// Does: as csched_loop_add_fd and csched_loop_remove_fd of a source for `fd`. If another source of the loop waits for `fd` already, the source gets
/// a copy of the descriptor. The copy is closed when the source is removed. Thread: the loop's.
int csched_swift_add_fd_(csched_loop *loop, csched_fd_source *source);
int csched_swift_remove_fd_(csched_loop *loop, csched_fd_source *source, int fd);
/// Does: closes a removed source's copy of the descriptor, if it has one. Thread: the loop's.
void csched_swift_end_fd_(csched_fd_source *source, int fd);
