// C functions for SchedulerExecutors: runs Dispatch's main queue in our main loop.
// Depends on: CScheduler. Private.
#ifndef CSCHED_EXECUTORS_H
#define CSCHED_EXECUTORS_H

/// Does: makes our main loop run the blocks of Dispatch's main queue from now on, with the two functions that Foundation's run loop uses. Without
/// these functions, does nothing. While Dispatch hosts our main loop, the loop runs no blocks. Returns: 0, or an errno value. Thread: main.
int csched_executors_serve_main_queue_(void);

#endif
