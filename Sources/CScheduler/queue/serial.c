// A serial queue: runs jobs one at a time, in order, on the threads of its base target.
//
// States
//   inbox      the queue's jobs (mpsc.c). PARKED: the queue is idle. Otherwise the queue has an owner, a thread that
//              may run its jobs (the run of the drain job, an inline sync, a waiting sync that helps), or is OFFERED,
//              or STALLED
//   use        REFERENCE times the reference count (of the handle, LINKED, STALLED, and a timer's run), plus three
//              flags.
//              OFFERED: the queue has jobs and no owner; the thread that clears the flag is the next owner
//              LINKED: the drain job is submitted to the base, or runs
//              AWAITED: `helpers` is not empty
//   hold       2 times the number of suspensions, plus STALLED (1): the owner has found the queue suspended, and has
//              released it without parking it
//   helpers    the syncs that wait, and that may become owners: of this queue, and of queues on it
//
// Invariants
//   SQ1  Jobs run one at a time: only the queue's owner runs them. A thread acquires the queue by changing PARKED, or
//       by clearing OFFERED. It releases the queue by parking it, or by setting OFFERED or STALLED. Each of these steps
//       is one compare-and-exchange.
//   SQ2  No job waits for ever: an owner that releases the queue parks the queue, or finds more jobs and offers the
//       queue, or sets STALLED for a resume. An offer wakes a helper (SQ10); without helpers the drain job is LINKED
//       from then on. A push that does not find PARKED offers nothing, because the queue's owner runs the pushed job,
//       or the next owner does.
//   SQ3  Suspension: after a suspend no job starts, except a job for which the owner had already checked `hold`. The
//       final resume and the owner's release change the same word, so exactly one of them continues with the queue.
//   SQ4  No queue starves another: the drain job runs at most BATCH jobs, on a loop at most the rest of the loop's
//       batch (loop.c, LP3). If jobs remain, the drain job is submitted again, behind the base's other work. A batch
//       also ends after a job that has a follow-up (pool_pick.c, PP5).
//   SQ5  The thread that releases the final reference frees the structure.
//   SQ6  If the base refuses the drain job, the queue closes: all its jobs are dropped, and later submissions are
//        refused.
//   SQ7  A sync that could never end is refused: EDEADLK (waits.c). If the base accepts no more work, each sync is
//        refused: ECANCELED.
//   SQ8  If an exception, longjmp or thread exit unwinds a job or a sync, the queue is released. It then continues with
//        the next job.
//   SQ9  In a process fork's child, a queue with an orphaned base stops the process when work is submitted; any other
//       queue continues. Waiting syncs of the parent's other threads are removed, because new threads will reuse the
//       stacks of those threads.
//   SQ10  A sync needs no thread of a pool but its caller's: a sync that waits for a queue on a pool claims the queue
//       when it is OFFERED, and runs the jobs before its own. A helper is listed before it checks OFFERED, and an offer
//       finds AWAITED, or the helper finds OFFERED, because both change `use`. A helper that leaves checks OFFERED
//       again, so no wake is lost with it.
//   SQ11  The drain job is submitted again only when LINKED is not set. It clears LINKED at the end of its run, unless
//       the queue is OFFERED by then and no helper waits. A drain job that finds another owner does nothing.
//   SQ12  On a base that runs a job within `deliver`, the stack does not grow with the number of jobs:
//         csched_frame_continue_.
//   SQ13  Jobs that the queue has accepted before its base was closed with CSCHED_STOP_RUN run: the base accepts the
//       drain job then, if it continues with accepted jobs. A base that has finished is continued by the thread that
//       releases the queue. Jobs that were pushed after the drain job has found the base closed are dropped, so that
//       the queue's work ends. The closed queue accepts what continues with accepted work of queues and limits on it:
//       the owner runs it, or, if the queue is over, the submitter becomes the owner.
//   SQ14  After `closed` was called, no job of a queue or limit on this one runs on the queue: `continued_on` gets
//       those that were accepted, in which the keeper runs its own other work, one job at a time. A queue on this one
//       may be resumed then.
// Orderings
//   hold: acquire and release, so that a resume sees what the owner did · use: acquire and release: the next owner sees
//   what the previous one did, and the freeing thread all uses
// Assumes: a job may be submitted again only from its `release` on (job.h). So the drain job releases the queue there
//   (drain_ended).
// Source: a mailbox with a scheduled bit, as in actor systems; here the bit is the inbox's PARKED mark. Dispatch hands
//   a queue to a waiting sync, too; here the sync also runs what is before it.
// Models: checks/serial.c, checks/waits.c, checks/frames.c, checks/loop.c. Not modelled: SQ9, SQ12, SQ14.

#include <CScheduler/serial.h>
#include "../base/panic.h"
#include "../job/job_internal.h"
#include "../job/frames_internal.h"
#include "../job/mpsc_internal.h"
#include "../job/observed.h"
#include "../loop/loop_internal.h"
#include "../platform/platform.h"
#include "../sync/lock_internal.h"
#include "../targets/target_internal.h"
#include "helping_internal.h"
#include "queue_internal.h"
#include <errno.h>
#include <stdlib.h>

enum { BATCH = 64 };                                          // the most user jobs that one run of the drain job runs
enum { STALLED = 1, SUSPENSION = 2 };                         // in `hold`: the flag; one suspension
enum { OFFERED = 1, LINKED = 2, AWAITED = 4, REFERENCE = 8 }; // in `use`: three flags; one reference

