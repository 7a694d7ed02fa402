// C functions for SchedulerExecutors: runs Dispatch's main queue in our main loop.
// Depends on: CScheduler. Private.
#ifndef CSCHED_EXECUTORS_H
#define CSCHED_EXECUTORS_H

#include <stdbool.h>

/// Does: makes our main loop run the blocks of Dispatch's main queue from now on, with the two functions that
/// Foundation's run loop uses. Without these functions, does nothing. While Dispatch hosts our main loop, the loop runs
/// no blocks. Returns: 0, or an errno value. Thread: main.
int csched_executors_serve_main_queue_(void);
/// Does: ends that, until the next call of csched_executors_serve_main_queue_. Thread: the main loop's.
void csched_executors_leave_main_queue_(void);

/// Returns: whether Dispatch works in this process: false in a child of fork. Thread: any.
bool csched_executors_may_dispatch_(void);

#endif
