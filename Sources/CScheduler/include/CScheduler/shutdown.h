// Frees the library's global resources at the end of a program.
// Depends on: loop.h.
#ifndef CSCHED_SHUTDOWN_H
#define CSCHED_SHUTDOWN_H

#include <CScheduler/loop.h>

CSCHED_BEGIN_DECLS

/// Does: frees the memory that the library uses until the process ends, so that leak checkers report none of it. It
/// ends: the calling thread's trampoline; the thread for other clocks (clock.h), whose waiting timers are dropped; the
/// main loop, whose outstanding work is run or dropped as `policy` says; and memory of finished tasks (csched_trim).
/// Make this the final call, after your threads and pools were stopped and joined.
///
/// Other threads free their own memory when they end. The main loop is closed permanently: later submissions to it are
/// dropped and return ECANCELED. A later use of the trampoline creates it again. On any thread but the main thread,
/// this only closes the main loop; its jobs wait until the main thread runs the loop or calls csched_shutdown. It may
/// be called any number of times. In a Swift program whose tasks all run on this library (SchedulerExecutors), it stops
/// the process with a message. Thread: any, outside jobs; inside a job it stops the process with a message.
void csched_shutdown(csched_stop_policy policy);

CSCHED_END_DECLS

#endif
