// A look at a run queue from outside.
// Depends on: mpsc.h.
#pragma once

#include <CScheduler/mpsc.h>

typedef struct csched_mpsc_seen {
  bool is_parked, is_closed;
  bool is_exact;  ///< nothing has come or gone meanwhile, and all has been counted
  size_t pending; ///< cancelled ones that are still linked, too
} csched_mpsc_seen;

/// Does: looks at `queue`, and counts what is in it, up to `most`, while others push and pop. Thread: any, a signal handler, too.
csched_mpsc_seen csched_mpsc_look_(const csched_mpsc *queue, size_t most);

/// Does: counts those for which `counts` says so, up to `most`. It is given the address of each, whose memory may be gone: csched_os_peek_. Thread: as
/// csched_mpsc_look_.
size_t csched_mpsc_count_(const csched_mpsc *queue, size_t most,
                          bool (*counts)(const csched_job *job, const void *context), const void *context);
