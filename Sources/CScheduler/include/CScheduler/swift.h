// What the Swift module needs of C besides: a word of its own for each thread, what it is inside of, a way to sleep, and to stop the process.
// Depends on: target.h. Private.
#ifndef CSCHED_SWIFT_H
#define CSCHED_SWIFT_H

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

/// Does: writes `text`, which ends its line, to standard error, whatever its length, and aborts. Thread: any.
void csched_swift_stop_(const char *text) CSCHED_NORETURN;

/// Does: sleeps while `*word` is `value`, until it is woken; it may return early. Thread: any.
void csched_swift_wait_(uint32_t *word, uint32_t value);

/// Does: wakes all that wait on `word`, which is not read. Thread: any.
void csched_swift_wake_(uint32_t *word);

/// Returns: whether `error` is EDEADLK, which the module would have to import the C library for.
bool csched_swift_is_deadlock_(int error);

CSCHED_END_DECLS

#endif
