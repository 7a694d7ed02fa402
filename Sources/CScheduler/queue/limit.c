// A limited target: runs at most a given number of jobs at a time on its base. A barrier runs alone.
//
// States
//   permit     one of `most` jobs that the limit itself submits to the base. A permit runs one user job at a time. IN
//              USE: from acquire_permit_locked until its user job has ended. LINKED: submitted to the base, until that
//              run has ended. STALE: LINKED, but not IN USE, because a helper (LM10) has run its user job. FREE:
//              neither; it is in the list `free`, or was never initialised
//   first      the user jobs that wait for a permit, oldest first; the lowest bit of a job's `next` is set if the job
//              is a barrier
//   waiting    the number of jobs in `first`. FULL: it is not below `bound`, and the next job would not get a permit
//   in_use     the number of permits that are IN USE
//   stale      the number of permits that are STALE. The structure is freed when all are FREE and the handle has been
//              released
//   has_barrier     of a permit: its user job is a barrier
//   runs_barrier    of the limit: the only permit that is IN USE has a barrier
//
// Invariants
//   LM1  At most `most` jobs run at a time: a job runs only in a permit, and a permit runs one job. One exchange of
//        `job_to_run` decides which thread runs it. A job that waits for a queue on the limit does not run meanwhile: a
//        plain job may run in its place, on its thread (LM10).
//   LM2  No job waits for ever: a job waits in `first` only while all permits are IN USE, or because of a barrier
//        (LM9). Each submission, and each returned permit, assigns the other permits to the oldest jobs, under the
//        lock.
//   LM3  The jobs of one thread start in the order of their submission, if the base keeps the order of the permits.
//   LM4  If the base refuses the permit of a new job, that job is dropped. If it refuses the permit of a job that was
//        accepted before, that job and all waiting jobs are dropped. A later submission tries the base again. A
//        submission returns the error of its own job only.
//   LM5  The structure is freed once: by the final permit, or by csched_limit_destroy. After the unlock, only a thread
//        that has a permit touches the structure.
//   LM6  If a job is unwound, its permit is returned.
//   LM7  A wait that could never end is refused. With a limit of 1: as for a serial queue. Inside a barrier: a wait for
//        any job of the target. Inside any job of the target: a wait for a barrier. Other waits are allowed, because
//        other permits may continue.
//   LM8  In a child of fork no permit is lost. Permits that threads of the parent were about to submit are submitted.
//        Permits in which such threads ran jobs are returned. A target with an orphaned base stops the process when
//        work is submitted.
//   LM9  A barrier starts when no permit is IN USE. No other job starts until the barrier has ended, and no later job
//        starts before the barrier, but what a job of the limit waits for (LM10), which the barrier waits for. A
//        cancelled barrier counts as a plain job: it delays no job after the next submission, or the next returned
//        permit.
//   LM10  As SQ10 of serial.c: a thread that waits for a queue on the limit runs jobs of the limit, if the base is a
//        pool. It takes the user job of a LINKED permit. A thread inside of a job of the limit also takes the oldest
//        waiting job or, if that is a barrier, the work of the queue that it waits for. Each assigned or waiting job
//        wakes all helpers. If the pool was stopped to drop its work, the thread drops what it takes, as all of the
//        pool's own threads may be in such waits.
//   LM11  On a base that runs a job within `deliver`, the stack does not grow with the number of jobs:
//         csched_frame_continue_.
//   LM12  Jobs that the limit has accepted before its base was closed with CSCHED_STOP_RUN run (as SQ13 of serial.c).
//        From the first permit on that is assigned after the close, when a job has ended, the limit refuses new jobs,
//        so that its work ends.
//   LM13  csched_target_submit adds no job while the limit is FULL. A cancelled job that waits is removed before a
//        submission finds FULL, if the scan is paid for: each refusal pays for SCAN jobs.
//   LM14  A submission that waits for room is a helper (LM10), so each job that leaves `first` wakes it. On a limit
//        directly on a pool it needs no thread of the pool. It returns when there is room, or when the limit refuses
//        jobs. It does not wait where it would never end (LM7): not in a job of the limit, not in a drop, and, if it
//        cannot help, not in a job of the limit's root. In virtual time it adds the job beyond the bound.
// Orderings: the lock's. job_to_run: acquire and release, carries the user job to the run that takes it.
// Assumes: a job may be submitted again only from its `release` on (job.h); so a permit is returned there. No user code
//   is called under the lock.
// Source: a counting semaphore of permits. A permit is like serial.c's drain job, with a batch of one job. The base's
//   capacity is not needed.
// Models: checks/limit.c. Not modelled: LM6, LM8.