struct csched_serial {
  csched_target target;
  csched_target *base, *root;                             // the drain job's target; the end of the chain of bases
  bool (*count_virtual)(csched_target *root, int change); // virtual time: counts a job (1), uncounts (-1); else NULL
  csched_mpsc inbox;                                      // the user jobs and syncs that have not started
  csched_job drain;                                       // submitted to the base: runs the queue's jobs
  csched_job held;    // placeholder in an inline sync's context frame; its `release` is sync_unwound
  bool has_reference; // csched_serial_run_timer_ runs a job: if that is unwound, sync_unwound releases the reference
  bool is_draining;   // the run of the drain job owns the queue; only that run uses the field
  uint32_t has_told;  // SQ6: 1: `closed` was called; changed by the owner
  bool is_ending;     // SQ13: the base was closed, and the queue ends its work; the owner's
  csched_job *rest;   // SQ13: while `is_ending`: the last job that runs; NULL: it has run; the owner's
  uint32_t hold;      // SQ3: SUSPENSION times the number of suspensions, plus STALLED
  uint32_t use;       // SQ2, SQ5: REFERENCE times the reference count, plus OFFERED, LINKED, AWAITED
  csched_lock helpers_lock;   // guards `helpers` and `is_over`
  bool is_over;               // SQ13: the inbox is closed, without jobs and without an owner
  csched_helper_list helpers; // SQ10: the waiting syncs that may help
  void (*retain)(void *),
      (*release)(void *); // called with `keeper`: when the queue gets busy, when idle again; or NULL
  void (*closed)(void *); // called with `keeper` when the base accepts no more, and no job is left (SQ6); may be NULL
  csched_target *(*continued_on)(void *); // called with `keeper`, after `closed` (SQ14); may be NULL
  void *keeper;                           // the user's object that the queue belongs to: csched_serial_own
  csched_atfork atfork;                   // calls serial_at_fork; also the queue's entry for dumps
  uint32_t has_name;                      // 1: `name` is set
  char name[32];
};

_Static_assert(offsetof(csched_serial, target) == 0, "csched_serial_target is a cast");

static void free_serial(csched_serial *serial) { // SQ5: called by the thread that has released the final reference
  csched_os_atfork_end_(&serial->atfork);
  csched_observe_gone_(&serial->target);
  free(serial);
}

// Does: takes a reference, for STALLED or for the run of a timer, and retains `keeper`, until release_reference.
static void acquire_reference(csched_serial *serial) {
  csched_fetch_add_relaxed(&serial->use, (uint32_t)REFERENCE); // SQ5: the caller keeps the queue valid meanwhile
  if (serial->retain != NULL) serial->retain(serial->keeper);
}

// Does: adds `change`, which subtracts a reference and maybe flags, to `use`, if `use` is still `*seen`; and frees the
// queue if that was the final reference, and calls `release`. Returns: false: `use` has changed; `*seen` is its value
// now.
static bool try_release(csched_serial *serial, uint32_t *seen, uint32_t change) {
  void (*release)(void *) = serial->release; // loaded first: another thread may free `serial` after the change
  void *keeper = serial->keeper;
  if (!csched_cas_acq_rel(&serial->use, seen, *seen + change)) return false; // SQ5, SQ11: sees all other uses
  if (*seen + change < REFERENCE) free_serial(serial);                       // SQ5: no reference remains
  if (release != NULL) release(keeper);
  return true;
}

static void release_reference(csched_serial *serial) { // the reverse of acquire_reference; may free `serial`
  uint32_t use = csched_load_relaxed(&serial->use);    // racy read, rechecked by the cas
  while (!try_release(serial, &use, ~(uint32_t)REFERENCE + 1)) {}
}

static bool is_suspended(const csched_serial *serial) {
  return csched_load_relaxed(&serial->hold) >= SUSPENSION; // SQ3: may be old: a job that starts now may still run
}

// MARK: owning the queue: only its owner runs jobs

static const csched_own_job_type drain_type, continuing_drain_type; // defined below

// Does: submits the drain job, which is LINKED, to the base, for a job that is being submitted. Returns: 0; ECANCELED:
// the base refuses, and so the drain job was dropped (SQ6).
static inline int submit_drain(csched_serial *serial) {
  serial->drain.type = &drain_type.type;
  csched_job_submitted_(&serial->drain, "csched_target_submit"); // required before `deliver` links it
  return serial->base->type->deliver(serial->base, &serial->drain);
}

// Does: as submit_drain, for jobs that the queue has accepted before. A base that has finished its work may leave the
// run to this thread.
static int submit_drain_again(csched_serial *serial) { // SQ13
  serial->drain.type = &continuing_drain_type.type;
  csched_job_submitted_(&serial->drain, "csched_target_submit"); // required before `deliver` links it
  if (CSCHED_LIKELY((csched_target_rest_(serial->base) & CSCHED_REST_RUNS) == 0))
    return serial->base->type->deliver(serial->base, &serial->drain);
  csched_job_perform_on_(&serial->drain, serial->base);
  return 0;
}

// Does: makes the caller the owner of a queue that is OFFERED. Returns: false: it is not.
static bool claim_offer(csched_serial *serial) {
  uint32_t use = csched_load_relaxed(&serial->use); // racy read, rechecked by the cas
  while ((use & OFFERED) != 0)
    if (csched_cas_acquire(&serial->use, &use, use & ~(uint32_t)OFFERED)) return true; // SQ1: pairs with offer
  return false;
}

static const csched_helper *next_helper(csched_serial *serial); // defined below

// Does: wakes `next`, if it is still listed, else the first helper. If none is listed, the one that has left claims the
// offer.
static void wake_helper(csched_serial *serial, const csched_helper *next) { // SQ10
  csched_helper *each;
  csched_lock_lock(&serial->helpers_lock);
  TAILQ_FOREACH(each, &serial->helpers, link) if (each == next) break;
  if (each == NULL) each = TAILQ_FIRST(&serial->helpers);
  if (each != NULL) csched_helper_wake_locked_(each);
  csched_lock_unlock(&serial->helpers_lock);
}

// Does: ends the caller's ownership of a queue that has jobs. The next owner is a helper; or, if none waits or
// `to_base`, the drain job. `continues`: the queue has accepted the jobs before. Requires: the queue stays valid during
// the call. Returns: 0; ECANCELED: the base refuses (SQ6).
static inline int offer(csched_serial *serial, bool to_base, bool continues) {
  uint32_t use = csched_load_relaxed(&serial->use), after; // racy read, rechecked by the cas
  const csched_helper *next = NULL;
  bool is_awaited, submits;
  do {
    is_awaited = (use & AWAITED) != 0 && !to_base;
    if (is_awaited) next = next_helper(serial); // only then: in virtual time the next sync may have been unwound
    submits = (use & LINKED) == 0 && !is_awaited;
    after = (use | OFFERED) + (submits ? LINKED + REFERENCE : 0);
  } while (!csched_cas_acq_rel(&serial->use, &use, after)); // SQ1, SQ2, SQ10: pairs with claim_offer and add_helper
  if (is_awaited) wake_helper(serial, next);                // SQ10: the helper claims the queue
  if (!submits) return 0;                                   // SQ11: LINKED: the drain job will find the offer
  if (serial->retain != NULL) serial->retain(serial->keeper);
  return continues ? submit_drain_again(serial) : submit_drain(serial);
}

