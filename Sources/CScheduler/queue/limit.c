// A limited target: runs at most a given number of jobs at a time on its base. A barrier runs alone.
//
// States
//   permit     one of `most` jobs that the limit itself submits to the base. Each submission of a permit runs one user job. FREE: in the list `free`,
//              or never initialised; OUT: from acquire_permit_locked to return_permit
//   first      the user jobs that wait for a permit, oldest first; the lowest bit of a job's `next` is set if the job is a barrier
//   out        the number of permits that are OUT. The structure is freed when `out` is 0 and the handle has been released
//   is_alone   of the limit: the only permit that is OUT has a barrier to run. Of a permit: its user job is that barrier
//
// Invariants
//   LM1  At most `most` jobs run at a time: a job runs only in a permit, and a permit runs one job.
//   LM2  No job waits for ever: a job waits in `first` only while no permit is FREE, or because of a barrier (LM9). Each submission, and each
//        returned permit, assigns the FREE permits to the oldest jobs, under the lock.
//   LM3  The jobs of one thread start in the order of their submission, if the base keeps the order of the permits.
//   LM4  If the base refuses a permit, the permit's user job and all waiting jobs are dropped. A later submission tries the base again. A
//        submission returns the error of its own job only.
//   LM5  The structure is freed once: by the final permit, or by csched_limit_destroy. After the unlock, only a thread that has a permit
//        touches the structure.
//   LM6  If a job is unwound, its permit is returned.
//   LM7  A wait that could never end is refused. With a limit of 1: as for a serial queue. Inside a barrier: a wait for any job of the target. Inside
//        any job of the target: a wait for a barrier. Other waits are allowed, because other permits may continue.
//   LM8  In a child of fork no permit is lost. Permits that threads of the parent were about to submit are submitted. Permits in which such threads
//        ran jobs are returned. A target with an orphaned base stops the process when work is submitted.
//   LM9  A barrier starts when no permit is OUT. No other job starts until the barrier has ended, and no later job starts before the barrier. A
//        cancelled barrier counts as a plain job: it delays no job after the next submission, or the next returned permit.
// Orderings: the lock's; no atomics of its own.
// Assumes: a job may be submitted again only from its `release` on (job.h); so a permit is returned there. No user code is called under the lock.
// Source: a counting semaphore of permits. A permit is like serial.c's drain job, with a batch of one job. The base's capacity is not needed.
// Checked by: "a limited target runs so many at a time, and no more", "a limited target keeps the order of its base", "a limited target whose base is
//   gone drops everything", "a released limited target runs what it has", "a limit below one is an error", "a limited target goes on when a job ends
//   its thread", "a wait inside of a limited target is refused at a limit of one only", "after fork a limited target goes on, or stops the process",
//   "a barrier runs alone, after what was before it", "a barrier that was cancelled holds nothing up", "barriers of many threads are each alone", "a
//   barrier is dropped with its target", "a wait that a barrier keeps from its end is refused".
// Models: checks/limit.c. Not modelled: LM6, LM8.

#include <CScheduler/limit.h>
#include <CScheduler/lock.h>
#include "../job/job_internal.h"
#include "../job/mpsc_internal.h"
#include "../job/observed.h"
#include "../platform/platform.h"
#include "../target/target_internal.h"
#include "queue_internal.h"
#include <errno.h>
#include <stdlib.h>

typedef struct permit {
  csched_job job;         // submitted to the base
  csched_job *job_to_run; // the user job; NULL: it has started, or was dropped
  bool is_out, is_alone;  // true: OUT, false: FREE (States); `job_to_run` is a barrier
} permit;

struct csched_limit {
  csched_target target, barriers; // plain jobs are submitted to `target`, barriers to `barriers`
  csched_target *base;            // permits are submitted to it
  csched_lock lock;               // guards `first` to `is_released`, and `permits`
  csched_job *first, *last;       // list of the user jobs that wait for a permit, oldest first
  csched_job *free;               // list of the FREE permits that were OUT before
  int most, initialised, out;     // numbers of permits: the limit; initialised so far; OUT now
  bool is_alone, is_released;     // a barrier has the only permit that is OUT; csched_limit_destroy was called
  void (*retain)(void *), (*release)(void *); // of `owner`: one retain for each permit that is OUT; or NULL
  void *owner;                                // the user's object that contains the limit: csched_limit_own
  csched_atfork atfork;                       // calls limit_at_fork; also the limit's entry for dumps
  permit permits[];
};