#include <CScheduler/limit.h>
#include <CScheduler/lock.h>
#include "../base/panic.h"
#include "../job/frames_internal.h"
#include "../job/job_internal.h"
#include "../job/mpsc_internal.h"
#include "../job/observed.h"
#include "../platform/platform.h"
#include "../targets/target_internal.h"
#include "helping_internal.h"
#include "queue_internal.h"
#include <errno.h>
#include <stdlib.h>

typedef struct permit {
  csched_job job;              // submitted to the base
  csched_job *job_to_run;      // the user job; NULL: it has started, or was dropped, or there is none
  bool is_in_use, has_barrier; // IN USE (States); its user job is a barrier; guarded by the lock
  bool is_linked, has_taken;   // LINKED; guarded by the lock. The run of `job` has taken `job_to_run`; that run's only
  bool is_lost; // LM8: in a child of fork: a thread of the parent had the permit; restore_permits continues
} permit;

struct csched_limit {
  csched_target target, barriers; // plain jobs are submitted to `target`, barriers to `barriers`
  csched_target *base, *root;     // permits are submitted to `base`; the end of the chain of bases
  csched_lock lock;               // guards `first` to `is_ending`, and `permits`
  csched_job *first, *last;       // list of the user jobs that wait for a permit, oldest first
  size_t waiting, bound;          // LM13: how many wait; how many may
  size_t unpaid;                  // LM13: how many jobs the next scan for cancelled ones looks at before it is paid for
  csched_job *free;               // list of the FREE permits that were IN USE before
  int most, initialised, in_use, stale; // numbers of permits: the limit; initialised so far; IN USE now; STALE now
  bool runs_barrier;                    // LM9: the only permit that is IN USE has a barrier
  bool handle_is_released;              // csched_limit_destroy was called
  bool is_ending;                       // LM12: the base was closed: the limit refuses new jobs
  bool blocks;                          // LM14: a submission to a FULL limit waits for room
  void (*retain)(void *), (*release)(void *); // of `keeper`: one retain for each permit IN USE; or NULL
  void *keeper;                               // the user's object that the limit belongs to: csched_limit_own
  csched_helper_list helpers;                 // LM10: the waiting syncs that may help; guarded by the lock
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
  limit->waiting++;
}

// Does: removes the oldest waiting job. Returns: it.
static csched_job *take_first_locked(csched_limit *limit) {
  csched_job *first = limit->first;
  limit->first = next_waiting(first);
  limit->waiting--;
  return first;
}

// Does: removes `job`, which waits behind `before`.
static void remove_after_locked(csched_limit *limit, csched_job *before, csched_job *job) {
  before->next = (csched_job *)((uintptr_t)next_waiting(job) | ((uintptr_t)before->next & BARRIER));
  if (limit->last == job) limit->last = before;
  limit->waiting--;
}

// MARK: permits

static const csched_own_job_type permit_type, continuing_permit_type; // defined below

// Returns: a permit that is not IN USE; NULL: all are.
static permit *find_permit_locked(csched_limit *limit) {
  if (limit->in_use == limit->most) return NULL; // LM1
  if (CSCHED_UNLIKELY(limit->stale > 0)) {
    for (permit *each = limit->permits;; each++) {
      if (!each->is_linked || each->is_in_use) continue;
      limit->stale--;
      return each;
    }
  }
  csched_job *job = limit->free;
  if (job != NULL) {
    limit->free = job->next;
    return (permit *)job;
  }
  permit *next = &limit->permits[limit->initialised++]; // no permit was returned: initialises the next one
  *next = (permit){.is_in_use = false};
  csched_job_init(&next->job, &permit_type.type, limit);
  return next;
}

// Does: puts a permit IN USE. Returns: the permit; NULL: all are IN USE, or (LM9) one that is IN USE must end first.
static permit *acquire_permit_locked(csched_limit *limit, bool for_barrier) {
  if (limit->runs_barrier || (for_barrier && limit->in_use != 0)) return NULL; // LM9: a barrier runs alone
  permit *permit = find_permit_locked(limit);
  if (permit == NULL) return NULL;
  permit->is_in_use = true;
  permit->has_barrier = limit->runs_barrier = for_barrier;
  limit->in_use++;
  return permit;
}

// Does: assigns permits to the waiting jobs that may start, and wakes the helpers. A cancelled barrier counts as a
// plain job. Returns: the permits that the caller must submit, linked, in order.
static csched_job *assign_permits_locked(csched_limit *limit) {
  csched_job *permits = NULL, **end = &permits, *first;
  permit *acquired;
  while ((first = limit->first) != NULL) { // LM2: uses all permits; LM3: in the jobs' order
    acquired = acquire_permit_locked(limit, is_barrier(first) && !csched_job_is_cancelled_(first)); // LM9
    if (acquired == NULL) break;
    take_first_locked(limit);
    csched_store_release(&acquired->job_to_run, first); // LM1: pairs with take_job: of a LINKED permit at once
    if (acquired->is_linked) continue;                  // it was STALE: its run is still to come
    acquired->is_linked = true;
    *end = &acquired->job;
    end = &acquired->job.next;
  }
  *end = NULL;
  csched_helpers_wake_all_locked_(&limit->helpers); // LM10: a job was assigned, or waits
  return permits;
}

