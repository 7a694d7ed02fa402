// The events of a trace: each thread has a ring of events, and the writer thread (trace.c) moves them to the file.
// Depends on: observe_internal.h.
#pragma once

#include "observe_internal.h"

typedef struct csched_trace_event {
  csched_time time, span; ///< `span`: duration of a run or a wait for a lock; for a drop its reason
  uint64_t id;            ///< the submission's number; for a wake, a steal and a lock an address
  uintptr_t code;
  const csched_figures *figures;
  uint64_t number;  ///< of `figures`, when the event was made
  uint32_t waiting; ///< how many jobs wait on that target
  uint32_t what;    ///< csched_occurrence
  uint32_t thread;
  uint32_t trace; ///< in an end: what csched_trace_add_ returned for the submission; in the ring: the trace's number
} csched_trace_event;

/// Does: if a trace is on, adds the event, with the calling thread, to the ring of `observer`; if the ring is full, counts the event as lost. An end
/// is added only if its submission was added; if its submission was lost, the end counts as lost. So each run in a file has its submission there.
/// Returns: the `trace` that the end of this submission must contain. Thread: any, also in a signal handler.
uint32_t csched_trace_add_(csched_observer *observer, csched_trace_event *event);

/// Does: calls `take`, unless it is NULL, for each complete event in the ring of `observer`, and frees the event's slot. Thread: one at a time.
void csched_trace_drain_(csched_observer *observer, void (*take)(void *context, const csched_trace_event *event),
                         void *context);
/// Returns: how many events were lost because the ring of `observer` was full.
uint64_t csched_trace_lost_(csched_observer *observer);

/// An open trace file, with its tables of names and tracks. One thread at a time uses it.
typedef struct csched_trace_file csched_trace_file;

/// Returns: a new file; NULL without memory. `start` is time 0 of the file. The file contains only events of the trace number `trace`.
csched_trace_file *csched_trace_file_make_(int fd, csched_time start, uint32_t trace);
void csched_trace_file_add_(csched_trace_file *file, const csched_trace_event *event);
/// Does: writes the buffer to the file.
void csched_trace_file_flush_(csched_trace_file *file);
/// Does: adds the runs in progress, unless `now` is 0, and the number of lost events. Completes and frees the file. Returns: 0, or the errno value of
/// the first write that failed.
int csched_trace_file_end_(csched_trace_file *file, csched_time now, uint64_t lost);