_Static_assert(offsetof(csched_limit, target) == 0, "csched_limit_target is a cast");
_Static_assert(offsetof(permit, job) == 0, "a permit is its job");

static void free_limit(csched_limit *limit) {
  csched_os_atfork_end_(&limit->atfork);
  csched_observe_gone_(&limit->target);
  csched_observe_gone_(&limit->barriers);
  free(limit);
}

// MARK: waiting jobs: a list in which the lowest bit of a link marks its own job as a barrier

enum { BARRIER = 1 }; // the lowest bit of a waiting job's `next`: the job itself is a barrier
static bool is_barrier(const csched_job *waiting) { return ((uintptr_t)waiting->next & BARRIER) != 0; }
static csched_job *next_waiting(const csched_job *waiting) {
  return (csched_job *)((uintptr_t)waiting->next & ~(uintptr_t)BARRIER);
}

// Does: appends `job` to the waiting jobs. `mark`: BARRIER, or 0 for a plain job.
static void append_locked(csched_limit *limit, csched_job *job, unsigned mark) {
  job->next = (csched_job *)(uintptr_t)mark;
  if (limit->first == NULL) limit->first = job;
  else limit->last->next = (csched_job *)((uintptr_t)job | (uintptr_t)limit->last->next); // keeps `last`'s mark
  limit->last = job;
}

// MARK: permits

static const csched_own_job_type permit_type; // defined below

// Does: makes a FREE permit OUT; `alone`: for a barrier. Returns: the permit's job; NULL: all are OUT, or (LM9) one that is OUT must end first.
static csched_job *acquire_permit_locked(csched_limit *limit, bool alone) {
  csched_job *job = limit->free;
  if (limit->is_alone || (alone && limit->out != 0)) return NULL; // LM9: a barrier runs alone
  if (job != NULL) {
    limit->free = job->next;
  } else {                                              // no permit was returned: initialises the next one
    if (limit->initialised == limit->most) return NULL; // LM1: all permits are OUT
    job = &limit->permits[limit->initialised++].job;
    csched_job_init(job, &permit_type.type, limit);
  }
  ((permit *)job)->is_out = true;
  ((permit *)job)->is_alone = limit->is_alone = alone;
  limit->out++;
  return job;
}

// Does: assigns permits to the waiting jobs that may start. A cancelled barrier counts as a plain job. Returns: these permits, linked, in order.
static csched_job *assign_permits_locked(csched_limit *limit) {
  csched_job *permits = NULL, **end = &permits, *first, *acquired;
  while ((first = limit->first) != NULL) { // LM2: uses all FREE permits; LM3: in the jobs' order
    acquired = acquire_permit_locked(limit, is_barrier(first) && !csched_job_is_cancelled_(first)); // LM9: `alone`
    if (acquired == NULL) break;
    limit->first = next_waiting(first);
    ((permit *)acquired)->job_to_run = first;
    *end = acquired;
    end = &acquired->next;
  }
  *end = NULL;
  return permits;
}

// Does: submits the permit `job` to the base. Returns: 0; ECANCELED: the base has refused it, and so drop_permit was called.
static int submit_to_base(csched_limit *limit, csched_job *job) {
  csched_job_submitted_(job, "csched_target_submit"); // required before `deliver` links it
  return limit->base->type->deliver(limit->base, job);
}

// Does: submits the list `permits`, each with a retain of `owner`; `is_kept`: the caller's retain serves one. Returns: the last result: 0, ECANCELED.
static int submit_permits(csched_limit *limit, csched_job *permits, bool is_kept) {
  int error = 0;
  for (csched_job *each = permits; each != NULL && limit->retain != NULL; each = each->next) {
    if (!is_kept) limit->retain(limit->owner);
    is_kept = false;
  }
  for (csched_job *next; permits != NULL; permits = next) { // LM5: the last submission may free `limit`
    next = permits->next; // loaded now: once submitted, the permit may be in another list
    error = submit_to_base(limit, permits);
  }
  return error;
}

