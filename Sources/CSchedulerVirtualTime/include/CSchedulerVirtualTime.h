// C functions for SchedulerVirtualTime: a constructor that runs before main, a thread-local variable, a plain thread,
// and stderr. Private.
#ifndef CSCHEDULER_TESTING_H
#define CSCHEDULER_TESTING_H

#include <stdint.h>

/// Does: writes `text` to the standard error. Thread: any.
void csched_testing_warn_(const char *text);

/// Returns: this thread's scope (the VirtualScope whose job the thread runs) that csched_testing_set_scope_ has set;
/// NULL at first. Thread: any.
void *csched_testing_scope_(void);

/// Does: sets this thread's scope; NULL: none. Does not retain `scope`, which must live until the next call. Thread:
/// any.
void csched_testing_set_scope_(void *scope);

/// Does: starts a thread that calls `body(context)` and ends. Returns: 0, and a handle for csched_testing_join_ in
/// `*thread`; else a positive errno.
int csched_testing_start_(uintptr_t *thread, void (*body)(void *context), void *context);

/// Does: waits until the thread has ended. Call it exactly once for each thread that csched_testing_start_ has started.
/// Thread: any other; it blocks.
void csched_testing_join_(uintptr_t thread);

#endif
