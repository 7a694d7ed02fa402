// What a trace is made of: events, in a ring for each thread, until the trace's own thread writes them.
// Depends on: observe_internal.h.
#pragma once

#include "observe_internal.h"

/// Something that happened.
typedef struct csched_trace_event {
  csched_time time, span; ///< of a run, or a wait for a lock; of a drop: its reason
  uint64_t id;            ///< of the submission, or an address
  uintptr_t code;
  const csched_figures *figures;
  uint64_t number;  ///< of `figures`, at the time
  uint32_t waiting; ///< on that target
  uint32_t what;    ///< csched_occurrence
  uint32_t thread;
  uint32_t trace; ///< of an end: what was said of the submission; in the ring: the number of the trace
} csched_trace_event;

/// Does: adds the event, with the calling thread, to the ring of its `observer`, if a trace is on; when the ring is full, it counts that. An end is added only where
/// its submission was, and counted where that was lost: so each run in a file has its submission there. Returns: what the end of a submission brings with it.
/// Thread: any, a signal handler, too.
uint32_t csched_trace_add_(csched_observer *observer, csched_trace_event *event);

/// Does: hands each event that is whole in the ring of `observer` to `take`, unless that is NULL, and gives its place back. Thread: one at a time.
void csched_trace_drain_(csched_observer *observer, void (*take)(void *context, const csched_trace_event *event),
                         void *context);
/// Returns: how many found no room in it.
uint64_t csched_trace_lost_(csched_observer *observer);

/// What is written, and what has been written down for that. One thread's at a time.
typedef struct csched_trace_file csched_trace_file;

/// Returns: NULL for want of memory. `start` is the instant 0. Events of other traces than number `trace` are left out.
csched_trace_file *csched_trace_file_make_(int fd, csched_time start, uint32_t trace);
void csched_trace_file_add_(csched_trace_file *file, const csched_trace_event *event);
/// Does: writes what is in the buffer.
void csched_trace_file_flush_(csched_trace_file *file);
/// Does: adds the runs that go on, says how many events were lost, and ends the file. Returns: 0, or the errno value of the first write that failed.
int csched_trace_file_end_(csched_trace_file *file, csched_time now, uint64_t lost);