// The next three are the `run`, `drop` and `release` of a permit's job.
static void run_permit(csched_job *job) { // LM1: runs the permit's user job; LM7: a barrier on the target `barriers`
  csched_limit *limit = job->context;
  csched_job *job_to_run = ((permit *)job)->job_to_run;
  ((permit *)job)->job_to_run = NULL; // started: in a fork's child, restore_permit must not submit it again
  csched_job_perform_on_(job_to_run, ((permit *)job)->is_alone ? &limit->barriers : &limit->target);
}

static void drop_permit(csched_job *job) { // LM4: the base has refused the permit: drops its job and all waiting
  csched_limit *limit = job->context;
  csched_lock_lock(&limit->lock);
  csched_job *next, *each = ((permit *)job)->job_to_run;
  ((permit *)job)->job_to_run = NULL;
  each->next = limit->first; // a list of the permit's user job, then all waiting jobs
  limit->first = NULL;
  csched_lock_unlock(&limit->lock);
  for (; each != NULL; each = next) {
    next = next_waiting(each);
    csched_job_discard_(each);
  }
}

static void return_permit(csched_job *job) { // makes the permit FREE. LM6: also after its user job was unwound
  csched_limit *limit = job->context;
  void (*release)(void *) = limit->release; // loaded now, because `limit` may be freed before the call
  void *owner = limit->owner;
  if (CSCHED_UNLIKELY(limit->target.type == &csched_target_orphaned_)) return; // LM8: orphaned: no job may start
  csched_lock_lock(&limit->lock);
  ((permit *)job)->is_out = limit->is_alone = false; // LM9: a barrier has ended: others may start
  job->next = limit->free;
  limit->free = job;
  limit->out--;
  csched_job *permits = assign_permits_locked(limit);   // LM2: to the oldest waiting jobs
  bool is_last = limit->out == 0 && limit->is_released; // LM5: the final permit frees the structure
  csched_lock_unlock(&limit->lock);
  if (permits != NULL) {
    submit_permits(limit, permits, true); // LM2; true: one of them inherits the retain of `owner`
    return;
  }
  if (is_last) free_limit(limit);
  if (release != NULL) release(owner);
}

static const csched_own_job_type permit_type = CSCHED_OWN_JOB_TYPE(run_permit, drop_permit, return_permit);

// MARK: submitting

// Does: appends `job`, and submits permits for the jobs that may start. `mark`: BARRIER or 0. Returns: 0; ECANCELED: the base refuses; `job` dropped.
static int deliver_as(csched_limit *limit, csched_job *job, unsigned mark) {
  csched_lock_lock(&limit->lock);
  append_locked(limit, job, mark);
  csched_job *permits = assign_permits_locked(limit); // LM2: to the oldest jobs
  bool has_permit = limit->first == NULL;             // no job waits: `job` has the last of `permits`
  csched_lock_unlock(&limit->lock);
  int error = submit_permits(limit, permits, false);
  return has_permit ? error : 0; // LM4: the error of `job` only; 0: it waits
}

static int deliver_to_limit(csched_target *target, csched_job *job) {
  return deliver_as((csched_limit *)target, job, 0);
}

static int deliver_to_limit_at(csched_target *target, csched_timer *timer, csched_time deadline, csched_time leeway) {
  csched_target *base = ((csched_limit *)target)->base;
  return base->type->deliver_at(base, timer, deadline, leeway); // when due, the base delivers the job to the limit
}

static csched_target *base(const csched_target *target) { return ((const csched_limit *)target)->base; }

// Functions of the target `barriers`, which is a field of the limit. Its base is the limited target, the limit's field `target`.
static csched_target *limited_target_of(const csched_target *barriers) {
  return (csched_target *)((char *)(uintptr_t)barriers - offsetof(csched_limit, barriers));
}

static int deliver_barrier(csched_target *barriers, csched_job *job) {
  return deliver_as((csched_limit *)limited_target_of(barriers), job, BARRIER);
}

static int deliver_barrier_at(csched_target *barriers, csched_timer *timer, csched_time deadline, csched_time leeway) {
  return deliver_to_limit_at(limited_target_of(barriers), timer, deadline, leeway);
}

