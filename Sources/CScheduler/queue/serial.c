// A serial queue: runs jobs one at a time, in order, on the threads of its base target.
//
// States
//   inbox      the queue's jobs (mpsc.c). PARKED: the queue is idle. Otherwise the queue has one owner: the drain job, which is submitted to the base
//              or runs; a sync that runs inline; or, while STALLED is set, the resume that will end the suspension
//   hold       2 times the number of suspensions, plus STALLED (1): the owner has found the queue suspended, and has released it without parking it
//   references reference count: one for the handle, one for the queue's owner. An inline sync acquires none, because its caller keeps the queue valid
//
// Invariants
//   SQ1  Jobs run one at a time: only the queue's owner runs them. A thread acquires the queue by changing PARKED, and releases the queue by parking
//       it again. Each of the two steps is one compare-and-exchange.
//   SQ2  No job waits for ever: an owner that releases the queue parks the queue, or finds more jobs and submits the drain job, or sets STALLED for a
//       resume. A push that does not find PARKED submits no drain job, because the queue's owner runs the pushed job.
//   SQ3  Suspension: after a suspend no job starts, except a job for which the owner had already checked `hold`. The final resume and the owner's
//       release change the same word, so exactly one of them continues with the queue.
//   SQ4  No queue starves another: the drain job runs at most BATCH jobs, on a loop at most the rest of the loop's batch (loop.c, LP3). If jobs
//       remain, the drain job is submitted again, behind the base's other work. A batch also ends after a job that has a follow-up (WK10).
//   SQ5  The thread that releases the final reference frees the structure.
//   SQ6  If the base refuses the drain job, the queue closes: all its jobs are dropped, and later submissions are refused.
//   SQ7  A sync that could never end is refused: EDEADLK (waits.c). If the base accepts no more work, each sync is refused: ECANCELED.
//   SQ8  If an exception, longjmp or thread exit unwinds a job or a sync, the queue is released. It then continues with the next job.
//   SQ9  In a process fork's child, a queue with an orphaned base stops the process when work is submitted; any other queue continues. Waiting syncs
//       of the parent's other threads are removed, because new threads will reuse the stacks of those threads.
// Orderings
//   hold: acquire and release, so that a resume sees what the owner did · references: acquire and release, so that the freeing thread sees all uses
// Assumes: a job may be submitted again only from its `release` on (job.h). So the drain job releases the queue there (drain_ended).
// Source: a mailbox with a scheduled bit, as in actor systems; here the bit is the inbox's PARKED mark.
// Checked by: "a serial queue runs one at a time, in order", "a serial queue on a serial queue keeps the order of equal deadlines", "a suspended
//   queue begins nothing", "sync runs inline when the queue is idle", "sync that cannot end is reported", "a circle of waits over threads is
//   reported", "sync on a queue whose base was stopped is refused, idle or not", "a queue goes on after a longjmp out of a sync", "a long queue lets
//   others in between", "a batch takes few of each kind", "a serial queue whose base is gone drops everything", "a released queue runs what it has",
//   "a serial queue goes on when a job ends its thread", "after fork a queue of the parent stops the process", "after fork the thread's own loops go
//   on", "after fork a queue goes on that a thread of the parent was about to wake", "after fork a lock that its thread holds can be unlocked and
//   taken, with sleepers of the parent or without".
// Models: checks/serial.c, checks/waits.c, checks/frames.c, checks/loop.c. Not modelled: SQ9.

#include <CScheduler/serial.h>
#include "../base/panic.h"
#include "../job/job_internal.h"
#include "../job/frames_internal.h"
#include "../job/mpsc_internal.h"
#include "../job/observed.h"
#include "../loop/loop_internal.h"
#include "../platform/platform.h"
#include "../sync/lock_internal.h"
#include "../target/target_internal.h"
#include "queue_internal.h"
#include <errno.h>
#include <stdlib.h>

enum { BATCH = 64 };                  // the most user jobs that one run of the drain job runs
enum { STALLED = 1, SUSPENSION = 2 }; // in `hold`: the flag; one suspension

