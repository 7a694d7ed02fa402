// A run queue: many threads push jobs, one thread pops them.
// Depends on: job.h.
//
// Lock-free and intrusive; the order of one producer's jobs is preserved. A push is one compare-and-exchange, so a
// producer that is preempted in a push delays no other thread. The queue records whether its consumer is parked:
// asleep, or about to sleep. After each park, exactly one push, csched_mpsc_notify or csched_mpsc_close returns that
// its caller must wake the consumer.
#pragma once

#include <CScheduler/job.h>

/// The queue. All zero is empty and open; csched_mpsc_init sets that. The queue does not own the jobs' memory. `head`
/// and `first` are on two cache lines, at any alignment of the queue: on one line, each pop would fetch the line from
/// the producers, and each push from the consumer.
typedef struct csched_mpsc {
  csched_job *head; ///< shared: a list, newest first, or a state without jobs (mpsc.c)
  char apart[CSCHED_CACHE_LINE - sizeof(csched_job *)];
  csched_job *first; ///< the consumer's own list, oldest first
} csched_mpsc;

CSCHED_STATIC_ASSERT(offsetof(csched_mpsc, first) - offsetof(csched_mpsc, head) == CSCHED_CACHE_LINE,
                     "the two ends are never on one line");

typedef enum csched_push_result {
  CSCHED_PUSHED,      ///< queued; the consumer is awake
  CSCHED_PUSHED_WAKE, ///< queued; the consumer was parked: the caller must wake it
  CSCHED_PUSH_CLOSED, ///< refused: the queue is closed; the job is untouched
} csched_push_result;

/// Does: makes an empty, open queue. Thread: any, before it is shared.
CSCHED_INLINE void csched_mpsc_init(csched_mpsc *queue) {
  CSCHED_NEEDS_ABI();
  queue->head = NULL;
  queue->first = NULL;
}

/// Does: appends `job`. Requires: the job is in no queue. Thread: any. Lock-free.
csched_push_result csched_mpsc_push(csched_mpsc *queue, csched_job *job);
/// Does: appends the jobs that are linked by `next` from `newest` to `oldest`, at once. Requires: they are in no queue.
/// Thread: any. Lock-free.
csched_push_result csched_mpsc_push_list(csched_mpsc *queue, csched_job *newest, csched_job *oldest);
/// Does: removes the oldest job. Returns: that job, or NULL if there is none. Thread: the consumer.
csched_job *csched_mpsc_pop(csched_mpsc *queue);
/// Returns: the oldest job, without removing it; NULL if there is none. The queue may be parked, and stays parked.
/// Thread: the consumer.
csched_job *csched_mpsc_peek(csched_mpsc *queue);
/// Returns: whether a pop would return NULL. Thread: the consumer.
bool csched_mpsc_is_empty(const csched_mpsc *queue);
/// Returns: whether `head` has jobs that the consumer has not moved to its own list yet; the result may be stale.
/// Thread: any.
bool csched_mpsc_has_new_jobs(const csched_mpsc *queue);
/// Returns: whether `job` is in the queue; O(n). Thread: the consumer, while no thread pushes.
bool csched_mpsc_has(const csched_mpsc *queue, const csched_job *job);
/// Does: parks: announces that the consumer is about to sleep. Returns: false, without a change, if there is a job or
/// the queue is closed. After true: check again all other reasons not to sleep, wait for the wake, then call
/// csched_mpsc_unpark. Thread: the consumer.
bool csched_mpsc_park(csched_mpsc *queue);
/// Does: undoes csched_mpsc_park. Returns: false if a push, csched_mpsc_notify or csched_mpsc_close has already ended
/// the park: its caller has woken the consumer, or will. Thread: the consumer.
bool csched_mpsc_unpark(csched_mpsc *queue);
/// Does: ends the park of a parked consumer, or else makes the caller's earlier writes visible to the consumer after
/// its next park. Returns: whether the consumer was parked: the caller must then wake it. Thread: any. Lock-free.
bool csched_mpsc_notify(csched_mpsc *queue);
/// Does: refuses later pushes; earlier jobs can be popped. Returns: whether the consumer was parked: the caller must
/// wake it. Thread: any.
bool csched_mpsc_close(csched_mpsc *queue);
/// Does: pushes `job` to a closed queue. Requires: the caller knows that the consumer will pop it. Thread: any.
void csched_mpsc_push_late(csched_mpsc *queue, csched_job *job);
/// Returns: the newest job of the queue, which a pop returns last; NULL: the queue is empty. Thread: the consumer.
csched_job *csched_mpsc_newest(const csched_mpsc *queue);
/// Returns: whether the consumer is parked, or the queue has been closed; the result may be stale. Thread: any.
bool csched_mpsc_is_at_rest(const csched_mpsc *queue);
/// Returns: whether the queue has been closed. Thread: any.
bool csched_mpsc_is_closed(const csched_mpsc *queue);
