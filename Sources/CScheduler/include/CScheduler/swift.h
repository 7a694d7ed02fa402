// What the Swift module needs of C besides: a word of its own for each thread, what it is inside of, a way to sleep, and to stop the process.
// Depends on: loop_fd.h, target.h. Private.
#ifndef CSCHED_SWIFT_H
#define CSCHED_SWIFT_H

#include <CScheduler/loop_fd.h>
#include <CScheduler/target.h>

CSCHED_BEGIN_DECLS

/// Returns: the calling thread's slot, NULL at first. It lives as long as the thread. Thread: any.
void **csched_swift_drain_slot_(void);

/// Returns: the innermost level of what the thread is in the middle of, and by `outer` those around it. Thread: any.
csched_level *csched_swift_innermost_(void);

/// Whether others may have to wait for what a thread is in the middle of: a job of a queue, a loop or a limit.
typedef enum csched_swift_holding {
  CSCHED_SWIFT_HOLDS_NOTHING,
  CSCHED_SWIFT_HOLDS,
  CSCHED_SWIFT_LEAVES_QUEUE, ///< Queues on a pool, which this thread leaves when the present job returns.
} csched_swift_holding;

/// Returns: what this thread holds. `*target` is where a job runs outside of that: the pool that the thread belongs to, or NULL, which stands for the
/// shared one. Inside of virtual time it holds nothing: its tasks go on on the thread that drives it. `last_of`, unless NULL: the caller is a job
/// of that target, which calls nothing of the user's any more. Thread: any.
csched_swift_holding csched_swift_holds_(const csched_target *last_of, csched_target **target);

/// Does: submits `job` to the pool `target`, to run on this thread when it has left the queue. Nothing is woken for it. Requires: CSCHED_SWIFT_LEAVES_QUEUE.
int csched_swift_submit_follow_up_(csched_target *target, csched_job *job);

/// What a thread has put off to the end of the drop that it is inside of.
typedef struct csched_swift_discards {
  csched_job *first, *last;
  bool is_inside;
} csched_swift_discards;

/// Does: has what is dropped on this thread from now on wait for csched_swift_discards_end_, which drops it, and gives the thread back what had been put off
/// before. Between the two the thread is inside of a drop observer, which does not observe these drops.
csched_swift_discards csched_swift_discards_begin_(void);
void csched_swift_discards_end_(csched_swift_discards outer);

/// Does: begins what is no drop of a job, but as flat as one. Returns: whether the thread was inside of none: then csched_swift_discards_leave_ is to follow.
bool csched_swift_discards_enter_(void);
void csched_swift_discards_leave_(void);

/// Returns: whether the thread is inside of the drop of a job; `*reason` is then why. Thread: any.
/// Returns: whether the thread is between the two, or inside of the drop of a job. Thread: any.
bool csched_swift_discards_are_here_(void);

/// Does: has what `of` returns for a job whose drop is put off kept until that drop. Once, before anything is submitted.
void csched_swift_on_put_off_(const void *(*of)(const csched_job *job), void (*retain)(const void *owner),
                              void (*release)(const void *owner));

/// Returns: whether the thread is inside of the drop of a job; `*reason` is then why. Thread: any.
bool csched_swift_discards_reason_(csched_drop_reason *reason);

/// Does: notes whether the caller of what this thread submits from now on learns of a refusal, so that no line says it. Returns: what was noted before,
/// false at first. Thread: any.
bool csched_swift_tell_refusals_(bool are_told);
/// Returns: what is noted. Thread: any.
bool csched_swift_are_refusals_told_(void);

/// Does: notes for whom this thread submits from now on: a task that sleeps until then; NULL: for none. Returns: what was noted before. Thread: any.
void *csched_swift_note_sleeper_(void *sleeper);
/// Returns: what is noted. Thread: any.
void *csched_swift_sleeper_(void);

/// Does: sleeps until `deadline` (of csched_now). Thread: any.
void csched_swift_sleep_until_(csched_time deadline);

/// Returns: a number that no other living thread has. Thread: any.
uintptr_t csched_swift_thread_(void);

/// Does: has observers know what jobs of `type` call: its address is at `offset` in each; so it is in `context`, and 1 with it, where that is odd. Thread: any.
void csched_swift_observe_(const struct csched_job_type *type, size_t offset);

/// Does: writes `text`, which ends its line, to standard error, whatever its length, and aborts. Thread: any.
void csched_swift_stop_(const char *text) CSCHED_NORETURN;

/// Does: sleeps while `*word` is `value`, until it is woken; it may return early. Thread: any.
void csched_swift_wait_(uint32_t *word, uint32_t value);

/// Does: wakes all that wait on `word`, which is not read. Thread: any.
void csched_swift_wake_(uint32_t *word);

/// Returns: whether `error` is EDEADLK, which the module would have to import the C library for.
bool csched_swift_is_deadlock_(int error);

/// Returns: the same for ECANCELED.
bool csched_swift_is_stopped_(int error);

/// Does: as csched_loop_add_fd and csched_loop_remove_fd of a source for `fd`; but where another source of the loop waits for that, it gets a
/// copy of the descriptor, which is closed when it is removed. Thread: the loop's.
int csched_swift_add_fd_(csched_loop *loop, csched_fd_source *source);
int csched_swift_remove_fd_(csched_loop *loop, csched_fd_source *source, int fd);
/// Does: closes the copy, if there is one, of a source that was removed. Thread: the loop's.
void csched_swift_end_fd_(csched_fd_source *source, int fd);

CSCHED_END_DECLS

#endif
