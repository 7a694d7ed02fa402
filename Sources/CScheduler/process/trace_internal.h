// The events of a trace, which wait in a ring for each thread until the trace's own thread writes them to the file.
// Depends on: observe_internal.h.
#pragma once

#include "observe_internal.h"

/// An event.
typedef struct csched_trace_event {
  csched_time time, span; ///< `span`: of a run or a wait for a lock; for a drop its reason
  uint64_t id;            ///< of the submission, or an address
  uintptr_t code;
  const csched_figures *figures;
  uint64_t number;  ///< of `figures`, when the event was made
  uint32_t waiting; ///< jobs on that target
  uint32_t what;    ///< csched_occurrence
  uint32_t thread;
  uint32_t trace; ///< in an end: what csched_trace_add_ returned for the submission; in the ring: the trace's number
} csched_trace_event;

/// Does: if a trace is on, adds the event, with the calling thread, to the ring of `observer`; a full ring counts it instead. An end is added only if
/// its submission was added, and counted if that was lost. So each run in a file has its submission there.
/// Returns: `trace` for the end of this submission. Thread: any, also in a signal handler.
uint32_t csched_trace_add_(csched_observer *observer, csched_trace_event *event);

/// Does: passes each complete event in the ring of `observer` to `take`, unless that is NULL, and frees its slot. Thread: one at a time.
void csched_trace_drain_(csched_observer *observer, void (*take)(void *context, const csched_trace_event *event),
                         void *context);
/// Returns: how many events found the ring full.
uint64_t csched_trace_lost_(csched_observer *observer);

/// A file that is being written, with its tables of names and tracks. One thread at a time uses it.
typedef struct csched_trace_file csched_trace_file;

/// Returns: NULL if there is no memory. `start` is time 0 of the file. The file leaves out events of traces other than number `trace`.
csched_trace_file *csched_trace_file_make_(int fd, csched_time start, uint32_t trace);
void csched_trace_file_add_(csched_trace_file *file, const csched_trace_event *event);
/// Does: writes the buffer to the file.
void csched_trace_file_flush_(csched_trace_file *file);
/// Does: adds the runs in progress, unless `now` is 0, and the number of lost events; ends the file, and frees it. Returns: 0, or the errno value of
/// the first write that failed.
int csched_trace_file_end_(csched_trace_file *file, csched_time now, uint64_t lost);
