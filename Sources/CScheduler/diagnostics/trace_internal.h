// The events of a trace: each thread has a ring of events, and the writer thread (trace.c) moves them to the file.
// Depends on: observe_internal.h.
#pragma once

#include "observe_internal.h"

/// An event: for the trace, and for the recent events (events.c).
typedef struct csched_trace_event {
  csched_time time, span;        ///< when (a run: its start); duration of a run or a lock wait, or a drop's reason
  uint64_t id;                   ///< number of the submission; for a wake, a steal or a lock wait an address
  uintptr_t code;                ///< the user's function that the job calls
  const csched_figures *figures; ///< counts of the target, with its name; NULL: none
  uint64_t number;               ///< the number of `figures` when the event was made; 0: no target
  uint32_t waiting;              ///< how many jobs wait on the target
  uint32_t what;                 ///< csched_occurrence
  uint32_t thread;               ///< the system's number, set when the event is added
  uint32_t trace; ///< what csched_trace_add_ returned for the submission; in a ring: the number of the trace
} csched_trace_event;

/// Does: if a trace is on, adds the event, with the calling thread, to the ring of `observer`; if the ring is full,
/// counts the event as lost. The end of a submission (run, cancel or drop) is added only if the submission was added;
/// if the submission was lost, the end counts as lost. So each run in a file has its submission there. Returns: the
/// `trace` that the end of this submission must contain. Thread: any, also in a signal handler.
uint32_t csched_trace_add_(csched_observer *observer, csched_trace_event *event);

/// Does: removes complete events from the ring of `observer`, oldest first, and calls `consume` (unless NULL) for each.
/// Thread: one at a time.
void csched_trace_drain_(csched_observer *observer, void (*consume)(void *context, const csched_trace_event *event),
                         void *context);
/// Returns: how many events were lost because the ring of `observer` was full, since the process started.
uint64_t csched_trace_lost_(csched_observer *observer);

/// An open trace file, with its tables of names and tracks. One thread at a time uses it.
typedef struct csched_trace_file csched_trace_file;

/// Returns: a new file; NULL without memory. `start` is time 0 of the file. The file contains only events of the trace
/// number `trace`.
csched_trace_file *csched_trace_file_make_(int fd, csched_time start, uint32_t trace);
/// Does: adds the event to the buffer, as lines of JSON; a full buffer is written first.
void csched_trace_file_add_(csched_trace_file *file, const csched_trace_event *event);
/// Does: writes the buffer to the file.
void csched_trace_file_flush_(csched_trace_file *file);
/// Does: adds the runs in progress, unless `now` is 0, and the number of lost events. Completes and frees the file.
/// Returns: 0, or the errno value of the first write that failed.
int csched_trace_file_end_(csched_trace_file *file, csched_time now, uint64_t lost);