// Does: if the queue is suspended, sets STALLED: the final resume then owns the queue. Returns: false: not suspended,
// so the caller stays the owner.
static bool stall_if_suspended(csched_serial *serial) {
  uint32_t hold = csched_load_relaxed(&serial->hold); // SQ3: rechecked by the cas
  while (hold >= SUSPENSION)
    if (csched_cas_release(&serial->hold, &hold, hold | STALLED)) return true; // SQ3: the resume owns it next
  return false;
}

// The slow path of release_queue: the queue has jobs, is closed, or is suspended.
static CSCHED_NOINLINE void release_queue_slow(csched_serial *serial) {
  if (is_suspended(serial)) {
    acquire_reference(serial);              // of STALLED
    if (stall_if_suspended(serial)) return; // SQ2: the final resume continues with the queue
    release_reference(serial);
  }
  if (!csched_mpsc_park(&serial->inbox)) offer(serial, false, true); // SQ1, SQ2: a park fails if there are jobs
}

// Does: ends the caller's ownership. The next owner is the final resume, if suspended, or the next helper or the drain
// job, if jobs remain. Else the queue is parked. Requires: the queue stays valid during the call.
static inline void release_queue(csched_serial *serial) {
  if (CSCHED_LIKELY(!is_suspended(serial) && csched_mpsc_park(&serial->inbox))) return; // SQ1: parked, so released
  release_queue_slow(serial);
}

// Does: counts one job in the batch of the loop that runs the drain job: `*left` more may run; NULL: no loop. Returns:
// false: the batch is full.
// The first job of a drain is not counted, because the loop has counted the drain job.
static bool count_in_batch(unsigned *left) {
  if (left == NULL) return true;
  bool has_room = *left > 0;
  if (has_room) --*left;
  return has_room;
}

// Does: as run_drain, in virtual time, which counts and limits the jobs that run. The drain job counts as one, so the
// first job is not counted again.
static void run_drain_in_virtual_time(csched_serial *serial) {
  bool has_run = false;
  for (int i = 0; i < BATCH; i++) { // SQ4: bounded, so that other queues of the base run, too
    bool is_first = !has_run;
    if (is_suspended(serial) || csched_mpsc_is_empty(&serial->inbox)) break;
    if (!is_first && !serial->count_virtual(serial->root, 1)) break; // virtual time runs no more jobs now
    if (csched_job_perform_on_(csched_mpsc_pop(&serial->inbox), &serial->target)) has_run = true;
    else if (!is_first) serial->count_virtual(serial->root, -1); // cancelled: not counted
  }
  if (!has_run) serial->count_virtual(serial->root, -1); // no job has run: the drain job does not count
}

// Returns: the state of the worker's follow-up, a job to run after the current job: CSCHED_FOLLOW_UP_NONE, …. NULL: the
// base runs no follow-ups.
static uint32_t *follow_up_of(const csched_serial *serial) {
  const csched_target *base = serial->base;
  return base->type->follow_up_ != NULL ? base->type->follow_up_(base) : NULL;
}

// Does: after `closed` was called, submits `job`, which a queue or limit on this one has accepted before, to the target
// that `continued_on` returns. Drops the job if the pool drops its work. Returns: false, and does nothing, if `closed`
// was not called, or `continued_on` returns none.
static bool continue_elsewhere(csched_serial *serial, csched_job *job) { // SQ14
  bool was_told = csched_load_relaxed(&serial->has_told) != 0;           // SQ14: exact for the owner
  if (!was_told || serial->continued_on == NULL) return false;
  csched_target *next = serial->continued_on(serial->keeper);
  if (next == NULL) return false;
  if (serial->root->type->may_help_ != NULL && !serial->root->type->may_help_(serial->root)) csched_job_discard_(job);
  else next->type->deliver(next, job);
  return true;
}

// Does: runs `job`, which the queue has accepted, here or where its work continues. Requires: the caller owns the
// queue, whose base may be closed.
static inline void run_accepted(csched_serial *serial, csched_job *job) {
  if (!continue_elsewhere(serial, job)) csched_job_perform_on_(job, &serial->target);
}

// Does: as run_drain, after the close of the base: runs the jobs up to `rest`. Drops later ones, but for those that
// continue with accepted work.
static void run_rest(csched_serial *serial) { // SQ13
  csched_job *job;
  for (int i = 0; i < BATCH && !is_suspended(serial) && (job = csched_mpsc_pop(&serial->inbox)) != NULL; i++) {
    bool runs = serial->rest != NULL || csched_job_continues_(job);
    if (job == serial->rest) serial->rest = NULL;
    if (runs) run_accepted(serial, job);
    else csched_job_discard_(job);
  }
}

// Does: makes the newest job the last one that runs. Requires: the caller owns the queue; its base accepts no more.
static void begin_ending(csched_serial *serial) { // SQ13
  serial->is_ending = true;
  serial->rest = csched_mpsc_newest(&serial->inbox);
}

// Does: if the base was closed since, begins to end the queue's work. Returns: whether the queue ends its work.
static bool is_ending(csched_serial *serial) {
  if (!serial->is_ending && csched_target_is_closed_(serial->base)) begin_ending(serial);
  return serial->is_ending;
}

