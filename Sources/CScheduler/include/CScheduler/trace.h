// A trace: records submissions and runs of all threads in a file that Perfetto and Chrome display.
// Depends on: base.h.
//
// Load the file at ui.perfetto.dev or chrome://tracing. It has a track for each thread, and one for each target that
// got a submission. Each run of a job is a slice, named by the function that the job called. An arrow leads from each
// submission to its run. A counter shows how many jobs wait on each target. Instants mark each cancel, drop, wake and
// steal of a spawned job, and each wait of a millisecond or more for a lock.
//
// You need not change the program: with SCHEDULER_TRACE=FILE in its environment it traces itself from start to exit. A
// "%p" in FILE is replaced by the process id. A program that runs with more rights than its user ignores the variable.
#ifndef CSCHED_TRACE_H
#define CSCHED_TRACE_H

#include <CScheduler/base.h>

CSCHED_BEGIN_DECLS

/// Does: starts a trace to the file `path`. The file is created or emptied, readable by its owner only. Submitting and
/// running never wait for the file: a thread of the library, "csched-trace", writes it. Each thread has a buffer of
/// 16384 events. When a buffer is full, events are lost, and the file contains their number. If a submission is lost,
/// the end of its job counts as lost, too. Jobs that already wait at the start are not recorded. Returns: 0, or an
/// errno value: EBUSY when a trace is on; ELOOP for a link; EPERM when it is not a regular file of this user; ENOMEM,
/// EAGAIN. In a child of fork the trace is off; the file is the parent's. Thread: any.
int csched_trace_begin(const char *path);

/// Does: ends the trace and closes the file. A job that is running is recorded up to this call. Returns: 0, also when
/// no trace was on; otherwise the errno value of the first write that failed. Thread: any; it waits until the file is
/// written.
int csched_trace_end(void);

CSCHED_END_DECLS

#endif