// Does: submits the permit `job` to the base. `continues`: the limit has accepted the permit's job before. Returns: 0;
// ECANCELED: the base has refused it, and so drop_permit was called.
static int submit_to_base(csched_limit *limit, csched_job *job, bool continues) {
  csched_target *base = limit->base;
  job->type = continues ? &continuing_permit_type.type : &permit_type.type;
  csched_job_submitted_(job, "csched_target_submit"); // required before `deliver` links it
  if (CSCHED_UNLIKELY(continues && (csched_target_rest_(base) & CSCHED_REST_RUNS) != 0)) { // LM12
    csched_job_perform_on_(job, base);
    return 0;
  }
  return base->type->deliver(base, job);
}

// Does: submits the list `permits`. The limit has accepted the jobs of all before; or, if `last_is_new`, of all but the
// last. Returns: the last result: 0, ECANCELED.
static int submit_permits(csched_limit *limit, csched_job *permits, bool last_is_new) {
  int error = 0;
  for (csched_job *next; permits != NULL; permits = next) { // LM5: the last submission may free `limit`
    next = permits->next; // loaded now: once submitted, the permit may be in another list
    error = submit_to_base(limit, permits, next != NULL || !last_is_new);
  }
  return error;
}

static void submit_again(csched_job *permit) { submit_to_base(permit->context, permit, true); }

// Does: submits the list `permits` after the end of a job, which may be on this thread's stack.
static void continue_with(csched_limit *limit, csched_job *permits) {
  if (limit->base->type->only_enqueues_ && csched_target_rest_(limit->base) == 0) submit_permits(limit, permits, false);
  else csched_frame_continue_(submit_again, permits); // LM11
}

// Does: retains `keeper` for each of the list `permits`, but for one if `is_kept`: the caller's retain serves one.
static void retain_for(csched_limit *limit, const csched_job *permits, bool is_kept) {
  if (limit->retain == NULL) return;
  for (const csched_job *each = is_kept ? permits->next : permits; each != NULL; each = each->next)
    limit->retain(limit->keeper);
}

// Returns: the user job of `permit`, which the caller must run or drop; NULL: another thread has taken it.
static csched_job *take_job(permit *permit) {
  return csched_exchange_acquire(&permit->job_to_run, NULL); // LM1: pairs with assign_permits_locked
}

// Does: ends the use of `permit` by its user job. Returns: whether the permit is FREE now.
static bool end_permit_locked(csched_limit *limit, permit *permit) {
  permit->is_in_use = permit->has_barrier = limit->runs_barrier = false; // LM9: a barrier has ended: others may start
  limit->in_use--;
  if (permit->is_linked) {
    limit->stale++;
    return false;
  }
  permit->job.next = limit->free;
  limit->free = &permit->job;
  return true;
}

// Does: unlocks, after the end of a user job or of a run: submits `permits`, the waiting jobs' permits, and `again`, a
// permit whose next run is due, or NULL. `is_freed`: a permit has become FREE: its retain of `keeper` serves one of
// `permits`, or ends.
static void unlock_and_continue(csched_limit *limit, csched_job *permits, csched_job *again, bool is_freed) {
  void (*release)(void *) = limit->release; // loaded now, because `limit` may be freed before the call
  void *keeper = limit->keeper;
  bool is_last = limit->in_use + limit->stale == 0 && limit->handle_is_released; // LM5: the final permit frees it
  if (permits != NULL && !limit->is_ending) limit->is_ending = csched_target_is_closed_(limit->base); // LM12
  csched_lock_unlock(&limit->lock);
  if (permits != NULL) { // LM2; LM5: `again` still keeps the structure
    retain_for(limit, permits, is_freed);
    continue_with(limit, permits);
  }
  if (again != NULL) {
    again->next = NULL;
    continue_with(limit, again);
  }
  if (permits != NULL || !is_freed) return;
  if (is_last) free_limit(limit);
  if (release != NULL) release(keeper);
}

// The next three are the `run`, `drop` and `release` of a permit's job.
static void run_permit(csched_job *job) { // LM1: runs the permit's user job; LM7: a barrier on the target `barriers`
  csched_limit *limit = job->context;
  permit *own = (permit *)job;
  csched_job *job_to_run = take_job(own);
  if (job_to_run == NULL) return; // LM10: a helper runs it, or has run it
  own->has_taken = true;          // for return_permit, also after an unwind (LM6)
  csched_job_perform_on_(job_to_run, own->has_barrier ? &limit->barriers : &limit->target);
}

