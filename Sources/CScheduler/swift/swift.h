// Private functions for the Swift module: per-thread values, context frames, postponed drops, sleeping, panics,
// observers, descriptors.
// Depends on: lock.h, loop_fd.h, target.h.
#pragma once

#include <CScheduler/lock.h>
#include <CScheduler/loop_fd.h>
#include <CScheduler/target.h>

/// Returns: the address of a pointer of this thread. The Swift module stores its disposal walk in progress there
/// (DisposalWalk.swift), or NULL, the initial value. The address is valid until the thread ends. Thread: any.
void **csched_swift_walk_slot_(void);

/// Does: gives the calling thread the signal mask with which threads of the library begin (base.h). Thread: one that
/// the Swift module has started.
void csched_swift_begin_with_main_mask_(void);

/// Returns: the thread's innermost context frame; `outer` leads to the frames around it. Thread: any.
csched_frame *csched_swift_innermost_frame_(void);

/// A thread holds a queue, a loop or a limit while it runs a job or a sync of that target. Other jobs of the target
/// wait meanwhile.
typedef enum csched_swift_holding {
  CSCHED_SWIFT_HOLDS_NOTHING,
  CSCHED_SWIFT_HOLDS,        ///< at least one target
  CSCHED_SWIFT_LEAVES_QUEUE, ///< only queues or limits on a pool; each ends its batch when the current job returns
} csched_swift_holding;

/// Returns: what this thread holds. Stores in `*target` the pool that runs this thread; NULL: none. Inside virtual time
/// a thread holds nothing: its tasks continue on the thread that advances the time. `target_of_ending_job`: not NULL:
/// the caller is a job of this target, and runs no more user code. Only then LEAVES_QUEUE is returned. Thread: any.
csched_swift_holding csched_swift_find_holding_(const csched_target *target_of_ending_job, csched_target **target);

/// Does: submits `job` to the pool `target`, to run on this thread after the held queues have ended their batches. No
/// thread is woken. Requires: csched_swift_find_holding_ has returned CSCHED_SWIFT_LEAVES_QUEUE and `target`. Returns:
/// as csched_target_submit.
int csched_swift_submit_follow_up_(csched_target *target, csched_job *job);

/// Returns: whether this thread is inside of `target`, but waits there, and runs another target's job meanwhile
/// (queue/helping.c). Thread: any.
bool csched_swift_is_hidden_(const csched_target *target);

/// A thread's postponed drops: a list of jobs. The thread drops them at the end of the drop that it is executing.
typedef struct csched_swift_discards {
  csched_job *first, *last; ///< linked by `next`
  bool is_discarding;       ///< the thread postpones drops
} csched_swift_discards;

/// Does: postpones drops on this thread until csched_swift_discards_end_, which executes them. Returns: the outer list,
/// for that call. Use: around a drop observer, whose own drops are not observed.
csched_swift_discards csched_swift_discards_begin_(void);
void csched_swift_discards_end_(csched_swift_discards outer);

/// Does: begins an operation that is not a job's drop, but postpones nested drops like a drop. Returns: true: the
/// caller must end the operation with csched_swift_discards_end_outermost_. false: the thread was inside a drop
/// already, or there is no memory; nothing has changed.
bool csched_swift_discards_begin_if_outermost_(void);
void csched_swift_discards_end_outermost_(void);

/// Returns: whether this thread postpones drops: it is inside a job's drop, or between two calls of the functions
/// above. Thread: any.
bool csched_swift_is_in_drop_(void);

/// Does: registers functions that keep a job's owner alive while its drop is postponed. `owner_of` may return NULL.
/// Call once, before any submission.
void csched_swift_set_postponed_owners_(const void *(*owner_of)(const csched_job *job),
                                        void (*retain)(const void *owner), void (*release)(const void *owner));

/// Returns: whether the thread is inside a job's drop; if so, stores the reason of that drop in `*reason`. Thread: any.
bool csched_swift_drop_reason_(csched_drop_reason *reason);

/// Does: sets a flag of this thread. true: a submitter on this thread learns of a refused submission by an error, so no
/// message is printed. Returns: the previous value, false at first. Thread: any.
bool csched_swift_silence_refusals_(bool are_silenced);
/// Returns: the flag that csched_swift_silence_refusals_ sets. Thread: any.
bool csched_swift_are_refusals_silenced_(void);

/// Does: sets the `Sleeper` (Sleepers.swift) that this thread's next submissions will wake; NULL: none. Returns: the
/// previous one. Thread: any.
void *csched_swift_set_sleeper_(void *sleeper);
/// Returns: the `Sleeper` that csched_swift_set_sleeper_ has set; NULL: none. Thread: any.
void *csched_swift_sleeper_(void);

/// Does: has each fork hold `lock`, so that in the child no thread of the parent owns it. Locks with `is_outer` are
/// locked before the others: a thread that owns one may lock others. Requires: `lock` stays valid for ever, and no user
/// code runs under it. Thread: any.
void csched_swift_hold_in_forks_(csched_lock *lock, bool is_outer);

/// Returns: whether blocks wait in Dispatch's main queue, as far as that is known. Thread: any.
bool csched_swift_main_queue_waits_(void);

/// Does: sleeps until `deadline` (of csched_now). Thread: any.
void csched_swift_sleep_until_(csched_time deadline);

/// Does: sets the `ListedMembers` in which this thread notes what it lists in groups; NULL: nowhere. Returns: the
/// previous one. Thread: any.
void *csched_swift_set_listed_(void *listed);
/// Returns: what csched_swift_set_listed_ has set; NULL: nothing. Thread: any.
void *csched_swift_listed_(void);

/// Does: notes `member`, whose action this thread calls next in the job that it runs; NULL: the call has returned.
/// Thread: any.
void csched_swift_begin_member_(void *member);
/// Returns: the member noted by csched_swift_begin_member_, in the first call; NULL: none, or this thread runs another
/// job inside of that. Thread: any.
void *csched_swift_take_member_(void);

/// Returns: a number that identifies this thread among all existing threads. Thread: any.
uintptr_t csched_swift_thread_number_(void);

/// Does: registers where jobs of `type` store the address of the user's function: at `offset`; or, plus 1, in an odd
/// `context`. Thread: any.
void csched_swift_observe_(const struct csched_job_type *type, size_t offset);

/// Does: writes `text`, of any length and with its newline, and the recent jobs to standard error, and aborts the
/// process. Thread: any.
void csched_swift_stop_process_(const char *text) CSCHED_NORETURN;

/// Does: sleeps while `*word` is `value`, until csched_swift_wake_. It may return early. Thread: any.
void csched_swift_wait_(uint32_t *word, uint32_t value);

/// Does: wakes all threads that wait on `word`. It does not read the word. Thread: any.
void csched_swift_wake_(uint32_t *word);

/// Returns: whether `error` is EDEADLK, or ECANCELED. With these two functions the Swift module needs no import of the
/// C library for errno values.
bool csched_swift_is_deadlock_error_(int error);
bool csched_swift_is_stopped_error_(int error);
