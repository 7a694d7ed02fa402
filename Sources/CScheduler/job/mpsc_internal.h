// Inspection of a run queue from any thread.
// Depends on: mpsc.h.
#pragma once

#include "../base/text.h"
#include "mpsc.h"

/// At most this many pending jobs of one queue are counted.
enum { CSCHED_DUMP_PENDING = 1000 };

typedef struct csched_mpsc_seen {
  bool is_parked, is_closed;
  bool is_exact;               ///< no job was pushed or popped meanwhile, and all were counted
  size_t pending;              ///< with cancelled entries that are still linked
  const csched_job *first_job; ///< the oldest of them, which may be freed already; NULL: none
} csched_mpsc_seen;

/// Returns: the state of `queue`, with up to `most` jobs counted, while other threads push and pop. Thread: any, also a signal handler.
csched_mpsc_seen csched_mpsc_look_(const csched_mpsc *queue, size_t most);

/// Does: appends `before` and the number of pending jobs to `text`, and stores the first one there.
void csched_text_pending_(csched_text *text, const char *before, csched_mpsc_seen seen);

/// Returns: for how many jobs `counts` returns true, up to `most`. The jobs may be freed: `counts` reads them with csched_os_copy_if_mapped_.
/// Thread: as csched_mpsc_look_.
size_t csched_mpsc_count_(const csched_mpsc *queue, size_t most,
                          bool (*counts)(const csched_job *job, const void *context), const void *context);