static void drop_permit(csched_job *job) { // LM4: the base has refused the permit
  csched_limit *limit = job->context;
  bool continues = csched_job_continues_(job);
  if (continues && (csched_target_rest_(limit->base) & CSCHED_REST_RUNS) != 0) return; // LM12: return_permit runs it
  if (!continues && (csched_target_rest_(limit->root) & CSCHED_REST_IS_DUE) != 0)
    return; // LM12: its job was due as a timer: return_permit submits it as one that was accepted
  csched_lock_lock(&limit->lock);
  csched_job *next, *each = take_job((permit *)job);
  if (each != NULL) { // else LM10: the helper's next submission will be refused
    ((permit *)job)->has_taken = true;
    each->next = NULL;
    if (continues) { // drops all waiting jobs, too; after a new job, the limit goes on with those that it has accepted
      each->next = limit->first;
      limit->first = NULL;
      limit->waiting = 0;
    }
  }
  csched_lock_unlock(&limit->lock);
  const csched_job *first = each;
  bool is_users = each != NULL && each->type->drop != csched_job_drop_own_;
  for (; each != NULL; each = next) {
    next = next_waiting(each);
    csched_job_discard_(each);
  }
  if (!continues && first != NULL && (is_users || csched_frames_has_refused_(first, NULL)))
    csched_frames_note_refused_(job);
}

static void return_permit(csched_job *job) { // ends a run of the permit. LM6: also after its user job was unwound
  csched_limit *limit = job->context;
  permit *own = (permit *)job;
  bool has_taken = own->has_taken, is_freed = false;
  csched_job *again = NULL;
  if (CSCHED_UNLIKELY(limit->target.type == &csched_target_orphaned_)) return; // LM8: orphaned: no job may start
  csched_lock_lock(&limit->lock);
  own->has_taken = own->is_linked = false;
  if (has_taken) {
    is_freed = end_permit_locked(limit, own);
  } else if (!own->is_in_use) { // it was STALE
    limit->stale--;
    job->next = limit->free;
    limit->free = job;
    is_freed = true;
  } else if (csched_load_relaxed(&own->job_to_run) != NULL) { // LM10: assigned again since the run found nothing
    own->is_linked = true; // racy read: a helper that takes the job now leaves the permit STALE
    again = job;
  } // else a helper runs its user job, and will free it
  unlock_and_continue(limit, assign_permits_locked(limit), again, is_freed);
}

static const csched_own_job_type permit_type = CSCHED_OWN_JOB_TYPE(run_permit, drop_permit, return_permit, false),
                                 continuing_permit_type =
                                     CSCHED_OWN_JOB_TYPE(run_permit, drop_permit, return_permit, true);

// MARK: submitting

// Does: appends `job`, unlocks, and submits permits for the jobs that may start. `mark`: BARRIER or 0. Returns: 0;
// ECANCELED: the base refuses; `job` dropped.
static int deliver_and_unlock(csched_limit *limit, csched_job *job, unsigned mark) {
  bool continues = csched_job_continues_(job);
  if (CSCHED_UNLIKELY(limit->is_ending && !continues)) { // LM12
    csched_lock_unlock(&limit->lock);
    csched_job_discard_(job);
    return ECANCELED;
  }
  append_locked(limit, job, mark);
  csched_job *permits = assign_permits_locked(limit); // LM2: to the oldest jobs
  bool has_permit = limit->first == NULL;             // no job waits: `job` has the last of `permits`
  csched_lock_unlock(&limit->lock);
  if (permits == NULL)
    return 0; // LM5: `job` may have run on another permit: `limit` may be freed, if this is a timer's
  retain_for(limit, permits, false);
  const csched_job *last = permits; // the permit of `job`, if `has_permit`
  while (last->next != NULL) last = last->next;
  int error = submit_permits(limit, permits, has_permit && !continues);
  if (error == 0 || !has_permit) return 0; // LM4: the error of `job` only; 0: it waits
  // LM10: a helper may have been first. Not accessed from here on: `limit` may be freed, `job` too
  return csched_frames_has_refused_(last, job) ? ECANCELED : 0;
}

static int deliver_as(csched_limit *limit, csched_job *job, unsigned mark) {
  csched_lock_lock(&limit->lock);
  return deliver_and_unlock(limit, job, mark);
}

static int deliver_to_limit(csched_target *target, csched_job *job) {
  return deliver_as((csched_limit *)target, job, 0);
}

static int deliver_to_limit_at(csched_target *target, csched_timer *timer, csched_time deadline, csched_time leeway) {
  csched_target *base = ((csched_limit *)target)->base;
  return base->type->deliver_at(base, timer, deadline, leeway); // when due, the base delivers the job to the limit
}

