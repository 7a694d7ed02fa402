// Private functions for the Swift module: per-thread values, context frames, deferred drops, sleeping, panics, observers, descriptors.
// Depends on: loop_fd.h, target.h.
#pragma once

#include <CScheduler/loop_fd.h>
#include <CScheduler/target.h>

/// Returns: the address of this thread's pointer to its disposal walk, NULL at first. It lives as long as the thread. Thread: any.
void **csched_swift_drain_slot_(void);

/// Returns: the thread's innermost context frame; `outer` leads to the frames around it. Thread: any.
csched_frame *csched_swift_innermost_(void);

/// A thread holds a queue, a loop or a limit while it runs a job or a sync of it: other jobs wait for the end of this one.
typedef enum csched_swift_holding {
  CSCHED_SWIFT_HOLDS_NOTHING,
  CSCHED_SWIFT_HOLDS,        ///< at least one target
  CSCHED_SWIFT_LEAVES_QUEUE, ///< only queues or limits on a pool; each ends its batch when the current job returns
} csched_swift_holding;

/// Returns: what this thread holds. `*target`: the pool for a job that must run outside the held targets: the thread's pool, or NULL for the shared
/// pool. Inside virtual time a thread holds nothing: its tasks continue on the driving thread. `last_of`, unless NULL: the caller is a job of that
/// target, and runs no more user code. Only then LEAVES_QUEUE is possible. Thread: any.
csched_swift_holding csched_swift_holds_(const csched_target *last_of, csched_target **target);

/// Does: submits `job` to the pool `target`, to run on this thread after the held queues have ended their batches. No thread is woken. Requires:
/// csched_swift_holds_ has returned CSCHED_SWIFT_LEAVES_QUEUE.
int csched_swift_submit_follow_up_(csched_target *target, csched_job *job);

/// A thread's deferred drops: a list of jobs. They are dropped at the end of the drop that the thread is executing.
typedef struct csched_swift_discards {
  csched_job *first, *last;
  bool is_discarding;
} csched_swift_discards;

/// Does: defers drops on this thread until csched_swift_discards_end_, which runs them and restores the outer list. Returns: the outer list. Between
/// the two calls the thread counts as inside a drop observer, which does not observe these drops.
csched_swift_discards csched_swift_discards_begin_(void);
void csched_swift_discards_end_(csched_swift_discards outer);

/// Does: begins an operation that is not a job's drop, but defers nested drops like a drop. Returns: true when the thread was inside no drop. Then
/// the caller must call csched_swift_discards_end_outermost_.
bool csched_swift_discards_begin_if_outermost_(void);
void csched_swift_discards_end_outermost_(void);

/// Returns: whether the thread is between a begin and its end above, or inside a job's drop. Thread: any.
bool csched_swift_is_in_drop_(void);

/// Does: registers functions that keep a job's owner alive while its drop is deferred: `of` returns the owner. Call once, before any submission.
void csched_swift_on_put_off_(const void *(*of)(const csched_job *job), void (*retain)(const void *owner),
                              void (*release)(const void *owner));

/// Returns: whether the thread is inside a job's drop; if so, stores the reason of that drop in `*reason`. Thread: any.
bool csched_swift_discards_reason_(csched_drop_reason *reason);

/// Does: sets a flag of this thread. While it is set, callers on this thread learn of refusals themselves, so no message is printed. Returns: the
/// previous value, false at first. Thread: any.
bool csched_swift_report_refusals_(bool are_reported);
/// Returns: the flag that csched_swift_report_refusals_ sets. Thread: any.
bool csched_swift_are_refusals_reported_(void);

/// Does: sets the sleeping task (Sleepers.swift) for which this thread submits from now on; NULL: none. Returns: the previous task. Thread: any.
void *csched_swift_note_sleeper_(void *sleeper);
/// Returns: the task that csched_swift_note_sleeper_ has set. Thread: any.
void *csched_swift_sleeper_(void);

/// Does: sleeps until `deadline` (of csched_now). Thread: any.
void csched_swift_sleep_until_(csched_time deadline);

/// Returns: a number that identifies this thread among all existing threads. Thread: any.
uintptr_t csched_swift_thread_(void);

/// Does: informs observers that jobs of `type` contain, at `offset`, their function's address, which has 1 added in an odd `context`. Thread: any.
void csched_swift_observe_(const struct csched_job_type *type, size_t offset);

/// Does: writes `text`, of any length and with its newline, to standard error, and aborts. Thread: any.
void csched_swift_stop_(const char *text) CSCHED_NORETURN;

/// Does: sleeps while `*word` is `value`, until csched_swift_wake_. It may return early. Thread: any.
void csched_swift_wait_(uint32_t *word, uint32_t value);

/// Does: wakes all threads that wait on `word`. It does not read the word. Thread: any.
void csched_swift_wake_(uint32_t *word);

/// Returns: whether `error` is EDEADLK. With these two functions the Swift module needs no import of the C library.
bool csched_swift_is_deadlock_(int error);

/// Returns: whether `error` is ECANCELED.
bool csched_swift_is_stopped_(int error);

/// Does: adds or removes the source, as csched_loop_add_fd and csched_loop_remove_fd. If another source of the loop waits for this descriptor
/// already, the added source gets a copy of the descriptor. Removal closes the copy. `fd`: the original descriptor. Thread: the loop's.
int csched_swift_add_fd_(csched_loop *loop, csched_fd_source *source);
int csched_swift_remove_fd_(csched_loop *loop, csched_fd_source *source, int fd);
/// Does: closes a removed source's copy of the descriptor, if it has one. Thread: the loop's.
void csched_swift_end_fd_(csched_fd_source *source, int fd);