static void run_drain(csched_job *drain) { // the drain job's `run`. SQ4: runs one batch of the queue's jobs
  csched_serial *serial = drain->context;
  unsigned *left = csched_loop_jobs_left_(); // jobs that the loop's batch may still run; NULL: no loop runs this
  const uint32_t *follow_up = follow_up_of(serial);
  csched_job *job;
  if (!claim_offer(serial)) return; // SQ11: a helper was first
  serial->is_draining = true;       // until drain_ended, which releases the queue
  if (CSCHED_UNLIKELY(serial->count_virtual != NULL)) {
    run_drain_in_virtual_time(serial);
    return;
  }
  if (CSCHED_UNLIKELY(drain->type == &continuing_drain_type.type && is_ending(serial))) {
    run_rest(serial);
    return;
  }
  for (int i = 0; i < BATCH && (i == 0 || count_in_batch(left)); i++) {                  // SQ4: bounded: others run too
    if (is_suspended(serial) || (job = csched_mpsc_pop(&serial->inbox)) == NULL) return; // drain_ended releases queue
    csched_job_perform_on_(job, &serial->target);
    if (CSCHED_UNLIKELY(follow_up != NULL && *follow_up != CSCHED_FOLLOW_UP_NONE)) return; // SQ4: follow-up is next
  }
}

// Does: after the base has refused a submission to the idle queue, drops that job, which is the first one. Returns:
// false: the queue has accepted other jobs meanwhile; or that one was accepted, too, and is not dropped: it was due as
// a timer, or continues with accepted work. Requires: the caller owns the queue.
static bool drop_refused(csched_serial *serial) { // SQ13
  csched_job *first = csched_mpsc_peek(&serial->inbox);
  if (first == NULL || csched_job_continues_(first) || (csched_target_rest_(serial->root) & CSCHED_REST_IS_DUE) != 0)
    return first == NULL;
  csched_mpsc_pop(&serial->inbox);
  bool is_users = first->type->drop != csched_job_drop_own_;
  csched_mpsc_close(
      &serial->inbox); // before the drop: no later job of this thread is accepted, and runs before this one
  bool was_told = csched_load_relaxed(&serial->has_told) != 0; // SQ6: then the other jobs came after the close, too
  if (!csched_mpsc_is_empty(&serial->inbox) && !was_told) begin_ending(serial);
  csched_job_discard_(first); // a queue or limit on this one may submit what continues with its accepted work
  if (is_users || csched_frames_has_refused_(first, NULL)) csched_frames_note_refused_(&serial->drain);
  return csched_mpsc_is_empty(&serial->inbox);
}

static void drop_all(csched_job *drain) { // the drain job's `drop`. SQ6: the base has refused the drain job
  csched_serial *serial = drain->context;
  bool continues = csched_job_continues_(drain);
  if (continues && (csched_target_rest_(serial->base) & CSCHED_REST_RUNS) != 0) return; // SQ13: drain_ended runs it
  if (!claim_offer(serial)) return; // SQ11: another thread owns the queue; its offer will be refused
  if (!continues && !drop_refused(serial)) {
    offer(serial, false, true); // SQ13: drain_ended submits the drain job again
    return;
  }
  serial->is_draining = true;
  csched_mpsc_close(&serial->inbox); // first: later pushes are refused, so the loop drops all jobs
  for (csched_job *job; (job = csched_mpsc_pop(&serial->inbox)) != NULL;) csched_job_discard_(job);
  serial->rest = NULL; // a stop to drop after one to run
}

// Does: calls `closed`, once, if the queue has no more jobs, and its base accepts no more. Requires: the caller owns
// the queue.
static CSCHED_NOINLINE void tell_if_ended(csched_serial *serial) {
  bool was_told = csched_load_relaxed(&serial->has_told) != 0; // SQ6: only the owner changes it
  if (was_told || serial->rest != NULL || !csched_mpsc_is_empty(&serial->inbox)) return;
  csched_store_relaxed(&serial->has_told, 1u); // SQ14: before `closed` begins other work
  if (serial->closed != NULL) serial->closed(serial->keeper);
}

// Does: ends the closed queue, if it has no job. Returns: false: it has. Requires: the caller owns the queue.
static CSCHED_NOINLINE bool end_if_empty(csched_serial *serial) { // SQ13
  csched_lock_lock(&serial->helpers_lock);
  serial->is_over = csched_mpsc_is_empty(&serial->inbox);
  bool is_over = serial->is_over;
  csched_lock_unlock(&serial->helpers_lock);
  return is_over;
}

static void deliver_again(csched_job *drain) { submit_drain_again(drain->context); }

// The drain job's `release`. Does: releases the queue, if the run owns it. After a drop the queue is closed, and never
// gets another owner: calls `closed`. Then submits the drain job again if the queue waits for it, behind the base's
// other work (SQ4); else clears LINKED.
static void drain_ended(csched_job *drain) {
  csched_serial *serial = drain->context;
  bool has_owned = serial->is_draining;
  serial->is_draining = false;
  if (has_owned) {
    bool is_closed = csched_mpsc_is_closed(&serial->inbox);
    if (CSCHED_UNLIKELY(is_closed || serial->is_ending)) tell_if_ended(serial);
    if (CSCHED_LIKELY(!is_closed) || !end_if_empty(serial)) release_queue(serial); // closed: it has a rest
  }
  uint32_t use = csched_load_relaxed(&serial->use); // racy read, rechecked by the cas
  do {
    if ((use & OFFERED) == 0) continue;
    if ((use & AWAITED) != 0 && csched_may_help_(&serial->target))
      continue; // SQ11: the helper that was woken claims it
    if (serial->base->type->only_enqueues_ && csched_target_rest_(serial->base) == 0) {
      submit_drain_again(serial);
    } else {
      drain->next = NULL;
      csched_frame_continue_(deliver_again, drain); // SQ12
    }
    return;
  } while (!try_release(serial, &use, ~(uint32_t)(LINKED + REFERENCE) + 1)); // SQ11: later offers submit the drain job
}

static const csched_own_job_type drain_type = CSCHED_OWN_JOB_TYPE(run_drain, drop_all, drain_ended, false),
                                 continuing_drain_type = CSCHED_OWN_JOB_TYPE(run_drain, drop_all, drain_ended, true);

// MARK: submitting

// Does: as `deliver`, for the closed queue: accepts `job` if it continues with accepted work. Returns: 0; ECANCELED:
// `job` was dropped.
static CSCHED_NOINLINE int deliver_late(csched_serial *serial, csched_job *job) {
  if (!csched_job_continues_(job)) {
    csched_job_discard_(job); // SQ6
    return ECANCELED;
  }
  if (continue_elsewhere(serial, job)) return 0;
  csched_lock_lock(&serial->helpers_lock); // SQ13
  bool becomes_owner = serial->is_over;
  serial->is_over = false;
  csched_mpsc_push_late(&serial->inbox, job);
  csched_lock_unlock(&serial->helpers_lock);
  if (becomes_owner) release_queue_slow(serial); // offers it; a base that refuses the drain job drops `job`
  return 0;
}