static bool is_in_barrier(const csched_target *target) { // LM7: then a wait of this thread for any job is refused
  return csched_target_is_inside(&((const csched_limit *)target)->barriers);
}

static bool is_in_any_job(const csched_target *barriers) { // LM7: then a wait of this thread for a barrier is refused
  return csched_target_is_inside(limited_target_of(barriers));
}

// MARK: dumps

static size_t count_waiting_locked(const csched_limit *limit) {
  size_t count = 0;
  for (const csched_job *each = limit->first; each != NULL && count < CSCHED_DUMP_PENDING; each = next_waiting(each))
    count++;
  return count;
}

static void describe_limit(const csched_target *target, csched_text *text) { // for dumps
  csched_limit *limit = (csched_limit *)(uintptr_t)target;
  csched_text_target_(text, "limit", target, "");
  csched_text_add_(text, " on ");
  csched_text_address_(text, limit->base);
  csched_text_add_(text, ": at most ");
  csched_text_number_(text, (uint64_t)limit->most);
  if (csched_target_is_orphaned_(target)) {
    csched_text_add_(text, ", orphaned by fork");
  } else if (!csched_lock_trylock(&limit->lock)) { // a dump does not wait for locks
    csched_text_add_(text, ", just being used");
  } else {
    size_t waiting = count_waiting_locked(limit);
    csched_text_add_(text, ", ");
    csched_text_number_(text, (uint64_t)limit->out);
    csched_text_add_(text, limit->is_alone ? " on their way or running, a barrier" : " on their way or running");
    csched_mpsc_seen seen = {.pending = waiting, .is_exact = waiting < CSCHED_DUMP_PENDING, .first_job = limit->first};
    csched_lock_unlock(&limit->lock);
    csched_text_pending_(text, ", ", seen);
  }
}

static void describe_barriers(const csched_target *barriers, csched_text *text) {
  csched_text_target_(text, "barriers", barriers, "");
  csched_text_add_(text, " of ");
  describe_limit(limited_target_of(barriers), text);
}

// MARK: process forks

// Returns: whether `permit` is queued on the base. A base without `has` cannot be asked: then a submitted permit counts as queued.
static bool is_queued_on_base(const csched_limit *limit, const permit *permit) {
  const csched_target *base = limit->base;
  return csched_job_state_(csched_load_relaxed(&permit->job.word)) == CSCHED_JOB_QUEUED && // LM8: no other thread here
         (base->type->has == NULL || base->type->has(base, &permit->job));
}

// Returns: whether the user job `job` waits for a permit, or has a permit and has not started.
static bool limit_has(const csched_target *target, const csched_job *job) { // LM8: called in a child of fork
  const csched_limit *limit = (const csched_limit *)target;
  const csched_job *each = limit->first;
  while (each != NULL && each != job) each = next_waiting(each);
  for (int i = 0; i < limit->initialised && each == NULL; i++)
    if (limit->permits[i].is_out && limit->permits[i].job_to_run == job) each = job; // limit_at_fork submits the permit
  return each != NULL;
}

static bool has_barrier(const csched_target *barriers, const csched_job *job) {
  return limit_has(limited_target_of(barriers), job);
}

// Does: submits a permit that a thread of the parent was about to submit, or returns it if its job has started. May retain `owner` once too often.
static void restore_permit(csched_limit *limit, permit *permit) { // LM8: no permit is lost in a child
  limit->is_released = false; // else return_permit may free `limit` here; a released one is never freed in the child
  if (limit->retain != NULL) limit->retain(limit->owner);
  csched_job_init(&permit->job, &permit_type.type, limit); // idle again: a thread of the parent had marked or run it
  if (permit->job_to_run != NULL) submit_to_base(limit, &permit->job);
  else return_permit(&permit->job);
}

