// What SchedulerVirtualTime needs and Swift does not have: something that runs before main, a variable of a thread, a plain thread, and stderr. Private.
#ifndef CSCHEDULER_TESTING_H
#define CSCHEDULER_TESTING_H

#include <stdint.h>

/// Does: writes `text` to the standard error. Thread: any.
void csched_testing_warn_(const char *text);

/// Returns: what the calling thread set last, NULL at first. Thread: any.
void *csched_testing_scope_(void);

/// Does: sets it for the calling thread. Thread: any.
void csched_testing_set_scope_(void *scope);

/// Does: starts a thread that calls `body(context)` and ends. Returns: 0, and in `*thread` what csched_testing_join_ takes; else a positive errno.
int csched_testing_start_(uintptr_t *thread, void (*body)(void *context), void *context);

/// Does: waits until the thread has ended. Once for each thread.
void csched_testing_join_(uintptr_t thread);

#endif