// The target's `deliver`. Returns: 0; ECANCELED: the queue is closed, or its base has refused the drain job. `job` was
// then dropped.
static int deliver_to_serial(csched_target *target, csched_job *job) {
  csched_serial *serial = (csched_serial *)target;
  csched_push_result result = csched_mpsc_push(&serial->inbox, job);
  if (CSCHED_LIKELY(result == CSCHED_PUSHED)) return 0; // SQ2: the queue's owner runs the job
  if (result == CSCHED_PUSHED_WAKE) {                   // SQ1: it was PARKED: this thread owns it for a moment
    const csched_job *drain = &serial->drain;
    if (CSCHED_LIKELY(offer(serial, false, false) == 0)) return 0;
    // SQ10: a helper may have been first. Not accessed from here on: `serial` may be freed, `job` too
    return csched_frames_has_refused_(drain, job) ? ECANCELED : 0;
  }
  return deliver_late(serial, job);
}

static int deliver_to_serial_at(csched_target *target, csched_timer *timer, csched_time deadline, csched_time leeway) {
  csched_serial *serial = (csched_serial *)target;
  return serial->base->type->deliver_at(serial->base, timer, deadline, leeway); // when due, the base delivers it here
}

// MARK: suspending

void csched_serial_suspend(csched_serial *serial) {
  csched_fetch_add_relaxed(&serial->hold, (uint32_t)SUSPENSION); // SQ3: the owner checks `hold` before each job
}

void csched_serial_resume(csched_serial *serial) {           // the final resume of a stalled queue becomes its owner
  uint32_t hold = csched_load_relaxed(&serial->hold), after; // racy read, rechecked by the cas
  do {
    if (CSCHED_UNLIKELY(serial->target.type == &csched_target_orphaned_)) return; // SQ9: orphaned: no job may start
    if (hold < SUSPENSION)
      csched_panic_("csched_serial_resume", "queue %p is not suspended. Resume once for each suspend.", (void *)serial);
    after = hold - SUSPENSION == STALLED ? 0 : hold - SUSPENSION; // the final resume also clears STALLED
  } while (!csched_cas_acquire(&serial->hold, &hold, after));     // SQ3: sees what the stalled owner did
  if (hold - SUSPENSION != STALLED) return;
  release_queue(serial); // SQ2: STALLED: this final resume is the new owner
  release_reference(serial);
}

// MARK: entering the queue for an inline sync

// Does: makes the caller the queue's owner, for an inline sync. Returns: false: not, because the queue is busy or
// suspended, or its base refuses.
static bool enter_serial(csched_target *target) {
  csched_serial *serial = (csched_serial *)target;
  if (!csched_mpsc_notify(&serial->inbox)) return false;                               // SQ1: not idle: it has an owner
  if (!is_suspended(serial) && csched_target_enter_inline_(serial->base)) return true; // SQ7: the base permits it, too
  release_queue(serial); // gives the queue back: parks it, or another owner continues with its jobs
  return false;
}

// The target's `leave`. Does: ends the caller's ownership of the queue, and of its base.
static void leave_serial(csched_target *target) {
  csched_serial *serial = (csched_serial *)target;
  release_queue(serial); // SQ2: first: while the base is entered, a drain job submitted here wakes no thread
  csched_target_leave_inline_(serial->base);
}

// MARK: unwinding

static void sync_unwound(csched_job *held) { // SQ8: `release` of `held`: an inline sync was unwound
  csched_serial *serial = held->context;
  bool has_reference = serial->has_reference; // then csched_serial_run_timer_ was unwound, too
  serial->has_reference = false;
  leave_serial(held->context);
  if (has_reference) release_reference(serial);
}
static const csched_job_type held_type = {.release = sync_unwound};

// MARK: target functions

static csched_target *base(const csched_target *target) { return ((const csched_serial *)target)->base; }

static bool is_serial_closed(const csched_target *target) { // SQ7: the base has refused the drain job
  return csched_mpsc_is_closed(&((const csched_serial *)target)->inbox);
}

static bool serial_has(const csched_target *target, const csched_job *job) { // SQ9: whether `job` waits here
  return csched_mpsc_has(&((const csched_serial *)target)->inbox, job);
}

static void describe_serial(const csched_target *target, csched_text *text) { // for dumps
  const csched_serial *serial = (const csched_serial *)target;
  bool has_name = csched_load_acquire(&serial->has_name) != 0; // SQ1: sees `name`: pairs with csched_serial_set_name
  csched_text_target_(text, "queue", target, has_name ? serial->name : "");
  csched_text_add_(text, " on ");
  csched_text_address_(text, serial->base);
  if (text->is_name_only) return;
  csched_mpsc_seen inbox = csched_mpsc_inspect_(&serial->inbox, CSCHED_DUMP_PENDING);
  uint32_t hold = csched_load_relaxed(&serial->hold);                           // racy read, for dumps
  unsigned state = csched_job_state_(csched_load_relaxed(&serial->drain.word)); // racy read, for dumps
  if (hold >= SUSPENSION) {
    csched_text_add_(text, ": suspended ");
    csched_text_number_(text, hold / SUSPENSION);
    csched_text_add_(text, " times");
  } else if (inbox.is_closed) csched_text_add_(text, ": accepts no more work");
  else if (inbox.is_parked) csched_text_add_(text, ": idle");
  else if (state == CSCHED_JOB_QUEUED) csched_text_add_(text, ": waits for its turn");
  else csched_text_add_(text, state == CSCHED_JOB_RUNNING ? ": runs" : ": held by a sync");
  csched_text_pending_(text, ", ", inbox);
}

static uint32_t *follow_up(const csched_target *target) { return follow_up_of((const csched_serial *)target); }

// MARK: syncs that wait