static csched_target *base(const csched_target *target) { return ((const csched_limit *)target)->base; }

// Functions of the target `barriers`, which is a field of the limit. Its base is the limited target, the limit's field
// `target`.
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
  return csched_target_holds_(&((const csched_limit *)target)->barriers);
}

static bool is_in_any_job(const csched_target *barriers) { // LM7: then a wait of this thread for a barrier is refused
  return csched_target_holds_(limited_target_of(barriers));
}

// MARK: helping

static void add_helper(csched_target *target, csched_helper *helper) {
  csched_limit *limit = (csched_limit *)target;
  csched_lock_lock(&limit->lock);
  TAILQ_INSERT_TAIL(&limit->helpers, helper, link);
  csched_lock_unlock(&limit->lock);
}

static void remove_helper(csched_target *target, csched_helper *helper) { // LM10: each job wakes all helpers
  csched_limit *limit = (csched_limit *)target;
  csched_lock_lock(&limit->lock);
  TAILQ_REMOVE(&limit->helpers, helper, link);
  csched_lock_unlock(&limit->lock);
}

// Returns: the oldest waiting job; or, behind a barrier, the one by which the queue or limit on `limit` runs on which
// `waited` is; NULL: none.
static csched_job *take_waiting_locked(csched_limit *limit, const csched_target *waited) { // LM10
  csched_job *job = limit->first, *before = NULL;
  if (job == NULL || !is_barrier(job)) return job == NULL ? NULL : take_first_locked(limit);
  while (waited != NULL && csched_target_base_(waited) != &limit->target) waited = csched_target_base_(waited);
  if (waited == NULL) return NULL; // `waited` is on the barriers
  while (job != NULL && (is_barrier(job) || job->type->drop != csched_job_drop_own_ || job->context != waited)) {
    before = job;
    job = next_waiting(job);
  }
  if (job != NULL) remove_after_locked(limit, before, job);
  return job;
}

// Returns: a user job that this thread may run: that of a permit, which is stored in `*permit`; or, if this thread
// `is_inside` of a job of the limit, a waiting one, with NULL. NULL: none.
static csched_job *take_any_job_locked(csched_limit *limit, permit **permit, bool is_inside,
                                       const csched_target *waited) { // LM10
  csched_job *job = NULL;
  for (int i = 0; i < limit->initialised; i++) {
    *permit = &limit->permits[i];
    if ((*permit)->is_linked && (*permit)->is_in_use && (job = take_job(*permit)) != NULL) return job;
  }
  *permit = NULL;
  if (!is_inside) return NULL;
  job = take_waiting_locked(limit, waited);
  if (job != NULL) csched_helpers_wake_all_locked_(&limit->helpers); // LM14: there may be room
  return job;
}

static csched_help_result help_limit(csched_target *target, csched_helper *helper, const csched_job *own,
                                     csched_target *waited) { // LM10: runs one job
  csched_limit *limit = (csched_limit *)target;
  permit *permit = NULL;
  csched_frame spare;
  bool is_inside = csched_target_holds_(target);
  (void)own; // a sync is a job of a queue, never of a limit
  csched_lock_lock(&limit->lock);
  csched_job *job = take_any_job_locked(limit, &permit, is_inside, waited);
  csched_lock_unlock(&limit->lock);
  if (job == NULL) return CSCHED_HELPED_NOTHING;
  if (csched_may_help_(target)) {
    csched_helper_begin_(helper, &spare);
    csched_job_perform_on_(job, permit != NULL && permit->has_barrier ? &limit->barriers : target);
    csched_helper_end_(helper, waited);
  } else {
    csched_job_discard_(job); // the pool drops its work
  }
  if (permit == NULL) return CSCHED_HELPED;
  csched_lock_lock(&limit->lock);
  bool is_freed = end_permit_locked(limit, permit);
  unlock_and_continue(limit, assign_permits_locked(limit), NULL, is_freed);
  return CSCHED_HELPED;
}

static const struct csched_helping limit_helping = {add_helper, help_limit, remove_helper};

// MARK: submitting to a limit with a bound

enum { SCAN = 256 }; // for how many jobs of a scan each refusal pays

// Does: removes the cancelled jobs from those that wait, unless the last scan is not paid for. Returns: them, linked.
static csched_job *remove_cancelled_locked(csched_limit *limit) { // LM13
  csched_job *removed = NULL, *before = NULL, *next;
  if (limit->unpaid > SCAN) {
    limit->unpaid -= SCAN;
    return NULL;
  }
  limit->unpaid = limit->waiting;
  for (csched_job *each = limit->first; each != NULL; each = next) {
    next = next_waiting(each);
    if (!csched_job_is_cancelled_(each)) {
      before = each;
      continue;
    }
    if (before == NULL) take_first_locked(limit);
    else remove_after_locked(limit, before, each);
    each->next = removed;
    removed = each;
  }
  return removed;
}

