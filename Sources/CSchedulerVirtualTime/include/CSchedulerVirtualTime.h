// What SchedulerVirtualTime needs and Swift does not have: something that runs before main, a variable of a thread, and stderr. Private.
#ifndef CSCHEDULER_TESTING_H
#define CSCHEDULER_TESTING_H

/// Does: writes `text` to the standard error. Thread: any.
void csched_testing_warn_(const char *text);

/// Returns: what the calling thread set last, NULL at first. Thread: any.
void *csched_testing_scope_(void);

/// Does: sets it for the calling thread. Thread: any.
void csched_testing_set_scope_(void *scope);

#endif
