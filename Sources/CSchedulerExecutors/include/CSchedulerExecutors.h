// What SchedulerExecutors needs of C: Dispatch's main queue in our main loop.
// Depends on: CScheduler. Private.
#ifndef CSCHED_EXECUTORS_H
#define CSCHED_EXECUTORS_H

/// Does: has our main loop run what is submitted to Dispatch's main queue, from now on, as Foundation's run loop does: by the same two functions
/// of Dispatch. Does nothing where Dispatch has none of them, and while it is our main loop's host. Returns: 0, or an errno value. Thread: the main one.
int csched_executors_serve_main_queue_(void);

#endif