// A sync that could not run inline: a job on the stack of the caller, which helps or sleeps until it has ended.
typedef struct sync_job {
  csched_job job;
  void (*body)(void *);
  void *context;
  csched_helper
      helper; // the caller as a helper; `helper.ended`: futex: 0; CSCHED_ENDED: the caller may continue; CSCHED_OFFER
  uint32_t thread; // the calling thread (csched_lock_self_)
  int result;      // 0: `body` has run; ECANCELED: the job was dropped
} sync_job;

static void end_sync(sync_job *sync, int result) {
  sync->result = result;
  bool is_own = sync->thread == csched_lock_self_(); // the caller helps, and so needs no wake
  uint32_t *ended = &sync->helper.ended;
  csched_store_release(ended, CSCHED_ENDED); // SQ1: pairs with sync_as_job's acquire; publishes `body`'s writes
  if (!is_own) csched_futex_wake_(ended, 1); // the caller may have freed `sync`: uses only its address
}
static void run_sync(csched_job *job) {
  sync_job *sync = (sync_job *)job;
  if (sync->thread == csched_lock_self_())
    csched_helper_shows_outer_(&sync->helper); // its own body, of a queue on the helped one
  sync->body(sync->context);
}
static void drop_sync(csched_job *job) { ((sync_job *)job)->result = ECANCELED; }
static void sync_ended(csched_job *job) { end_sync((sync_job *)job, ((sync_job *)job)->result); }
static const csched_own_job_type sync_type = CSCHED_OWN_JOB_TYPE(run_sync, drop_sync, sync_ended, false);

// Returns: the helper whose sync is the queue's next job; NULL: the next job is no sync. Requires: the caller owns the
// queue.
static const csched_helper *next_helper(csched_serial *serial) {
  csched_job *job = csched_mpsc_peek(&serial->inbox);
  return job != NULL && job->type == &sync_type.type ? &((sync_job *)job)->helper : NULL;
}

// MARK: helping

static void add_helper(csched_target *target, csched_helper *helper) { // SQ10
  csched_serial *serial = (csched_serial *)target;
  csched_lock_lock(&serial->helpers_lock);
  if (TAILQ_EMPTY(&serial->helpers))
    csched_fetch_add_acq_rel(&serial->use,
                             (uint32_t)AWAITED); // SQ10: a later offer locks the list, and wakes the helper
  TAILQ_INSERT_TAIL(&serial->helpers, helper, link);
  csched_lock_unlock(&serial->helpers_lock);
}

// Another thread's sync is run by that thread, or by the drain job, but not by a helper: its body may end its thread
// (SQ8).
static csched_help_result help_serial(csched_target *target, csched_helper *helper, const csched_job *own,
                                      csched_target *waited) { // SQ10
  csched_serial *serial = (csched_serial *)target;
  csched_help_result result = CSCHED_HELPED_NOTHING;
  csched_frame spare;
  csched_job *job;
  if (!claim_offer(serial)) return CSCHED_HELPED_NOTHING;
  if (!csched_may_help_(target)) { // the pool drops its work, this queue's too
    offer(serial, true, true);
    return CSCHED_HELPED_NOTHING;
  }
  csched_helper_begin_(helper, &spare);
  while (csched_load_relaxed(&helper->ended) != CSCHED_ENDED &&
         !is_suspended(serial) && // SQ1: relaxed: read again later
         (job = csched_mpsc_peek(&serial->inbox)) != NULL) {
    bool is_own = job == own;
    if (!is_own && job->type == &sync_type.type) break; // release_queue wakes its thread
    csched_mpsc_pop(&serial->inbox);
    if (job == serial->rest) serial->rest = NULL; // SQ13
    result = is_own && !serial->is_ending && !csched_is_observed_() ? CSCHED_HELP_REACHED_OWN_JOB
                                                                    : CSCHED_HELPED; // observers see a job's run
    if (result == CSCHED_HELP_REACHED_OWN_JOB) break;
    run_accepted(serial, job);
  }
  csched_helper_end_(helper, result == CSCHED_HELP_REACHED_OWN_JOB ? NULL : waited);
  if (CSCHED_UNLIKELY(serial->is_ending)) tell_if_ended(serial);
  if (result != CSCHED_HELP_REACHED_OWN_JOB) release_queue(serial); // else the caller runs it as an inline sync
  return result;
}

static void remove_helper(csched_target *target, csched_helper *helper) {
  csched_serial *serial = (csched_serial *)target;
  csched_lock_lock(&serial->helpers_lock);
  TAILQ_REMOVE(&serial->helpers, helper, link);
  if (TAILQ_EMPTY(&serial->helpers))
    csched_fetch_add_acq_rel(&serial->use, ~(uint32_t)AWAITED + 1); // SQ10: later offers submit the drain job
  csched_lock_unlock(&serial->helpers_lock);
  if (claim_offer(serial)) release_queue(serial); // SQ10: it may have been this helper that was woken for the offer
}

static const struct csched_helping serial_helping = {add_helper, help_serial, remove_helper};

static const csched_target_type serial_type = {.deliver = deliver_to_serial,
                                               .deliver_at = deliver_to_serial_at,
                                               .base = base,
                                               .enter = enter_serial,
                                               .leave = leave_serial,
                                               .is_closed = is_serial_closed,
                                               .has = serial_has,
                                               .follow_up_ = follow_up,
                                               .describe_ = describe_serial,
                                               .helping_ = &serial_helping,
                                               .only_enqueues_ = true};

// MARK: syncs

// Does: sleeps or helps until `sync` has ended, or is the next job of `serial`, which this thread then owns. Returns:
// true in the second case: the caller runs the body, and leaves the queue. `helped`: the target that this thread may
// help; NULL: none.
static bool await_turn(csched_serial *serial, csched_target *helped, sync_job *sync) {
  const struct csched_helping *helping = helped != NULL ? helped->type->helping_ : NULL;
  csched_helper *helper = &sync->helper;
  csched_help_result result = CSCHED_HELPED_NOTHING;
  for (uint32_t word; (word = csched_load_acquire(&helper->ended)) != CSCHED_ENDED;) { // SQ1: pairs with end_sync
    if (word == CSCHED_OFFER)
      csched_cas_acquire(&helper->ended, &word, 0u); // helping.c HL1: pairs with csched_helper_wake_locked_
    if (helping != NULL) result = helping->help(helped, helper, &sync->job, &serial->target);
    if (result == CSCHED_HELP_REACHED_OWN_JOB) break;
    if (result == CSCHED_HELPED_NOTHING) csched_futex_wait_(&helper->ended, 0, CSCHED_FOREVER);
  }
  if (helping != NULL) helping->remove(helped, helper);
  return result == CSCHED_HELP_REACHED_OWN_JOB;
}

