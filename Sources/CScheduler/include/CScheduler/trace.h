// A trace: what was submitted where, when it ran, and on which thread, in a file that Perfetto and Chrome show.
// Depends on: base.h.
//
// Load the file at ui.perfetto.dev, or at chrome://tracing. It has a track for each thread, and one for each target that something was submitted
// to; a slice for each run, named by the code that it called; an arrow from each submission to its run; a counter of what waits on each target;
// and an instant for each cancel, drop, wake, steal of a forked job, and for each wait of a millisecond or more for a lock.
//
// The program need not be changed: with SCHEDULER_TRACE=FILE in its environment it traces itself from its start to its exit. A "%p" in FILE stands
// for the number of the process. That is not looked at in a program that runs with more rights than its user's.
#ifndef CSCHED_TRACE_H
#define CSCHED_TRACE_H

#include <CScheduler/base.h>

CSCHED_BEGIN_DECLS

/// Does: traces to the file `path` from now on. It is made, or emptied, readable for its owner only; one that is a link, no plain file, or another
/// user's is refused. Who submits and runs never waits for the file: each thread has room for 16384 events; what comes while that is full is left out, and
/// counted in the file, as is the end of a submission that was left out. What waits already is not in it. A thread of its own, "csched-trace", writes it.
/// Returns: 0, or an errno value: EBUSY when a trace is on; ELOOP for a link, EPERM for what is no plain file of this user's; ENOMEM, EAGAIN.
/// In a child of fork the trace is off; the file is the parent's. Thread: any.
int csched_trace_begin(const char *path);

/// Does: ends the trace, and the file. What runs just now is in it as far as it has come. Returns: 0, also when none was on; or the errno value of
/// the first write that failed. Thread: any; it waits for the file.
int csched_trace_end(void);

CSCHED_END_DECLS

#endif
