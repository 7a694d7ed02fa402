// The end of a program.
// Depends on: loop.h.
#ifndef CSCHED_SHUTDOWN_H
#define CSCHED_SHUTDOWN_H

#include <CScheduler/loop.h>

CSCHED_BEGIN_DECLS

/// Does: gives back what outlives its last use, so that a tool that looks for leaks finds nothing of ours: the calling thread's
/// trampoline, the thread that keeps the time of other clocks (clock.h), and the main loop, whose outstanding work gets what `policy` says;
/// what waits on those clocks is dropped; and memory of tasks that are over (csched_trim). The last thing a program does, after it has
/// stopped and joined its threads and pools.
///
/// What other threads keep for themselves they give back when they end. The main loop is closed for good: what is submitted to it
/// afterwards is dropped and answered with ECANCELED. A trampoline that is used afterwards is made anew.
/// Thread: any, outside of jobs: inside of one it stops the process with a message. On another thread than the main one the main
/// loop is closed only; its jobs wait for the main thread to run it, or to call this. Any number of times. In a Swift program whose tasks
/// all run here (SchedulerExecutors) it stops the process with a message.
void csched_shutdown(csched_stop_policy policy);

CSCHED_END_DECLS

#endif