// Does: submits `body` as a job, and waits until it has run. Returns: 0; ECANCELED: `body` did not run; EDEADLK: the
// wait would never end. `*enters`: true, with 0: the queue's next job was `body`, which has not run: the caller owns
// the queue, calls `body`, and leaves the queue.
static CSCHED_NOINLINE int sync_as_job(csched_serial *serial, void (*body)(void *), void *context, bool *enters) {
  sync_job sync = {.body = body, .context = context, .thread = csched_lock_self_()};
  sync.helper.function = "csched_serial_sync";
  csched_target *root = serial->root, *helped = csched_helped_target_(&serial->target);
  csched_job_init(&sync.job, &sync_type.type, NULL);
  *enters = false;
  if (csched_target_is_closed_(&serial->target)) return ECANCELED;    // SQ7: the queue or a base is closed
  if (!csched_deadlock_check_begin_(&serial->target)) return EDEADLK; // SQ7: the wait would close a cycle
  csched_blocked_begin_("csched_serial_sync", &serial->target);       // for dumps and the watchdog
  if (helped != NULL)
    helped->type->helping_->add(helped, &sync.helper); // SQ10: before the submission, so that each offer finds it
  csched_target_submit(&serial->target, &sync.job);    // if refused, drop_sync sets the result
  if (root->type->await_sync_ != NULL)                 // virtual time: runs due work on this thread
    root->type->await_sync_(root, &serial->target, &sync.helper.ended);
  *enters = await_turn(serial, helped, &sync);
  csched_deadlock_check_end_();
  csched_blocked_end_();
  return *enters ? 0 : sync.result;
}

CSCHED_NOINLINE bool csched_serial_try_enter(csched_serial *serial, csched_target_inside *inside) {
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME()); // SQ8: first ends this thread's unwound syncs
  if (!enter_serial(&serial->target)) return false;
  inside->frame = csched_frame_begin_(&inside->spare, (uintptr_t)inside, &serial->held, &serial->target);
  return true;
}

CSCHED_NOINLINE void csched_serial_leave(csched_serial *serial, const csched_target_inside *inside) {
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME()); // SQ8: first ends this thread's unwound syncs
  csched_frame_end_(inside->frame);
  leave_serial(&serial->target);
}

// Does: runs `body` in the queue: at once if the queue is idle; else as a job, and waits. Returns: 0; ECANCELED,
// EDEADLK: `body` does not run.
CSCHED_NOINLINE int csched_serial_sync_(csched_serial *serial, void (*body)(void *), void *context,
                                        csched_scope *scope) {
  CSCHED_ROOM_IN_FRAME(); // SQ8: so that a later call can tell that this stack frame was unwound
  CSCHED_NEEDS_FUNCTION_(body, "csched_serial_sync");
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME()); // SQ8: first ends this thread's unwound syncs
  if (!enter_serial(&serial->target)) {
    bool enters;
    int error = sync_as_job(serial, body, context, &enters);
    if (!enters) return error;
  }
  scope->frame = csched_frame_begin_(&scope->spare, CSCHED_OWN_FRAME(), &serial->held, &serial->target);
  body(context);
  csched_frame_end_(scope->frame);
  leave_serial(&serial->target);
  return 0;
}

// See target_internal.h. Acquires a reference for the call, because the timer's job may release the queue's last other
// reference.
bool csched_serial_run_timer_(csched_timer *timer) {
  csched_serial *serial = (csched_serial *)timer->target;
  csched_target_inside inside;
  bool has_run = false;
  if (serial->target.type != &serial_type) { // the timer's target is no serial queue
    timer->target->type->deliver(timer->target, &timer->job);
    return false;
  }
  acquire_reference(serial);
  if (csched_serial_try_enter(serial, &inside)) {
    serial->has_reference = true; // so that sync_unwound, if the run is unwound, releases the reference
    has_run = csched_job_perform_on_(&timer->job, &serial->target);
    serial->has_reference = false;
    csched_serial_leave(serial, &inside);
  } else {
    deliver_to_serial(&serial->target, &timer->job);
  }
  release_reference(serial);
  return has_run;
}

// MARK: process forks

// Returns: whether the drain job is queued on the base. A base without `has` cannot be asked: then a submitted drain
// job counts as queued.
static bool is_drain_waiting(const csched_serial *serial) {
  const csched_target *base = serial->base;
  return csched_job_state_(csched_load_relaxed(&serial->drain.word)) ==
             CSCHED_JOB_QUEUED && // SQ9: no other thread here
         (base->type->has == NULL || base->type->has(base, &serial->drain));
}

// Does: if the run of the drain job was on a thread of the parent, clears LINKED. Its reference remains, so the queue
// is never freed in the child.
static void clear_lost_link(csched_serial *serial) { // SQ9: relaxed: the child has one thread
  uint32_t use = csched_load_relaxed(&serial->use);  // SQ9: relaxed: the child has one thread
  if ((use & LINKED) == 0 || is_drain_waiting(serial) || csched_job_is_running_here_(&serial->drain) ||
      csched_frame_has_due_(&serial->drain))
    return;
  csched_job_init(&serial->drain, &drain_type.type, serial);   // idle again: a thread of the parent had started it
  csched_store_relaxed(&serial->use, use & ~(uint32_t)LINKED); // SQ9: relaxed: the child has one thread
}

// Returns: whether the queue is busy, and no thread of the child and no resume will continue with it: its owner is a
// thread of the parent.
static bool has_lost_owner(const csched_serial *serial) {
  csched_mpsc inbox = serial->inbox; // a copy: csched_mpsc_unpark, which returns whether it was parked, changes it
  uint32_t use = csched_load_relaxed(&serial->use); // SQ9: relaxed: the child has one thread
  return !csched_mpsc_unpark(&inbox) && !csched_mpsc_is_closed(&inbox) &&
         (use & (OFFERED | LINKED)) != (OFFERED | LINKED) &&
         (csched_load_relaxed(&serial->hold) & STALLED) == 0 && // SQ9: relaxed: the child has one thread
         !csched_target_holds_(&serial->target);
}

