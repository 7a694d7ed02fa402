// An event: merges values from many threads, and passes the result to a handler on one target.
// Depends on: target.h.
//
// If many merges precede the handler's run on the target, the handler is called once, with the merged value. Nothing is
// allocated. A merge into an event whose job already waits in the target is one atomic operation.
#ifndef CSCHED_EVENT_H
#define CSCHED_EVENT_H

#include <CScheduler/target.h>

CSCHED_BEGIN_DECLS

/// How two values are merged.
typedef enum csched_merge {
  CSCHED_MERGE_ADD, ///< the sum, at most CSCHED_EVENT_MOST
  CSCHED_MERGE_OR,  ///< the bitwise or
} csched_merge;

/// The largest value. CSCHED_MERGE_ADD saturates at this value. CSCHED_MERGE_OR discards the two uppermost bits.
#define CSCHED_EVENT_MOST (UINT64_MAX >> 2)

typedef struct csched_event csched_event;

/// An event. The caller owns the memory; initialise it with csched_event_init. All fields except `context` are private.
struct csched_event {
  csched_job job;
  csched_target *target;
  void (*handler)(csched_event *event, uint64_t value);
  void *context;
  uint64_t word; // the merged value, and two flags: values in event.c
  csched_merge merge;
};

/// Does: initialises `event` with nothing merged. `handler` is called on `target`, as a job, with all that was merged
/// since its previous call. The value is never 0, and calls never overlap. Requires: the event is idle, or was never
/// used; the target outlives it.
void csched_event_init(csched_event *event, csched_target *target, csched_merge merge,
                       void (*handler)(csched_event *event, uint64_t value), void *context);

/// Does: merges `value` into the value of the handler's next call; 0 does nothing. The handler sees the caller's
/// earlier writes. Returns: 0; ECANCELED if the event is cancelled, or the target refuses jobs: `value` is then
/// discarded. Thread: any.
int csched_event_merge(csched_event *event, uint64_t value);

/// Does: cancels the event permanently: no handler starts after this has returned. Values that were merged but not
/// passed to the handler are discarded. Returns: as csched_job_cancel (job.h). Thread: any, the handler included.
csched_cancel_result csched_event_cancel(csched_event *event);

/// Does: as csched_event_cancel, and waits until a handler on another thread has ended. Returns: as
/// csched_event_cancel. Thread: any; it may block.
csched_cancel_result csched_event_cancel_and_wait(csched_event *event);

/// Returns: whether no value is merged, and no handler call is queued or running. If true after a cancel, and no thread
/// is in csched_event_merge, the caller owns the memory. The result becomes true slightly after the handler has
/// returned. Thread: any.
bool csched_event_is_idle(const csched_event *event);

CSCHED_END_DECLS

#endif