// Returns: whether the limit is FULL for a job with `mark`.
static bool is_full_locked(const csched_limit *limit, unsigned mark) {
  if (limit->waiting < limit->bound) return false;
  if (limit->first != NULL || limit->runs_barrier) return true; // else `bound` is 0, and `job` may get a permit at once
  return mark == BARRIER ? limit->in_use != 0 : limit->in_use == limit->most;
}

// Does: the same without cancelled jobs. They are added to the list `removed`.
static bool stays_full_locked(csched_limit *limit, unsigned mark, csched_job **removed) { // LM13
  if (CSCHED_LIKELY(!is_full_locked(limit, mark))) return false;
  csched_job *found = remove_cancelled_locked(limit), *last = found;
  if (found == NULL) return true;
  while (last->next != NULL) last = last->next;
  last->next = *removed;
  *removed = found;
  return is_full_locked(limit, mark);
}

// Does: discards the list `removed` of jobs that were cancelled: only their release is left.
static void release_cancelled(csched_job *removed) {
  for (csched_job *next; removed != NULL; removed = next) {
    next = removed->next;
    csched_job_discard_(removed);
  }
}

// Returns: whether this thread may wait for room: its wait keeps no job of the limit from its end. `helps`: it runs
// such jobs meanwhile.
static bool may_await_room(csched_limit *limit, bool helps) {                     // LM14
  if (csched_is_in_drop_() || csched_target_holds_(&limit->target)) return false; // it holds a permit, or may
  return helps ||
         !csched_target_holds_(limit->root); // else it may hold a thread, or a permit, that the limit's jobs need
}

// Does: waits until the limit is not FULL, or refuses jobs, and locks it. Returns: false: it may not wait; the limit is
// not locked.
static bool await_room(csched_limit *limit, csched_target *target, unsigned mark) { // LM14
  csched_helper helper = {.ended = 0, .function = "csched_target_submit"};
  csched_job *removed = NULL;
  bool helps = csched_helped_target_(target) == &limit->target;
  if (!may_await_room(limit, helps) || !csched_deadlock_check_begin_(target)) return false;
  csched_blocked_begin_("csched_target_submit",
                        target); // for dumps and the watchdog; before the lock, as it may lock the list of forks
  csched_lock_lock(&limit->lock);
  TAILQ_INSERT_TAIL(&limit->helpers, &helper, link);
  while (!limit->is_ending && stays_full_locked(limit, mark, &removed) && !csched_target_is_closed_(limit->base)) {
    csched_store_relaxed(&helper.ended, 0u); // helping.c HL1: under the lock, as the wakes are
    csched_lock_unlock(&limit->lock);
    release_cancelled(removed);
    removed = NULL;
    if (!helps || help_limit(&limit->target, &helper, NULL, target) == CSCHED_HELPED_NOTHING)
      csched_futex_wait_(&helper.ended, 0, CSCHED_FOREVER); // HL1: at once, if a job has left since the check
    csched_lock_lock(&limit->lock);
  }
  TAILQ_REMOVE(&limit->helpers, &helper, link);
  csched_lock_unlock(&limit->lock);
  release_cancelled(removed);
  csched_deadlock_check_end_();
  csched_blocked_end_();
  csched_lock_lock(&limit->lock);
  return true;
}

// Does: as deliver_as, for a limit with a bound. Returns: EAGAIN, too: the limit is FULL; `job` was dropped.
static int submit_as(csched_limit *limit, csched_target *target, csched_job *job, unsigned mark) { // LM13
  if (CSCHED_LIKELY(limit->bound == SIZE_MAX)) return deliver_as(limit, job, mark);
  csched_job *removed = NULL;
  csched_lock_lock(&limit->lock);
  while (!limit->is_ending && stays_full_locked(limit, mark, &removed)) {
    bool is_closed = csched_target_is_closed_(limit->base); // LM14: then no job may ever leave `first` by ending
    csched_lock_unlock(&limit->lock);
    release_cancelled(removed);
    removed = NULL;
    if (limit->blocks && csched_target_has_virtual_time_(target))
      return deliver_as(limit, job, mark); // this thread may be the one that advances the time
    if (is_closed || !limit->blocks || !await_room(limit, target, mark)) {
      csched_job_discard_(job);
      return is_closed ? ECANCELED : EAGAIN;
    }
  }
  int error = deliver_and_unlock(limit, job, mark);
  release_cancelled(removed);
  return error;
}

static int submit_to_limit(csched_target *target, csched_job *job) {
  return submit_as((csched_limit *)target, target, job, 0);
}