// Does: removes the syncs of the parent's other threads, which lie on stacks that new threads will reuse.
static void remove_syncs_of_other_threads(csched_serial *serial) { // SQ9: only in a fork's child
  csched_job *first = NULL, **end = &first;
  while (!csched_mpsc_is_empty(&serial->inbox)) {
    csched_job *job = csched_mpsc_pop(&serial->inbox);
    if (job->type == &sync_type.type && ((sync_job *)job)->thread != csched_lock_self_()) continue; // removed
    *end = job;
    end = &job->next;
  }
  *end = NULL;
  serial->inbox.first = first; // the jobs that stay, oldest first: the owner's own list in front of the pushed jobs
}

// Does: as `offer` to the base, without the submission. Returns: whether the drain job must be submitted.
static bool offer_in_child(csched_serial *serial) {
  uint32_t use = csched_load_relaxed(&serial->use); // SQ9: relaxed: the child has one thread
  bool submits = (use & LINKED) == 0;
  csched_store_relaxed(&serial->use, (use | OFFERED) + (submits ? LINKED + REFERENCE : 0)); // SQ9: relaxed, as above
  return submits;
}

static void continue_in_child(csched_serial *serial) { // SQ9: unlocked, because a user's base may run the drain job
  if (serial->retain != NULL) serial->retain(serial->keeper);
  submit_drain_again(serial);
}

static void serial_at_fork(csched_atfork *atfork, csched_atfork_phase phase) { // SQ9: repairs the queue in the child
  csched_serial *serial = (csched_serial *)((char *)atfork - offsetof(csched_serial, atfork));
  if (phase == CSCHED_ATFORK_AFTER_CHILD) continue_in_child(serial);
  if (phase != CSCHED_ATFORK_IN_CHILD_LAST) return;
  serial->helpers_lock = (csched_lock)CSCHED_LOCK_INIT; // helpers are threads of the parent
  TAILQ_INIT(&serial->helpers);
  csched_store_relaxed(&serial->use, serial->use & ~(uint32_t)AWAITED); // SQ9: relaxed: the child has one thread
  serial->target.waits_for = NULL;                                      // the thread that waited is in the parent
  if (csched_target_is_orphaned_(serial->base)) {
    csched_fetch_add_relaxed(&serial->hold, (uint32_t)SUSPENSION); // SQ9: for ever, so no job starts
    csched_mpsc_close(&serial->inbox);
    serial->target.type = &csched_target_orphaned_;
    return;
  }
  remove_syncs_of_other_threads(serial);
  clear_lost_link(serial);
  atfork->continues = has_lost_owner(serial) && offer_in_child(serial);
}

// Returns: whether the queue, on the loop `root`, has accepted jobs, and neither this thread nor a resume continues
// with it.
static bool is_busy(csched_atfork *atfork, const void *root) { // SQ13
  const csched_serial *serial = (const csched_serial *)((char *)atfork - offsetof(csched_serial, atfork));
  if (serial->root != root) return false;
  bool rests = csched_mpsc_is_at_rest(&serial->inbox);
  if (rests &&
      csched_mpsc_is_closed(&serial->inbox)) // then `use`, in this order: a thread that closes the inbox is LINKED
    rests = (csched_load_acquire(&serial->use) & (OFFERED | LINKED)) == 0; // SQ11: pairs with offer
  return !rests && !is_suspended(serial) && !csched_target_holds_(&serial->target);
}

const csched_target *csched_serial_of_atfork_(const csched_atfork *atfork) {
  return atfork->handler == serial_at_fork
             ? (const csched_target *)((const char *)atfork - offsetof(csched_serial, atfork))
             : NULL;
}

// MARK: create and destroy

int csched_serial_create(csched_serial **result, csched_target *base) {
  csched_serial *serial = malloc(sizeof *serial);
  if (serial == NULL) return ENOMEM;
  *serial = (csched_serial){.target = {.type = &serial_type}, .base = base, .use = REFERENCE};
  serial->root = csched_target_root_(base);
  serial->count_virtual = serial->root->type->count_job_; // not NULL: virtual time
  TAILQ_INIT(&serial->helpers);
  csched_mpsc_init(&serial->inbox);
  csched_mpsc_park(&serial->inbox); // SQ1: the queue starts idle: the first push submits the drain job
  csched_job_init(&serial->drain, &drain_type.type, serial);
  csched_job_init(&serial->held, &held_type, serial);
  serial->atfork.is_busy = is_busy;
  csched_os_atfork_(&serial->atfork, serial_at_fork);
  *result = serial;
  return 0;
}

void csched_serial_set_name(csched_serial *serial, const char *name) {
  csched_name_copy_(serial->name, sizeof serial->name, name);
  csched_store_release(&serial->has_name, 1u); // SQ1: pairs with describe_serial; publishes the name
}

void csched_serial_own(csched_serial *serial, void (*retain)(void *), void (*release)(void *), void *keeper) {
  serial->retain = retain;
  serial->release = release;
  serial->keeper = serial->target.owner = keeper;
}

void csched_serial_on_closed_(csched_serial *serial, void (*closed)(void *), csched_target *(*continued_on)(void *)) {
  serial->closed = closed;
  serial->continued_on = continued_on;
}

void csched_serial_destroy(csched_serial *serial) {
  if (CSCHED_UNLIKELY(serial->target.type == &csched_target_orphaned_)) return; // SQ9: never freed in the child
  csched_frames_end_for_job_(&serial->held); // SQ8: ends an inline sync that longjmp unwound, if it was not found yet
  while (is_suspended(serial)) csched_serial_resume(serial); // jobs that were submitted still run
  uint32_t minus = ~(uint32_t)REFERENCE + 1;
  if (csched_fetch_add_acq_rel(&serial->use, minus) + minus < REFERENCE)
    free_serial(serial); // SQ5: sees all other uses
}
