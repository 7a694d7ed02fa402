// What the Swift module needs of C besides: a word of its own for each thread, which the language has no way to declare.
// Depends on: target.h. Private.
#ifndef CSCHED_SWIFT_H
#define CSCHED_SWIFT_H

#include <CScheduler/target.h>

#include <errno.h>

CSCHED_BEGIN_DECLS

/// Returns: the calling thread's slot, NULL at first. It lives as long as the thread. Thread: any.
void **csched_swift_drain_slot_(void);

/// Returns: the innermost level of what the thread is in the middle of, and by `outer` those around it. Thread: any.
csched_level *csched_swift_innermost_(void);

/// Does: sleeps until `deadline` (of csched_now). Thread: any.
void csched_swift_sleep_until_(csched_time deadline);

/// Returns: a number that no other living thread has. Thread: any.
uintptr_t csched_swift_thread_(void);

/// Returns: whether `error` is EDEADLK, which the module would have to import the C library for.
CSCHED_INLINE bool csched_swift_is_deadlock_(int error) { return error == EDEADLK; }

CSCHED_END_DECLS

#endif
