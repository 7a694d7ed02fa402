// An event that threads tell of, and that one target hears of: what comes while it is busy is merged.
// Depends on: target.h.
//
// A thousand merges before the target comes to it are one call of the handler. Nothing is allocated, and a merge into an event
// that waits is one atomic operation.
#ifndef CSCHED_EVENT_H
#define CSCHED_EVENT_H

#include <CScheduler/target.h>

CSCHED_BEGIN_DECLS

/// How values become one.
typedef enum csched_merge {
  CSCHED_MERGE_ADD, ///< their sum, at most CSCHED_EVENT_MOST
  CSCHED_MERGE_OR,  ///< their bits
} csched_merge;

/// The largest value. What is larger counts as this when it is added, and loses its two uppermost bits when it is or'ed.
#define CSCHED_EVENT_MOST (UINT64_MAX >> 2)

typedef struct csched_event csched_event;

/// An event. The caller owns the memory; initialise it with csched_event_init. Its fields but `context` are private.
struct csched_event {
  csched_job job;
  csched_target *target;
  void (*handler)(csched_event *event, uint64_t value);
  void *context;
  uint64_t word;
  csched_merge merge;
};

/// Does: makes `event` one that has not come. `handler` is called on `target`, as a job, with all that was merged since the last call, never 0, and never
/// by two threads at a time. Requires: it is idle, or was never used; the target outlives it.
void csched_event_init(csched_event *event, csched_target *target, csched_merge merge,
                       void (*handler)(csched_event *event, uint64_t value), void *context);

/// Does: merges `value` into what the handler is told next; 0 does nothing. What came before is visible to the handler.
/// Returns: 0; ECANCELED when the event is cancelled, or its target takes no more: the value is gone. Thread: any.
int csched_event_merge(csched_event *event, uint64_t value);

/// Does: cancels the event for good: once this has returned the handler does not begin any more. What was merged and not told is gone.
/// Returns: as csched_job_cancel. Thread: any, the handler included.
csched_cancel_result csched_event_cancel(csched_event *event);

/// Does: the same, and waits until a handler that is running on another thread has ended. Thread: any; it may block.
csched_cancel_result csched_event_cancel_and_wait(csched_event *event);

/// Returns: whether nothing is merged, queued or running: after a cancel, and when no thread is in csched_event_merge, the memory is the
/// caller's. It is a little later than the end of the handler. Thread: any.
bool csched_event_is_idle(const csched_event *event);

CSCHED_END_DECLS

#endif
