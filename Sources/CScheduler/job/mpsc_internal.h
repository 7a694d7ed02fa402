// Inspection of a run queue from any thread.
// Depends on: mpsc.h.
#pragma once

#include "../base/text.h"
#include "mpsc.h"

/// Dumps count at most this many pending jobs of a queue.
enum { CSCHED_DUMP_PENDING = 1000 };

typedef struct csched_mpsc_seen {
  bool is_parked, is_closed;
  bool is_exact;               ///< no job was pushed or popped during the count, and all jobs were counted
  size_t pending;              ///< count of linked jobs, including cancelled entries
  const csched_job *first_job; ///< the oldest linked job, which may be freed already; NULL: none
} csched_mpsc_seen;

/// Returns: the state of `queue`, with up to `most` jobs counted, while other threads push and pop. Thread: any, also a
/// signal handler.
csched_mpsc_seen csched_mpsc_inspect_(const csched_mpsc *queue, size_t most);
/// Does: appends `before` and the number of pending jobs to `text`. Sets `text->first_job` to the first pending job,
/// unless it is set already.
void csched_text_pending_(csched_text *text, const char *before, csched_mpsc_seen seen);

/// Does: if the consumer's own list (`first`) is empty, moves all pushed jobs to it, and adds their number to `*count`.
/// Thread: the consumer.
void csched_mpsc_refill_(csched_mpsc *queue, size_t *count);

/// Returns: for how many jobs `counts` returns true, up to `most`. The jobs may be freed: `counts` must read them with
/// csched_os_copy_if_mapped_.
/// Thread: any, also a signal handler.
size_t csched_mpsc_count_(const csched_mpsc *queue, size_t most,
                          bool (*counts)(const csched_job *job, const void *context), const void *context);