struct csched_serial {
  csched_target target;
  csched_target *base, *root;                             // the drain job's target; the end of the chain of bases
  bool (*count_virtual)(csched_target *root, int change); // virtual time: counts a job (1), uncounts (-1); else NULL
  csched_mpsc inbox;                                      // the user jobs and syncs that have not started
  csched_job drain;                                       // submitted to the base: runs the queue's jobs
  csched_job held;     // placeholder in an inline sync's context frame; its `release` is sync_unwound
  bool has_reference;  // csched_serial_run_timer_ runs a job: if that is unwound, sync_unwound releases the reference
  uint32_t hold;       // SQ3: SUSPENSION times the number of suspensions, plus STALLED
  uint32_t references; // SQ5: reference count: of the handle, the queue's owner, and a timer's run
  void (*retain)(void *), (*release)(void *); // called with `owner`: when the queue gets busy, when idle again; or NULL
  void (*closed)(void *); // called with `owner` when the base has refused the drain job (SQ6); may be NULL
  void *owner;            // the object that contains the queue: csched_serial_own
  csched_atfork atfork;   // calls serial_at_fork; also the queue's entry for dumps
  uint32_t has_name;      // 1: `name` is set
  char name[32];
};

_Static_assert(offsetof(csched_serial, target) == 0, "csched_serial_target is a cast");

static void decrement_references(csched_serial *serial) { // SQ5: releasing the final reference frees the queue
  if (csched_fetch_add_acq_rel(&serial->references, UINT32_MAX) != 1) return; // SQ5: sees all other uses, then frees
  csched_os_atfork_end_(&serial->atfork);
  csched_observe_gone_(&serial->target);
  free(serial);
}

// Does: acquires a reference to the structure for the queue's new owner, and retains the user's object `serial->owner`, until release_reference.
static void acquire_reference(csched_serial *serial) {
  csched_fetch_add_relaxed(&serial->references, 1u); // SQ5: the caller keeps the queue valid meanwhile
  if (serial->retain != NULL) serial->retain(serial->owner);
}

static void release_reference(csched_serial *serial) { // the reverse of acquire_reference; may free `serial`
  void (*release)(void *) = serial->release;           // loaded first: decrement_references may free `serial`
  void *owner = serial->owner;
  decrement_references(serial);
  if (release != NULL) release(owner);
}

static bool is_suspended(const csched_serial *serial) {
  return csched_load_relaxed(&serial->hold) >= SUSPENSION; // SQ3: may be old: a job that starts now may still run
}

// MARK: owning the queue: only its owner runs jobs

// Does: makes the drain job the owner, and submits it to the base. Returns: 0; ECANCELED: the base refuses, and so the queue has dropped all (SQ6).
static int submit_drain(csched_serial *serial) {
  csched_job_submitted_(&serial->drain, "csched_target_submit"); // required before `deliver` links it
  return serial->base->type->deliver(serial->base, &serial->drain);
}

// Does: if the queue is suspended, sets STALLED: the final resume then owns the queue. Returns: false: not suspended, so the caller stays the owner.
static bool stall_if_suspended(csched_serial *serial) {
  uint32_t hold = csched_load_relaxed(&serial->hold); // SQ3: rechecked by the cas
  while (hold >= SUSPENSION)
    if (csched_cas_release(&serial->hold, &hold, hold | STALLED)) return true; // SQ3: the resume owns it next
  return false;
}

// Does: ends the caller's ownership. The next owner is the final resume, if suspended, or the drain job, if jobs remain. Else the queue is parked.
static void release_queue(csched_serial *serial) {
  if (stall_if_suspended(serial)) return;  // SQ2: the final resume continues with the queue
  if (!csched_mpsc_park(&serial->inbox)) { // SQ1: fails if there are jobs
    submit_drain(serial);                  // SQ2: the drain job continues, with the caller's reference
    return;
  }
  release_reference(serial); // parked: the queue has no owner
}

// Does: as release_queue, for an inline sync, which has acquired no reference. So a sync costs two locked instructions instead of six.
static void release_inline(csched_serial *serial) {
  if (!is_suspended(serial) && csched_mpsc_park(&serial->inbox)) return; // SQ1: parked, so released
  acquire_reference(serial);                                             // for the next owner
  release_queue(serial);
}

// Does: counts one job in the batch of the loop that runs the drain job: `*left` more may run; NULL: no loop. Returns: false: the batch is full.
// The first job of a drain is not counted, because the loop has counted the drain job.
static bool count_in_batch(unsigned *left) {
  if (left == NULL) return true;
  bool has_room = *left > 0;
  if (has_room) --*left;
  return has_room;
}

