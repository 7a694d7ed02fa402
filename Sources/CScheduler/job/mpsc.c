// A run queue: many threads push jobs; one consumer pops them in order. The consumer parks in the queue before it
// sleeps.
//
// States of head
//   NULL       no jobs in head; the consumer is awake, the queue is open
//   PARKED     no jobs in head; the consumer sleeps or is about to sleep, the queue is open
//   CLOSED     no jobs in head; further pushes are refused
//   job        the newest job, linked to older jobs by `next`, and the oldest to NULL; the consumer is awake, the queue
//              is open
//   job|1      the newest job, as above; further pushes are refused
// `first` is the consumer's own list, oldest first. When it is empty, the consumer moves all jobs of head to it
// (take_all_jobs).
//
// Invariants
//   Q1  Every pushed job is popped exactly once. One producer's jobs are popped in the order of their pushes.
//   Q2  A producer that is preempted inside a push hides no job of other producers: the push is one
//       compare-and-exchange. (A producer that is preempted between its push and the wake of Q3 delays the consumer.)
//   Q3  Each park causes exactly one wake, unless unpark undoes the park. One compare-and-exchange replaces PARKED. If
//       a push, notify or close replaces PARKED, its caller must wake the consumer. If unpark replaces PARKED, no
//       thread wakes the consumer.
//   Q4  A push that does not find PARKED needs no wake: the consumer sees that job before it sleeps, because park
//       succeeds only on NULL.
//   Q5  A notify that ends no park still publishes the notifier's earlier writes: the consumer sees them after its next
//       park. Both modify head.
//   Q6  A closed queue stays closed. Close and push change the same word: a job is refused, or will be popped.
// Orderings
//   push: release, pairs with the consumer's acquire, carries the job; acquire, pairs with park: the wake follows it ·
//   notify and park: acquire and release, carry the caller's earlier writes (Q5) · pop of `first`: plain, only the
//   consumer uses it
// Assumes: one consumer at a time; jobs are aligned to 2 at least.
// Source: Treiber's stack, emptied at once and reversed, as in many mailboxes. The mark of a parked consumer is in the
//   word that a push must read anyway. The exchange-linked queue (Vyukov) was measured and rejected: see
//   Documentation/Internals/Jobs.md, "Run queue".
// Models: checks/mpsc.c.

#include <CScheduler/atomic.h>

#include "../platform/platform.h"
#include "mpsc_internal.h"

static const uintptr_t CLOSED_BIT = 1;

// PARKED is an address that no job has; the lowest bit is free for CLOSED_BIT.
static char parked_mark[2] __attribute__((aligned(2)));
#define PARKED ((csched_job *)(void *)parked_mark)
#define CLOSED ((csched_job *)CLOSED_BIT)

static bool has_closed_bit(const csched_job *head) { return ((uintptr_t)head & CLOSED_BIT) != 0; }
static csched_job *without_closed_bit(csched_job *head) { return (csched_job *)((uintptr_t)head & ~CLOSED_BIT); }

// Does: appends the jobs that `next` links from `newest` to `oldest`. Returns: WAKE: the caller must wake the consumer;
// CLOSED: refused.
csched_push_result csched_mpsc_push_list(csched_mpsc *queue, csched_job *newest, csched_job *oldest) {
  csched_job *head = csched_load_relaxed(&queue->head); // racy read, rechecked by the cas
  do {
    if (CSCHED_UNLIKELY(has_closed_bit(head))) return CSCHED_PUSH_CLOSED; // Q6: else the job might never be popped
    oldest->next = head == PARKED ? NULL : head;
  } while (CSCHED_UNLIKELY(!csched_cas_acq_rel(&queue->head, &head, newest))); // Q1, Q2: pairs with take_all_jobs
  return head == PARKED ? CSCHED_PUSHED_WAKE : CSCHED_PUSHED; // Q3, Q4: an awake consumer sees the jobs before it parks
}

csched_push_result csched_mpsc_push(csched_mpsc *queue, csched_job *job) {
  return csched_mpsc_push_list(queue, job, job);
}