static int submit_barrier(csched_target *barriers, csched_job *job) {
  return submit_as((csched_limit *)limited_target_of(barriers), barriers, job, BARRIER);
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
  if (text->is_name_only) return;
  csched_text_add_(text, ": at most ");
  csched_text_number_(text, (uint64_t)limit->most);
  if (!csched_lock_trylock(&limit->lock)) { // a dump does not wait for locks
    csched_text_add_(text, ", just being used");
  } else if (!limit->handle_is_released && csched_target_is_orphaned_(target)) { // after destroy the base may be gone
    csched_lock_unlock(&limit->lock);
    csched_text_add_(text, ", orphaned by fork");
  } else {
    size_t waiting = count_waiting_locked(limit);
    csched_text_add_(text, ", ");
    csched_text_number_(text, (uint64_t)limit->in_use);
    csched_text_add_(text, limit->runs_barrier ? " on their way or running, a barrier" : " on their way or running");
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

// Returns: whether `permit` is queued on the base. A base without `has` cannot be asked: then a submitted permit counts
// as queued.
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
    if (limit->permits[i].is_in_use && limit->permits[i].job_to_run == job)
      each = job; // restore_permits submits the permit
  return each != NULL;
}

static bool barriers_have(const csched_target *barriers, const csched_job *job) {
  return limit_has(limited_target_of(barriers), job);
}

// Does: marks a permit that a thread of the parent was about to submit, or whose job it had started. Until
// restore_permits no helper takes its job.
static void mark_lost(csched_limit *limit, permit *permit) { // LM8: no permit is lost in a child
  limit->handle_is_released = false; // LM5: so that return_permit does not free `limit` in this child
  csched_job_init(&permit->job, &permit_type.type, limit); // idle again: a thread of the parent had marked or run it
  permit->has_taken = permit->job_to_run == NULL;
  permit->is_linked = false;
  permit->is_lost = limit->atfork.continues = true;
}

// Returns: whether the handle was released, and all jobs have started. Then its base may be gone, with the last job.
static bool needs_no_base(const csched_limit *limit) { // LM8: only in a fork's child
  for (int i = 0; i < limit->initialised; i++)
    if (limit->permits[i].is_in_use && limit->permits[i].job_to_run != NULL) return false;
  return limit->handle_is_released && limit->first == NULL;
}

static permit *find_lost(csched_limit *limit) {
  for (int i = 0; i < limit->initialised; i++)
    if (limit->permits[i].is_lost) return &limit->permits[i];
  return NULL;
}

// Does: submits each lost permit, or returns it if its job has started. If the parent's thread had already retained
// `keeper`, the child leaks that reference. User code may run in the submission.
static void restore_permits(csched_limit *limit) { // LM8
  permit *next;
  for (permit *each = find_lost(limit); each != NULL; each = next) {
    csched_lock_lock(&limit->lock);
    each->is_lost = false;
    each->is_linked = true;
    csched_lock_unlock(&limit->lock);
    next = find_lost(limit); // LM5: a lost permit keeps the structure; after the final one it may be freed
    if (limit->retain != NULL) limit->retain(limit->keeper);
    if (each->has_taken) return_permit(&each->job);
    else submit_to_base(limit, &each->job, true);
  }
}

static void limit_at_fork(csched_atfork *atfork, csched_atfork_phase phase) { // LM8: restores permits in the child
  csched_limit *limit = (csched_limit *)((char *)atfork - offsetof(csched_limit, atfork));
  if (phase == CSCHED_ATFORK_BEFORE) csched_lock_lock(&limit->lock);
  if (phase == CSCHED_ATFORK_IN_PARENT) csched_lock_unlock(&limit->lock);
  if (phase == CSCHED_ATFORK_IN_CHILD_FIRST) limit->lock = (csched_lock)CSCHED_LOCK_INIT; // waiters are in the parent
  if (phase == CSCHED_ATFORK_AFTER_CHILD) restore_permits(limit);
  if (phase != CSCHED_ATFORK_IN_CHILD_LAST) return;
  TAILQ_INIT(&limit->helpers);
  limit->target.waits_for = limit->barriers.waits_for = NULL; // the threads that waited are in the parent
  if (needs_no_base(limit)) return;
  if (csched_target_is_orphaned_(limit->base)) {
    limit->target.type = limit->barriers.type = &csched_target_orphaned_;
    return;
  }
  for (int i = 0; i < limit->initialised; i++) {
    permit *each = &limit->permits[i];
    if (each->is_in_use && !is_queued_on_base(limit, each) && !csched_job_is_running_here_(&each->job) &&
        !csched_frame_has_due_(&each->job))
      mark_lost(limit, each); // a thread of the parent had it
  }
}

// Returns: whether the limit, on the loop `root`, has accepted jobs, and this thread does not run one of them.
static bool is_busy(csched_atfork *atfork, const void *root) { // LM12
  csched_limit *limit = (csched_limit *)((char *)atfork - offsetof(csched_limit, atfork));
  if (limit->root != root || csched_target_holds_(&limit->target))
    return false;                                      // `base` may be gone, with the last job
  if (!csched_lock_trylock(&limit->lock)) return true; // a thread is just submitting, or ends a job
  bool is_busy = limit->in_use > 0 || limit->first != NULL;
  csched_lock_unlock(&limit->lock);
  return is_busy;
}

const csched_target *csched_limit_of_atfork_(const csched_atfork *atfork) {
  return atfork->handler == limit_at_fork
             ? (const csched_target *)((const char *)atfork - offsetof(csched_limit, atfork))
             : NULL;
}

// MARK: create and destroy

// Returns: the state of the worker's follow-up, a job to run after the current job: CSCHED_FOLLOW_UP_NONE, …. NULL: the
// base runs no follow-ups.
static uint32_t *follow_up(const csched_target *target) {
  const csched_target *below = target->type->base(target);
  return below->type->follow_up_ != NULL ? below->type->follow_up_(below) : NULL;
}

// The types of a limit of 1, of a higher limit, and of the target for barriers.
static const csched_target_type exclusive_type = {.deliver = deliver_to_limit,
                                                  .submit_ = submit_to_limit,
                                                  .deliver_at = deliver_to_limit_at,
                                                  .base = base,
                                                  .has = limit_has,
                                                  .follow_up_ = follow_up,
                                                  .describe_ = describe_limit,
                                                  .helping_ = &limit_helping,
                                                  .only_enqueues_ = true};
static const csched_target_type concurrent_type = {.deliver = deliver_to_limit,
                                                   .submit_ = submit_to_limit,
                                                   .deliver_at = deliver_to_limit_at,
                                                   .base = base,
                                                   .has = limit_has,
                                                   .follow_up_ = follow_up,
                                                   .describe_ = describe_limit,
                                                   .helping_ = &limit_helping,
                                                   .only_enqueues_ = true,
                                                   .is_bound_here = is_in_barrier, // LM7: refuses waits in a barrier
                                                   .is_concurrent_ = true};        // LM7: other waits may end
static const csched_target_type barrier_type = {.deliver = deliver_barrier,
                                                .submit_ = submit_barrier,
                                                .deliver_at = deliver_barrier_at,
                                                .base = limited_target_of,
                                                .has = barriers_have,
                                                .follow_up_ = follow_up,
                                                .describe_ = describe_barriers,
                                                .is_bound_here = is_in_any_job, // LM7: refuses waits for a barrier
                                                .only_enqueues_ = true};

int csched_limit_create(csched_limit **result, csched_target *base, int most) {
  if (most < 1) return EINVAL;
  if (most > CSCHED_LIMIT_MOST) most = CSCHED_LIMIT_MOST;
  csched_limit *limit = malloc(sizeof *limit + (size_t)most * sizeof(permit)); // unused pages cost no memory
  if (limit == NULL) return ENOMEM;
  *limit = (csched_limit){.base = base, .root = csched_target_root_(base), .most = most, .bound = SIZE_MAX};
  TAILQ_INIT(&limit->helpers);
  limit->target.type = most == 1 ? &exclusive_type : &concurrent_type;
  limit->barriers.type = &barrier_type;
  limit->atfork.is_busy = is_busy;
  csched_os_atfork_(&limit->atfork, limit_at_fork);
  *result = limit;
  return 0;
}

void csched_limit_bound(csched_limit *limit, size_t waiting, csched_full_policy policy) {
  if (CSCHED_UNLIKELY((unsigned)policy > CSCHED_FULL_BLOCK))
    csched_panic_("csched_limit_bound", "%d is no policy. Name one of csched_full_policy.", (int)policy);
  limit->bound = waiting;
  limit->blocks = policy == CSCHED_FULL_BLOCK;
}

void csched_limit_own(csched_limit *limit, void (*retain)(void *), void (*release)(void *), void *keeper) {
  limit->retain = retain;
  limit->release = release;
  limit->keeper = limit->target.owner = keeper;
}

csched_target *csched_limit_barrier_target(csched_limit *limit) { return &limit->barriers; }

void csched_limit_destroy(csched_limit *limit) {
  if (CSCHED_UNLIKELY(limit->target.type == &csched_target_orphaned_)) return; // LM8: never freed: permits stay IN USE
  csched_lock_lock(&limit->lock);
  limit->handle_is_released = true;
  bool is_last = limit->in_use + limit->stale == 0; // LM5: else the final permit frees the structure
  csched_lock_unlock(&limit->lock);
  if (is_last) free_limit(limit);
}