// Does: as run_drain, in virtual time, which counts and limits the jobs that run. The drain job counts as one, so the first job is not counted again.
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
  if (!is_suspended(serial) && !csched_mpsc_is_empty(&serial->inbox)) submit_drain(serial); // SQ4: behind other work
}

// Returns: the state of the worker's follow-up, a job to run after the current job: CSCHED_FOLLOW_UP_NONE, …. NULL: the base runs no follow-ups.
static uint32_t *follow_up_of(const csched_serial *serial) {
  const csched_target *base = serial->base;
  return base->type->follow_up_ != NULL ? base->type->follow_up_(base) : NULL;
}

static void run_drain(csched_job *drain) { // the drain job's `run`. SQ4: runs one batch of the queue's jobs
  csched_serial *serial = drain->context;
  unsigned *left = csched_loop_jobs_left_(); // jobs that the loop's batch may still run; NULL: no loop runs this
  const uint32_t *follow_up = follow_up_of(serial);
  csched_job *job;
  if (CSCHED_UNLIKELY(serial->count_virtual != NULL)) {
    run_drain_in_virtual_time(serial);
    return;
  }
  for (int i = 0; i < BATCH && (i == 0 || count_in_batch(left)); i++) {                  // SQ4: bounded: others run too
    if (is_suspended(serial) || (job = csched_mpsc_pop(&serial->inbox)) == NULL) return; // drain_ended releases queue
    csched_job_perform_on_(job, &serial->target);
    if (CSCHED_UNLIKELY(follow_up != NULL && *follow_up != CSCHED_FOLLOW_UP_NONE)) break; // SQ4: follow-up is next
  }
  if (!csched_mpsc_is_empty(&serial->inbox)) submit_drain(serial); // SQ4: behind other work; drain_ended comes later
}

static void drop_all(csched_job *drain) { // the drain job's `drop`. SQ6: the base has refused the drain job
  csched_serial *serial = drain->context;
  csched_mpsc_close(&serial->inbox); // first: later pushes are refused, so the loop drops all jobs
  for (csched_job *job; (job = csched_mpsc_pop(&serial->inbox)) != NULL;) csched_job_discard_(job);
}

// The drain job's `release`. Does: after its run, releases the queue. After its drop the queue is closed: calls `closed`, and releases the reference.
static void drain_ended(csched_job *drain) {
  csched_serial *serial = drain->context;
  if (!csched_mpsc_is_closed(&serial->inbox)) {
    release_queue(serial);
    return;
  }
  if (serial->closed != NULL) serial->closed(serial->owner);
  release_reference(serial); // SQ6: a closed queue is not parked, so it never gets another owner
}

static const csched_own_job_type drain_type = CSCHED_OWN_JOB_TYPE(run_drain, drop_all, drain_ended);

// MARK: submitting

// The target's `deliver`. Returns: 0; ECANCELED: the queue is closed, or its base has refused the drain job. `job` was then dropped.
static int deliver_to_serial(csched_target *target, csched_job *job) {
  csched_serial *serial = (csched_serial *)target;
  csched_push_result result = csched_mpsc_push(&serial->inbox, job);
  if (CSCHED_LIKELY(result == CSCHED_PUSHED)) return 0; // SQ2: the queue's owner runs the job
  if (result == CSCHED_PUSHED_WAKE) {                   // SQ1: it was PARKED: the drain job becomes the owner
    acquire_reference(serial);
    return submit_drain(serial);
  }
  csched_job_discard_(job); // SQ6: the queue is closed, and accepts no job
  return ECANCELED;
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
  if (hold - SUSPENSION == STALLED) release_queue(serial);        // SQ2: STALLED: this final resume is the new owner
}

// MARK: entering the queue for an inline sync

// Does: makes the caller the queue's owner, for an inline sync. Returns: false: not, because the queue is busy or suspended, or its base refuses.
static bool enter_serial(csched_target *target) {
  csched_serial *serial = (csched_serial *)target;
  if (!csched_mpsc_notify(&serial->inbox)) return false;                               // SQ1: not idle: it has an owner
  if (!is_suspended(serial) && csched_target_enter_inline_(serial->base)) return true; // SQ7: the base permits it, too
  release_inline(serial); // gives the queue back: parks it, or another owner continues with its jobs
  return false;
}

