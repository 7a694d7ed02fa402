// A run queue: many threads push, one thread takes.
// Depends on: job.h.
//
// Lock-free and intrusive; jobs of one producer keep their order. A push is one compare-and-exchange, so a producer that is
// stopped in the middle of one holds nothing up. The queue knows whether its consumer sleeps: exactly one push (or csched_mpsc_notify)
// per sleep is told to wake it.
#ifndef CSCHED_MPSC_H
#define CSCHED_MPSC_H

#include <CScheduler/job.h>

CSCHED_BEGIN_DECLS

/// The queue. All zero is empty and open; csched_mpsc_init does that. It owns none of the jobs' memory. Its two ends are on two lines of the
/// cache, wherever the queue begins: else each pop would wait for the line that the producers have, and each push for the consumer's.
typedef struct csched_mpsc {
  csched_job *head; ///< shared: newest first, or one of the marks in mpsc.c
  char apart[CSCHED_CACHE_LINE - sizeof(csched_job *)];
  csched_job *first; ///< the consumer's: oldest first
} csched_mpsc;

CSCHED_STATIC_ASSERT(offsetof(csched_mpsc, first) - offsetof(csched_mpsc, head) == CSCHED_CACHE_LINE,
                     "the two ends are never on one line");

typedef enum csched_push_result {
  CSCHED_PUSHED,      ///< queued; the consumer is awake
  CSCHED_PUSHED_WAKE, ///< queued; the consumer was parked: the caller owes it a wake
  CSCHED_PUSH_CLOSED, ///< refused: the queue is closed; the job is untouched
} csched_push_result;

/// Does: makes an empty, open queue. Thread: before it is shared.
CSCHED_INLINE void csched_mpsc_init(csched_mpsc *queue) {
  CSCHED_NEEDS_ABI();
  queue->head = NULL;
  queue->first = NULL;
}

/// Does: appends `job`. Requires: the job is in no queue. Thread: any. Lock-free.
csched_push_result csched_mpsc_push(csched_mpsc *queue, csched_job *job);

/// Does: appends a list of jobs at once: `newest` is linked by `next` to the older ones, as far as `oldest`.
/// Requires: the jobs are in no queue. Thread: any. Lock-free.
csched_push_result csched_mpsc_push_list(csched_mpsc *queue, csched_job *newest, csched_job *oldest);

/// Does: takes the oldest job. Returns: NULL when there is none. Thread: the consumer.
csched_job *csched_mpsc_pop(csched_mpsc *queue);

/// Returns: the oldest job, which stays where it is; NULL when there is none, as in a queue that is parked. Thread: the consumer.
csched_job *csched_mpsc_peek(csched_mpsc *queue);

/// Returns: whether a pop would find nothing. Thread: the consumer.
bool csched_mpsc_is_empty(const csched_mpsc *queue);

/// Returns: whether there seems to be something that was pushed and that the consumer has not come to yet; it may be stale. Thread: any.
bool csched_mpsc_has_news(const csched_mpsc *queue);

/// Returns: whether `job` is in the queue; in as many steps as it is long. Thread: the consumer, while nobody pushes.
bool csched_mpsc_has(const csched_mpsc *queue, const csched_job *job);

/// Does: announces that the consumer is about to sleep. Returns: false, and announces nothing, when there is something to
/// take or the queue is closed. Thread: the consumer. After true: look once more at whatever else could end the sleep,
/// wait for the wake, then csched_mpsc_unpark.
bool csched_mpsc_park(csched_mpsc *queue);

/// Does: takes the announcement back. Returns: false when a push or csched_mpsc_notify has done so already, whose wake is then on its
/// way. Thread: the consumer.
bool csched_mpsc_unpark(csched_mpsc *queue);

/// Does: makes what the caller wrote before visible to a consumer that parks later, or else unparks it.
/// Returns: whether it was parked: the caller then owes it a wake. Thread: any. Lock-free.
bool csched_mpsc_notify(csched_mpsc *queue);

/// Does: refuses every later push. What was pushed before can still be popped. Returns: whether the consumer was parked: the
/// caller then owes it a wake. Thread: any, any number of times.
bool csched_mpsc_close(csched_mpsc *queue);

/// Returns: whether the queue has been closed. Thread: any.
bool csched_mpsc_is_closed(const csched_mpsc *queue);

CSCHED_END_DECLS

#endif
