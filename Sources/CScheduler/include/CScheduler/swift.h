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