// The target's `leave`. Does: ends the caller's ownership of the queue, and of its base.
static void leave_serial(csched_target *target) {
  csched_serial *serial = (csched_serial *)target;
  release_inline(serial); // SQ2: first: while the base is entered, a drain job submitted here wakes no thread
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
  csched_mpsc_seen inbox = csched_mpsc_inspect_(&serial->inbox, CSCHED_DUMP_PENDING);
  uint32_t hold = csched_load_relaxed(&serial->hold);                           // racy read, for dumps
  unsigned state = csched_job_state_(csched_load_relaxed(&serial->drain.word)); // racy read, for dumps
  bool has_name = csched_load_acquire(&serial->has_name) != 0; // SQ1: sees `name`: pairs with csched_serial_set_name
  csched_text_target_(text, "queue", target, has_name ? serial->name : "");
  csched_text_add_(text, " on ");
  csched_text_address_(text, serial->base);
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

static const csched_target_type serial_type = {.deliver = deliver_to_serial,
                                               .deliver_at = deliver_to_serial_at,
                                               .base = base,
                                               .enter = enter_serial,
                                               .leave = leave_serial,
                                               .is_closed = is_serial_closed,
                                               .has = serial_has,
                                               .follow_up_ = follow_up,
                                               .describe_ = describe_serial,
                                               .only_enqueues_ = true};

// MARK: syncs

// A sync that could not run inline: a job on the stack of the caller, which sleeps until `ended`.
typedef struct sync_job {
  csched_job job;
  void (*body)(void *);
  void *context;
  uint32_t ended;  // futex: 0; CSCHED_ENDED: the caller may continue
  uint32_t thread; // the calling thread (csched_lock_self_)
  int result;      // 0: `body` has run; ECANCELED: the job was dropped
} sync_job;

static void end_sync(sync_job *sync, int result) {
  sync->result = result;
  uint32_t *ended = &sync->ended;
  csched_store_release(ended, CSCHED_ENDED); // SQ1: pairs with sync_as_job's acquire; publishes `body`'s writes
  csched_futex_wake_(ended, 1);              // the caller may have freed `sync`: uses only its address
}
static void run_sync(csched_job *job) { ((sync_job *)job)->body(((sync_job *)job)->context); }
static void drop_sync(csched_job *job) { ((sync_job *)job)->result = ECANCELED; }
static void sync_ended(csched_job *job) { end_sync((sync_job *)job, ((sync_job *)job)->result); }
static const csched_own_job_type sync_type = CSCHED_OWN_JOB_TYPE(run_sync, drop_sync, sync_ended);

// Does: submits `body` as a job, and sleeps until it has run. Returns: 0; ECANCELED: `body` did not run; EDEADLK: the wait would never end.
static int sync_as_job(csched_serial *serial, void (*body)(void *), void *context) {
  sync_job sync = {.body = body, .context = context, .thread = csched_lock_self_()};
  csched_job_init(&sync.job, &sync_type.type, NULL);
  if (csched_target_is_closed_(&serial->target)) return ECANCELED;    // SQ7: the queue or a base is closed
  if (!csched_deadlock_check_begin_(&serial->target)) return EDEADLK; // SQ7: the wait would close a cycle
  csched_blocked_begin_("csched_serial_sync", &serial->target);       // for dumps and the watchdog
  csched_target_submit(&serial->target, &sync.job);                   // if refused, drop_sync sets the result
  // The root may run due work on this thread, or donate this thread's priority, while the sync waits.
  if (serial->root->type->await_sync_ != NULL)
    serial->root->type->await_sync_(serial->root, &serial->target, &sync.ended);
  while (csched_load_acquire(&sync.ended) != CSCHED_ENDED) // SQ1: sees the writes of `body`; pairs with end_sync
    csched_futex_wait_(&sync.ended, 0, CSCHED_FOREVER);
  csched_deadlock_check_end_();
  csched_blocked_end_();
  return sync.result;
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

// Does: runs `body` in the queue: at once if the queue is idle; else as a job, and waits. Returns: 0; ECANCELED, EDEADLK: `body` does not run.
CSCHED_NOINLINE int csched_serial_sync_(csched_serial *serial, void (*body)(void *), void *context,
                                        csched_scope *scope) {
  CSCHED_ROOM_IN_FRAME(); // SQ8: so that a later call can tell that this stack frame was unwound
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME()); // SQ8: first ends this thread's unwound syncs
  if (!enter_serial(&serial->target)) return sync_as_job(serial, body, context);
  scope->frame = csched_frame_begin_(&scope->spare, CSCHED_OWN_FRAME(), &serial->held, &serial->target);
  body(context);
  csched_frame_end_(scope->frame);
  leave_serial(&serial->target);
  return 0;
}

// See target_internal.h. Acquires a reference for the call, because the timer's job may release the queue's last other reference.
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

// Returns: whether the drain job is queued on the base. A base without `has` cannot be asked: then a submitted drain job counts as queued.
static bool is_drain_waiting(const csched_serial *serial) {
  const csched_target *base = serial->base;
  return !csched_job_is_idle(&serial->drain) && (base->type->has == NULL || base->type->has(base, &serial->drain));
}

// Returns: whether the owner is a thread of the parent: the queue is busy, without a queued drain job or a resume to come, and not owned here.
static bool has_lost_owner(const csched_serial *serial) {
  csched_mpsc inbox = serial->inbox; // a copy: csched_mpsc_unpark, which returns whether it was parked, changes it
  return !csched_mpsc_unpark(&inbox) && !csched_mpsc_is_closed(&inbox) && !is_drain_waiting(serial) &&
         (csched_load_relaxed(&serial->hold) & STALLED) == 0 && // SQ9: relaxed: the child has one thread
         !csched_target_is_inside(&serial->target);
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

static void serial_at_fork(csched_atfork *atfork, csched_atfork_phase phase) { // SQ9: repairs the queue in the child
  csched_serial *serial = (csched_serial *)((char *)atfork - offsetof(csched_serial, atfork));
  if (phase != CSCHED_ATFORK_IN_CHILD_LAST) return;
  serial->target.waits_for = NULL; // the thread that waited is in the parent
  if (csched_target_is_orphaned_(serial->base)) {
    csched_fetch_add_relaxed(&serial->hold, (uint32_t)SUSPENSION); // SQ9: for ever, so no job starts
    csched_mpsc_close(&serial->inbox);
    serial->target.type = &csched_target_orphaned_;
    return;
  }
  remove_syncs_of_other_threads(serial);
  if (has_lost_owner(serial)) {
    acquire_reference(serial); // the lost owner's reference remains, so the queue is never freed in the child
    csched_job_init(&serial->drain, &drain_type.type, serial); // idle again: a thread of the parent had started it
    submit_drain(serial);
  }
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
  *serial = (csched_serial){.target = {.type = &serial_type}, .base = base, .references = 1};
  serial->root = csched_target_root_(base);
  serial->count_virtual = serial->root->type->count_job_; // not NULL: virtual time
  csched_mpsc_init(&serial->inbox);
  csched_mpsc_park(&serial->inbox); // SQ1: the queue starts idle: the first push submits the drain job
  csched_job_init(&serial->drain, &drain_type.type, serial);
  csched_job_init(&serial->held, &held_type, serial);
  csched_os_atfork_(&serial->atfork, serial_at_fork);
  *result = serial;
  return 0;
}

void csched_serial_set_name(csched_serial *serial, const char *name) {
  csched_name_copy_(serial->name, sizeof serial->name, name);
  csched_store_release(&serial->has_name, 1u); // SQ1: pairs with describe_serial; publishes the name
}

void csched_serial_own(csched_serial *serial, void (*retain)(void *), void (*release)(void *), void *owner) {
  serial->retain = retain;
  serial->release = release;
  serial->owner = serial->target.owner = owner;
}

void csched_serial_on_closed_(csched_serial *serial, void (*closed)(void *)) { serial->closed = closed; }

void csched_serial_destroy(csched_serial *serial) {
  if (CSCHED_UNLIKELY(serial->target.type == &csched_target_orphaned_)) return; // SQ9: never freed in the child
  csched_frames_end_for_job_(&serial->held); // SQ8: ends an inline sync that longjmp unwound, if it was not found yet
  while (is_suspended(serial)) csched_serial_resume(serial); // jobs that were submitted still run
  decrement_references(serial);
}