// Does: removes all jobs from head; a closed queue stays closed. Requires: head is not PARKED. Returns: these jobs,
// oldest first; NULL: none.
// The cas is an acquire: this thread then reads what the producers wrote in the jobs.
static CSCHED_NOINLINE csched_job *take_all_jobs(csched_mpsc *queue) {
  csched_job *head = csched_load_relaxed(&queue->head); // racy read, rechecked by the cas
  do {
    if (without_closed_bit(head) == NULL) return NULL;
  } while (!csched_cas_acquire(&queue->head, &head, has_closed_bit(head) ? CLOSED : NULL)); // Q1, Q6: keeps CLOSED
  csched_job *first = NULL; // head's list is newest first: the loop below reverses it
  for (csched_job *job = without_closed_bit(head); job != NULL;) {
    csched_job *older = job->next;
    job->next = first;
    first = job;
    job = older;
  }
  return first;
}

void csched_mpsc_push_late(csched_mpsc *queue, csched_job *job) { // Requires: the queue is closed
  csched_job *head = csched_load_relaxed(&queue->head);           // racy read, rechecked by the cas
  do {
    job->next = without_closed_bit(head);
  } while (
      !csched_cas_release(&queue->head, &head, (csched_job *)((uintptr_t)job | CLOSED_BIT))); // Q1, Q6: stays closed
}

csched_job *csched_mpsc_newest(const csched_mpsc *queue) { // Returns: the newest job; NULL: none. The consumer only
  csched_job *newest =
      csched_mpsc_has_new_jobs(queue) ? without_closed_bit(csched_load_relaxed(&queue->head)) : NULL; // Q1: not read
  for (csched_job *each = newest == NULL ? queue->first : NULL; each != NULL; each = each->next) newest = each;
  return newest;
}

csched_job *csched_mpsc_pop(csched_mpsc *queue) { // removes the oldest job. Returns: NULL: none. The consumer only
  csched_job *job = queue->first;
  if (job == NULL && (job = take_all_jobs(queue)) == NULL) return NULL;
  queue->first = job->next;
  return job;
}

csched_job *csched_mpsc_peek(csched_mpsc *queue) { // Returns: the oldest job, which stays in the queue; NULL: none
  // take_all_jobs may not find PARKED: has_new_jobs is false then, and only the consumer, which calls this, parks.
  if (queue->first == NULL && csched_mpsc_has_new_jobs(queue)) queue->first = take_all_jobs(queue);
  return queue->first;
}

void csched_mpsc_refill_(csched_mpsc *queue, size_t *count) {
  if (queue->first != NULL || csched_mpsc_peek(queue) == NULL) return;
  for (const csched_job *each = queue->first; each != NULL; each = each->next) ++*count; // in the cache: just reversed
}

bool csched_mpsc_has_new_jobs(const csched_mpsc *queue) {
  csched_job *head = csched_load_relaxed(&queue->head); // racy read, rechecked by take_all_jobs
  return head != PARKED && without_closed_bit(head) != NULL;
}

bool csched_mpsc_is_empty(const csched_mpsc *queue) { return queue->first == NULL && !csched_mpsc_has_new_jobs(queue); }

static bool list_has(const csched_job *list, const csched_job *job) {
  while (list != NULL && list != job) list = list->next;
  return list == job;
}

bool csched_mpsc_has(const csched_mpsc *queue, const csched_job *job) { // whether `job` is queued; by the consumer
  csched_job *head = csched_load_relaxed(&queue->head);                 // racy read: no thread pushes
  return list_has(queue->first, job) || (head != PARKED && list_has(without_closed_bit(head), job));
}

bool csched_mpsc_park(csched_mpsc *queue) { // Returns: false: there is a job, or the queue is closed: do not sleep
  csched_job *head = NULL;
  return queue->first == NULL &&
         csched_cas_acq_rel(&queue->head, &head, PARKED); // Q3, Q4, Q5: only on NULL: misses no job
}

bool csched_mpsc_unpark(csched_mpsc *queue) { // Returns: false: another thread has ended the park, and wakes this one
  csched_job *head = PARKED;
  return csched_cas_relaxed(&queue->head, &head, NULL); // Q3: relaxed: publishes nothing; fails after a wake
}

bool csched_mpsc_notify(csched_mpsc *queue) { // Returns: true: the consumer was parked: the caller must wake it
  csched_job *head = csched_load_relaxed(&queue->head);                             // racy read, rechecked by the cas
  while (!csched_cas_acq_rel(&queue->head, &head, head == PARKED ? NULL : head)) {} // Q3, Q5: publishes by the write
  return head == PARKED;
}

