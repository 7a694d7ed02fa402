// The most recent events of each thread, for csched_recorder_write: see events.c.
// Depends on: trace_internal.h.
#pragma once

#include "trace_internal.h"

/// Does: if events are recorded, adds the event to the ring of `observer`; a full ring loses its oldest. Thread: the
/// owner, also in a signal handler.
void csched_events_add_(csched_observer *observer, const csched_trace_event *event);

/// Does: writes the most recent events of all threads, in the order of time; nothing unless events are recorded.
/// `may_wait`: a write may block.
/// Returns: 0, ENOMEM, or the errno value of the first write that failed.
int csched_events_write_(int fd, bool may_wait);

/// Does: in a child of fork, empties the rings of all threads.
void csched_events_clear_(void);