static void limit_at_fork(csched_atfork *atfork, csched_atfork_phase phase) { // LM8: restores permits in the child
  csched_limit *limit = (csched_limit *)((char *)atfork - offsetof(csched_limit, atfork));
  if (phase == CSCHED_ATFORK_BEFORE) csched_lock_lock(&limit->lock);
  if (phase == CSCHED_ATFORK_IN_PARENT) csched_lock_unlock(&limit->lock);
  if (phase == CSCHED_ATFORK_IN_CHILD_FIRST) limit->lock = (csched_lock)CSCHED_LOCK_INIT; // waiters are in the parent
  if (phase != CSCHED_ATFORK_IN_CHILD_LAST) return;
  limit->target.waits_for = limit->barriers.waits_for = NULL; // the threads that waited are in the parent
  if (csched_target_is_orphaned_(limit->base)) {
    limit->target.type = limit->barriers.type = &csched_target_orphaned_;
    return;
  }
  for (int i = 0; i < limit->initialised; i++) {
    permit *each = &limit->permits[i];
    if (each->is_out && !is_queued_on_base(limit, each) && !csched_job_is_running_here_(&each->job))
      restore_permit(limit, each); // a thread of the parent had it
  }
}

const csched_target *csched_limit_of_atfork_(const csched_atfork *atfork) {
  return atfork->handler == limit_at_fork
             ? (const csched_target *)((const char *)atfork - offsetof(csched_limit, atfork))
             : NULL;
}

// MARK: create and destroy

// Returns: the state of the worker's follow-up, a job to run after the current job: CSCHED_FOLLOW_UP_NONE, …. NULL: the base runs no follow-ups.
static uint32_t *follow_up(const csched_target *target) {
  const csched_target *below = target->type->base(target);
  return below->type->follow_up_ != NULL ? below->type->follow_up_(below) : NULL;
}

// The types of a limit of 1, of a higher limit, and of the target for barriers.
static const csched_target_type exclusive_type = {.deliver = deliver_to_limit,
                                                  .deliver_at = deliver_to_limit_at,
                                                  .base = base,
                                                  .has = limit_has,
                                                  .follow_up_ = follow_up,
                                                  .describe_ = describe_limit,
                                                  .only_enqueues_ = true};
static const csched_target_type concurrent_type = {.deliver = deliver_to_limit,
                                                   .deliver_at = deliver_to_limit_at,
                                                   .base = base,
                                                   .has = limit_has,
                                                   .follow_up_ = follow_up,
                                                   .describe_ = describe_limit,
                                                   .only_enqueues_ = true,
                                                   .is_bound_here = is_in_barrier, // LM7: refuses waits in a barrier
                                                   .is_concurrent_ = true};        // LM7: other waits may end
static const csched_target_type barrier_type = {.deliver = deliver_barrier,
                                                .deliver_at = deliver_barrier_at,
                                                .base = limited_target_of,
                                                .has = has_barrier,
                                                .follow_up_ = follow_up,
                                                .describe_ = describe_barriers,
                                                .is_bound_here = is_in_any_job, // LM7: refuses waits for a barrier
                                                .only_enqueues_ = true};

int csched_limit_create(csched_limit **result, csched_target *base, int most) {
  if (most < 1) return EINVAL;
  if (most > CSCHED_LIMIT_MOST) most = CSCHED_LIMIT_MOST;
  csched_limit *limit = malloc(sizeof *limit + (size_t)most * sizeof(permit)); // unused pages cost no memory
  if (limit == NULL) return ENOMEM;
  *limit = (csched_limit){.base = base, .most = most};
  limit->target.type = most == 1 ? &exclusive_type : &concurrent_type;
  limit->barriers.type = &barrier_type;
  csched_os_atfork_(&limit->atfork, limit_at_fork);
  *result = limit;
  return 0;
}

void csched_limit_own(csched_limit *limit, void (*retain)(void *), void (*release)(void *), void *owner) {
  limit->retain = retain;
  limit->release = release;
  limit->owner = limit->target.owner = owner;
}

csched_target *csched_limit_barrier_target(csched_limit *limit) { return &limit->barriers; }

void csched_limit_destroy(csched_limit *limit) {
  if (CSCHED_UNLIKELY(limit->target.type == &csched_target_orphaned_)) return; // LM8: never freed: permits stay OUT
  csched_lock_lock(&limit->lock);
  limit->is_released = true;
  bool is_last = limit->out == 0; // LM5: else the final permit frees the structure
  csched_lock_unlock(&limit->lock);
  if (is_last) free_limit(limit);
}