bool csched_mpsc_close(csched_mpsc *queue) { // Returns: true: the consumer was parked: the caller must wake it
  csched_job *head = csched_load_relaxed(&queue->head), *closed; // racy read, rechecked by the cas
  do {
    closed = (csched_job *)((uintptr_t)(head == PARKED ? NULL : head) | CLOSED_BIT);
  } while (!csched_cas_acq_rel(&queue->head, &head, closed)); // Q3, Q6: a later push reads this word, and is refused
  return head == PARKED;
}

bool csched_mpsc_is_at_rest(const csched_mpsc *queue) {
  csched_job *head = csched_load_acquire(&queue->head); // Q6: may be old
  return head == PARKED || has_closed_bit(head);
}

bool csched_mpsc_is_closed(const csched_mpsc *queue) {
  return has_closed_bit(csched_load_acquire(&queue->head)); // Q6: true is final; sees the closer's writes
}

// MARK: inspection by other threads

// Inspection reads jobs that may be freed meanwhile: csched_os_copy_if_mapped_ copies each link, and `most` limits the
// walk if a link is garbage.
typedef struct filter {
  bool (*counts)(const csched_job *job, const void *context); // returns: whether to count `job`; NULL: count all jobs
  const void *context;
} filter;

// Returns: how many jobs of the list that begins with `job` pass `filter`, at most `most`. `*last`: the final job that
// it has read.
static size_t count_copied(const csched_job *job, size_t most, filter filter, const csched_job **last) {
  size_t count = 0;
  for (csched_job *next; job != NULL && job != PARKED && count < most; job = next) {
    if (!csched_os_copy_if_mapped_(&next, &job->next, sizeof next)) break;
    *last = job;
    if (filter.counts == NULL || filter.counts(job, filter.context)) count++;
  }
  return count;
}

// Returns: for how many jobs `counts` returns true, up to `most`; 0 if they cannot be read.
size_t csched_mpsc_count_(const csched_mpsc *queue, size_t most, bool (*counts)(const csched_job *, const void *),
                          const void *context) {
  csched_job *head = csched_load_relaxed(&queue->head), *first = NULL; // racy read: the count may be stale
  if (head == PARKED || !csched_os_copy_if_mapped_(&first, &queue->first, sizeof first)) return 0;
  const csched_job *last;
  size_t count = count_copied(first, most, (filter){counts, context}, &last);
  return count + count_copied(without_closed_bit(head), most - count, (filter){counts, context}, &last);
}

// Returns: the queue's state and number of jobs, counted while other threads push and pop. Counts at most `most` jobs.
csched_mpsc_seen csched_mpsc_inspect_(const csched_mpsc *queue, size_t most) {
  csched_mpsc_seen seen = {0};
  csched_job *head = csched_load_relaxed(&queue->head), *first = NULL, *later = NULL; // racy read, rechecked below
  const csched_job *last = NULL;
  seen.is_parked = head == PARKED;
  seen.is_closed = !seen.is_parked && has_closed_bit(head);
  if (seen.is_parked || !csched_os_copy_if_mapped_(&first, &queue->first, sizeof first)) {
    seen.is_exact = seen.is_parked;
    return seen;
  }
  seen.pending = count_copied(first, most, (filter){0}, &last);
  if (seen.pending < most)
    seen.pending += count_copied(without_closed_bit(head), most - seen.pending, (filter){0}, &last);
  seen.first_job = first != NULL ? first : last; // `last`: the oldest of head's list, which is newest first
  seen.is_exact = seen.pending < most && csched_os_copy_if_mapped_(&later, &queue->first, sizeof later) &&
                  later == first && csched_load_relaxed(&queue->head) == head; // racy read: unchanged since the count
  return seen;
}

void csched_text_pending_(csched_text *text, const char *before, csched_mpsc_seen seen) { // "5 pending", after `before`
  csched_text_add_(text, before);
  if (!seen.is_exact) csched_text_add_(text, seen.pending < CSCHED_DUMP_PENDING ? "about " : "at least ");
  csched_text_number_(text, seen.pending);
  csched_text_add_(text, " pending");
  if (text->first_job == NULL) text->first_job = seen.first_job;
}
