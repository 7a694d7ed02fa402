// A target with virtual time: a call such as csched_virtual_advance moves the clock, and runs the due work on the
// calling thread.
//
// States, under `lock`
//   now          the clock, in ticks
//   timers       the timers for later ticks; also due timers, if they were submitted while the ready list was empty
//   ready        the ready list (`first`): plain jobs, and due timers that were submitted after them
//   is_driving   one thread, the driver, runs due work; or a thread is inside an inline sync on a queue whose base is
//                this target
//   waiters      the threads that sleep in a sync on such a queue until the sync has run
//   may_reenter  the driver is about to run a timer of such a queue: enter_virtual admits it during the drive.
//                has_reentered: enter_virtual has admitted it: the next leave_virtual does not end the drive
//   goal, steps, runs, runs_all   the incomplete requests: csched_virtual_advance, _step, _run, _run_all
//
// Invariants
//   VT1  One thread drives at a time, and serves the requests of all callers. In one critical section, the driver
//        checks that no request remains and clears `is_driving`.
//   VT2  Order: due timers in `timers` run before the ready list. A timer that is submitted when already due is
//        appended to the ready list, or added to `timers` if that list is empty. The clock passes a tick only when all
//        work due at that tick has been dequeued, except in csched_virtual_skip_to: it moves due timers to the ready
//        list, or leaves them in `timers` if that list is empty.
//   VT3  The clock never moves back, and no timer is dequeued before its tick.
//   VT4  No user code runs under the lock: cancelled entries are discarded after the unlock.
//   VT5  After close no work is accepted. Accepted work is run or dropped.
//   VT6  A csched_virtual_run continues only while the ready list has work, or a timer with a finite leeway waits
//        (csched_timers_wake_; timer.c, W4).
//   VT7  Memory: a submission removes the cancelled entries from the ready list, if the list has doubled since the
//        previous search (FEW at least).
//   VT8  A dequeued job that was cancelled counts neither as a step nor toward `turn_limit`.
//   VT9  While a thread waits in a sync, work due now is run. If work is submitted while no thread drives, or is due at
//        the end of a drive, one waiter is woken, and becomes the driver.
// Orderings: the lock's; for the futex word of a sync see serial.c, SQ1. A timer is cancelled under the lock of
//   `timers`, which nests inside `lock`.
// Assumes: callers keep the structure valid during the call.
// Source: a manually moved clock is Rx's virtual time scheduler. A second caller extends the drive in progress as in
//   trampoline.c.
// Models: checks/virtual.c. Not modelled: VT7.

#include <CScheduler/virtual.h>

#include "../base/panic.h"
#include "../base/text.h"
#include "../job/job_internal.h"
#include "../job/frames_internal.h"
#include "../job/observed.h"
#include "../loop/delivery_internal.h"
#include "../platform/platform.h"
#include "../targets/target_internal.h"
#include "../time/timer_internal.h"
#include "clock_internal.h"

#include <errno.h>
#include <stdlib.h>

enum { FEW = 64 };                                // minimum of `cleanup_at` (VT7). Speed only
static const size_t TURN_LIMIT = (size_t)1 << 21; // default of `turn_limit`

// A thread that sleeps in a sync. `ended` is its futex word. 0: sleep; CSCHED_ENDED (1): the sync has run; DUE: it must
// drive, because work is due.
typedef struct waiter {
  uint32_t *ended;
  struct waiter *next;
} waiter;
enum { DUE = 2 };

struct csched_virtual {
  csched_target target;
  csched_lock lock;          // guards all fields below
  csched_time now;           // the clock, in ticks
  csched_timers timers;      // timers for later ticks, and some due ones (VT2)
  csched_job *first, **last; // ready list: its first link, and the address of its final link; see link_to_timer
  size_t ready, cleanup_at;  // its length; the length above which a submission removes cancelled entries
  waiter *waiters;           // threads that sleep in await_sync (VT9)
  // Requests. `goal`: the latest tick of an advance, or 0. `steps`: how many more jobs csched_virtual_step runs.
  // `runs`, `runs_all`: for the function of that name. uses_no_step: the job that was counted last used no step. So if
  // it is uncounted, `steps` does not grow.
  csched_time goal, steps;
  bool has_goal, runs, runs_all, uses_no_step;
  bool is_driving, is_closed, may_reenter, has_reentered; // see States
  size_t turns, turn_limit;                               // jobs that this drive has run; the maximum
  csched_job drive; // never runs: the job of a drive's context frame; its `release` ends an unwound drive
  csched_atfork atfork;
};
_Static_assert(offsetof(csched_virtual, target) == 0, "csched_virtual_target is a cast");

// MARK: cancelled entries

// Cancelled entries that were dequeued under the lock. discard_collected discards them after the unlock: their
// `release` is user code (VT4).
typedef struct discard_list {
  csched_deferred_drops deferred; // receives the jobs that csched_timers_add_ discards under the lock
  csched_job *first;
} discard_list;

static void collect_cancelled(csched_deferred_drops *deferred, csched_job *job) { // `take`: adds `job` to the list
  discard_list *discards = (discard_list *)deferred;
  job->next = discards->first;
  discards->first = job;
}

static void discard_collected(discard_list *discards) { // VT4: the caller has unlocked, as `release` is user code
  for (csched_job *job; (job = discards->first) != NULL;) {
    discards->first = job->next;
    csched_job_discard_(job);
  }
}

// MARK: due work

// A link of the ready list is a job's address. Its lowest bit is set if the job belongs to a timer; a timer's target
// may be a queue on this base.
static csched_job *link_to_timer(csched_timer *timer) { return (csched_job *)((uintptr_t)&timer->job | 1); }
static csched_job *job_at(csched_job *link) { return (csched_job *)((uintptr_t)link & ~(uintptr_t)1); }
static csched_timer *timer_at(csched_job *link) {
  return ((uintptr_t)link & 1) != 0 ? (csched_timer *)job_at(link) : NULL;
}

// Does: moves the cancelled entries of the ready list to `discards`, and sets the length at which to do so again.
static void unlink_cancelled(csched_virtual *timeline, discard_list *discards) { // VT7: limits their memory
  csched_job **link = &timeline->first;
  while (*link != NULL) {
    csched_job *job = job_at(*link);
    if (!csched_job_is_cancelled_(job)) {
      link = &job->next;
      continue;
    }
    *link = job->next;
    timeline->ready--;
    collect_cancelled(&discards->deferred, job);
  }
  timeline->last = link; // the list's final link, where the loop stopped
  timeline->cleanup_at = timeline->ready * 2 > FEW ? timeline->ready * 2 : FEW;
}

// Does: appends the job of `link` to the ready list.
static void append_ready(csched_virtual *timeline, csched_job *link) {
  csched_job *job = job_at(link);
  job->next = NULL;
  *timeline->last = link;
  timeline->last = &job->next;
  timeline->ready++;
}

// Does: unlinks the first entry of the ready list. Returns: its link, or NULL.
static csched_job *pop_ready(csched_virtual *timeline) {
  csched_job *link = timeline->first;
  if (link == NULL) return NULL;
  timeline->first = job_at(link)->next;
  if (timeline->first == NULL) timeline->last = &timeline->first;
  timeline->ready--;
  return link;
}

// Returns: whether a due timer must join the ready list. In `timers` it would run before that list; at CSCHED_FOREVER a
// run would ignore it there.
static bool must_be_ready(const csched_virtual *timeline) { // VT2: late timers run last
  return timeline->first != NULL || timeline->now == CSCHED_FOREVER;
}

// Does: moves the due timers to the end of the ready list.
static void append_due(csched_virtual *timeline) {
  for (csched_timer *timer; (timer = csched_timers_pop_(&timeline->timers, timeline->now)) != NULL;)
    append_ready(timeline, link_to_timer(timer));
}

// Does: wakes one waiter, which then drives, if work is due and no thread drives.
static void wake_waiter(csched_virtual *timeline) { // VT9: a waiter becomes the driver
  if (timeline->waiters == NULL || timeline->is_driving) return;
  if (timeline->first == NULL) append_due(timeline); // then `first` shows whether any work is due
  if (timeline->first == NULL) return;
  for (waiter *each = timeline->waiters; each != NULL; each = each->next) {
    uint32_t word = 0;
    bool is_called = csched_cas_relaxed(each->ended, &word, (uint32_t)DUE); // VT9: relaxed: DUE publishes no data
    if (is_called) csched_futex_wake_(each->ended, 1);
    if (is_called || word == DUE) return; // one will drive; CSCHED_ENDED: its sync has run, so try the next
  }
}

// Does: sets the clock to `time`, unless that has passed. If the ready list has entries, timers that are due already go
// to its front, and timers that become due by this go to its end.
static void move_clock_to(csched_virtual *timeline, csched_time time) { // VT3: never back
  csched_job *first = timeline->first, **last = timeline->last;
  if (time <= timeline->now) return;
  if (first != NULL) { // VT2: timers already due were submitted before the list's entries
    timeline->first = NULL;
    timeline->last = &timeline->first;
    append_due(timeline);
    *timeline->last = first;
    timeline->last = last;
  }
  timeline->now = time;
  if (must_be_ready(timeline)) append_due(timeline);
}

// MARK: submitting

// Does: drops `job`, because the target is closed. Returns: ECANCELED.
static int refuse(csched_job *job) { // VT5: no work after close
  csched_job_discard_(job);
  return ECANCELED;
}

// Does: appends the job of `link` to the ready list, or drops it after close. Returns: 0 or ECANCELED.
static int submit_to_virtual(csched_virtual *timeline, csched_job *link) {
  discard_list discards = {.deferred.take = collect_cancelled};
  csched_lock_lock(&timeline->lock);
  bool is_closed = timeline->is_closed;
  if (!is_closed) append_ready(timeline, link);
  if (timeline->ready > timeline->cleanup_at) unlink_cancelled(timeline, &discards); // VT7: the list has doubled
  wake_waiter(timeline);
  csched_lock_unlock(&timeline->lock);
  discard_collected(&discards);
  return is_closed ? refuse(job_at(link)) : 0;
}

static int deliver_to_virtual(csched_target *target, csched_job *job) {
  return submit_to_virtual((csched_virtual *)target, job);
}

// Does: adds `timer` to `timers`, or to the ready list if it is late and must run after that list. After close, drops
// it. Returns: 0 or ECANCELED.
static int deliver_to_virtual_at(csched_target *target, csched_timer *timer, csched_time deadline, csched_time leeway) {
  csched_virtual *timeline = (csched_virtual *)target;
  discard_list discards = {.deferred.take = collect_cancelled};
  csched_lock_lock(&timeline->lock);
  bool is_late = deadline <= timeline->now; // already due
  if (timeline->is_closed || (is_late && must_be_ready(timeline))) {
    csched_lock_unlock(&timeline->lock);
    return submit_to_virtual(timeline, link_to_timer(timer)); // appends the timer, or drops it
  }
  csched_deferred_drops *before = csched_job_discard_into_(&discards.deferred);    // VT4: discards wait for the unlock
  csched_timers_add_(&timeline->timers, timer, is_late ? timeline->now : deadline, // VT2: after those due already
                     leeway == CSCHED_FOREVER ? CSCHED_FOREVER : 0);               // VT6: other leeways are ignored
  csched_job_discard_into_(before);                                                // the previous receiver
  wake_waiter(timeline);
  csched_lock_unlock(&timeline->lock);
  discard_collected(&discards);
  return 0;
}

// MARK: driving

// Returns: whether a request is incomplete. Out: `*reach`, the final tick whose timers may run now; `*by_run`, whether
// a csched_virtual_run has work.
static bool has_request(csched_virtual *timeline, discard_list *discards, csched_time *reach, bool *by_run) {
  csched_time until = timeline->has_goal && timeline->goal > timeline->now ? timeline->goal : timeline->now;
  bool reaches_all = timeline->steps > 0 || timeline->runs_all; // these requests reach timers of any tick and leeway
  *by_run = false;
  if (timeline->runs) { // VT6: continues only for some work; a cancelled entry is none
    while (timeline->first != NULL && csched_job_is_cancelled_(job_at(timeline->first)))
      collect_cancelled(&discards->deferred, job_at(pop_ready(timeline)));
    csched_time wake = csched_timers_wake_(&timeline->timers); // CSCHED_FOREVER: the run need not continue
    *by_run = timeline->first != NULL || wake != CSCHED_FOREVER;
    if (wake != CSCHED_FOREVER && wake > until) until = wake;
  }
  // All timers but those at CSCHED_FOREVER. Not without timers: a pop in vain would advance the timer wheel to this
  // tick.
  if (reaches_all && until < CSCHED_FOREVER - 1 && csched_timers_count_(&timeline->timers, false) > 0)
    until = CSCHED_FOREVER - 1;
  *reach = timeline->first != NULL ? timeline->now : until; // VT2: the clock stays while the ready list has work
  return timeline->has_goal || reaches_all || *by_run;
}

// Does: dequeues the next job or timer that a request covers, and moves the clock to its tick. Returns: its link; NULL:
// no request remains.
static csched_job *next_due(csched_virtual *timeline, discard_list *discards) {
  csched_time reach;
  bool by_run;
  while (!timeline->is_closed && has_request(timeline, discards, &reach, &by_run)) {
    csched_timer *timer = csched_timers_pop_(&timeline->timers, reach);
    csched_job *link = timer != NULL ? link_to_timer(timer) : pop_ready(timeline);
    if (link == NULL && by_run) continue; // the timer was cancelled after has_request: check again
    if (link == NULL) return NULL;        // no work is due: the requests are complete
    if (csched_job_is_cancelled_(job_at(link))) {
      collect_cancelled(&discards->deferred, job_at(link));
      continue;
    }
    if (timer != NULL) move_clock_to(timeline, timer->deadline);
    return link;
  }
  return NULL;
}

// Does: removes all requests, so that the driver ends after its running job. If that job is uncounted, it gives no step
// to a later request.
static void clear_requests(csched_virtual *timeline) {
  timeline->has_goal = timeline->runs = timeline->runs_all = false;
  timeline->goal = timeline->steps = 0;
  timeline->uses_no_step = true;
}

// Does: moves the clock to the goal, ends the drive, wakes a waiter if work is due. Requires: the requests are
// complete, or the drive was unwound.
static void end_drive(csched_virtual *timeline) { // VT1: this thread stops driving
  if (timeline->has_goal) move_clock_to(timeline, timeline->goal);
  clear_requests(timeline);
  timeline->is_driving = false;
  wake_waiter(timeline);
}

// Does: counts a job about to run (`change` 1), or uncounts one that did not run (-1). Returns: false: it must not run
// (limit, or no request).
static bool count_turn(csched_virtual *timeline, int change) { // VT8: cancelled jobs do not count
  bool needs_no_step = timeline->has_goal || timeline->runs || timeline->runs_all;
  if (change < 0) {
    timeline->turns--;
    if (!timeline->uses_no_step && timeline->steps != CSCHED_FOREVER) timeline->steps++;
    return true;
  }
  if (timeline->turns >= timeline->turn_limit || (!needs_no_step && timeline->steps == 0)) return false;
  timeline->turns++;
  timeline->uses_no_step = timeline->steps == 0;
  if (timeline->steps > 0 && timeline->steps != CSCHED_FOREVER) timeline->steps--; // CSCHED_FOREVER: no limit
  return true;
}

// Does: as count_turn, for a job of a queue on this base. While no thread drives, it counts nothing, and the job may
// run.
static bool count_queue_turn(csched_target *target, int change) {
  csched_virtual *timeline = (csched_virtual *)target;
  csched_lock_lock(&timeline->lock);
  bool may_run = !timeline->is_driving || count_turn(timeline, change);
  csched_lock_unlock(&timeline->lock);
  return may_run;
}

// Does: permits enter_virtual to admit the driver during its own drive, for the sync of a queue's timer; or forbids it
// again.
static void set_may_reenter(csched_virtual *timeline, bool may_reenter) {
  csched_lock_lock(&timeline->lock);
  timeline->may_reenter = may_reenter;
  csched_lock_unlock(&timeline->lock);
}

// Does: runs `timer` at once if its queue is idle; otherwise submits it to the queue. Returns: whether it ran.
static bool run_queue_timer(csched_virtual *timeline, csched_timer *timer) { // VT2: the timer runs before later ones
  set_may_reenter(timeline, true);
  bool has_run = csched_serial_run_timer_(timer);
  set_may_reenter(timeline, false);
  return has_run;
}

// Does: runs jobs until all requests are complete, then ends the drive. Returns: false if work remains, but the drive
// has run `turn_limit` jobs.
static bool run_requests(csched_virtual *timeline) {
  for (;;) {
    discard_list discards = {.deferred.take = collect_cancelled};
    csched_lock_lock(&timeline->lock);
    csched_job *link = next_due(timeline, &discards);
    bool is_below_limit = link == NULL || count_turn(timeline, 1);
    if (link == NULL) end_drive(timeline);
    csched_lock_unlock(&timeline->lock);
    discard_collected(&discards);
    if (link == NULL || !is_below_limit) return is_below_limit; // false: `link` is lost, as the process stops
    csched_timer *timer = timer_at(link);
    bool is_of_queue = timer != NULL && timer->target != &timeline->target; // a queue on this base
    if (is_of_queue ? run_queue_timer(timeline, timer) : csched_job_perform_on_(job_at(link), &timeline->target))
      continue;
    count_queue_turn(&timeline->target, -1); // VT8: the job was cancelled, or its queue counts it later
  }
}

// Does: as run_requests, in a context frame for the caller's stack frame at `address`. If that stack frame is unwound,
// drive_unwound ends the drive.
static bool run_drive(csched_virtual *timeline, csched_scope *scope, uintptr_t address) {
  scope->frame = csched_frame_begin_(&scope->spare, address, &timeline->drive, &timeline->target);
  bool is_below_limit = run_requests(timeline);
  csched_frame_end_(scope->frame);
  return is_below_limit;
}

// Does: adds a request for the current drive, or for the one that begins. `amount`: the tick of an ADVANCE, the number
// of jobs of a STEP.
static void add_request(csched_virtual *timeline, csched_virtual_request request, csched_time amount) {
  switch (request) {
  case CSCHED_VIRTUAL_ADVANCE:
    timeline->has_goal = true;
    if (amount > timeline->goal) timeline->goal = amount;
    break;
  case CSCHED_VIRTUAL_RUN: timeline->runs = true; break;
  case CSCHED_VIRTUAL_RUN_ALL: timeline->runs_all = true; break;
  case CSCHED_VIRTUAL_STEP:
    timeline->steps = amount > CSCHED_FOREVER - timeline->steps ? CSCHED_FOREVER : timeline->steps + amount;
    break;
  }
}

CSCHED_NOINLINE bool csched_virtual_drive_(csched_virtual *timeline, csched_virtual_request request, csched_time amount,
                                           csched_scope *scope) {
  CSCHED_ROOM_IN_FRAME();                            // lets later calls notice that this stack frame was unwound
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME()); // ends an earlier drive that was unwound
  csched_lock_lock(&timeline->lock);
  bool drives = !timeline->is_driving;
  add_request(timeline, request, amount);
  if (drives) timeline->turns = 0;
  timeline->is_driving = true; // VT1: this thread drives, unless another one does already
  csched_lock_unlock(&timeline->lock);
  return !drives || run_drive(timeline, scope, CSCHED_OWN_FRAME()); // VT1: else the driver serves the request
}

// MARK: unwinding

// The `release` of csched_virtual.drive. Does: ends a drive whose job was unwound by an exception, longjmp or thread
// exit.
static void drive_unwound(csched_job *job) {
  csched_virtual *timeline = job->context;
  csched_lock_lock(&timeline->lock);
  timeline->has_goal = false; // then end_drive does not move the clock to the goal
  end_drive(timeline);
  csched_lock_unlock(&timeline->lock);
}
static const csched_job_type drive_type = {.release = drive_unwound};

// The `release` of drive_for's guard: a job that drive_for ran was unwound, and so would be the sync that waits.
static CSCHED_NORETURN void panic_unwound(csched_job *unused) {
  (void)unused;
  csched_panic_("csched_serial_sync",
                "what it ran in virtual time, because it waits for that, was left by an exception, "
                "by longjmp or by the end of the thread. Let the job return.");
}

// MARK: limit, end and skip

void csched_virtual_panic_(const csched_virtual *timeline, const char *function) {
  csched_panic_(
      function,
      "%p has run %zu jobs, and found still more. Does one submit itself again for ever? Cancel it, advance to a time, "
      "or create it with a higher turn_limit.",
      (const void *)timeline, timeline->turn_limit);
}

void csched_virtual_end_run(csched_virtual *timeline) {
  csched_lock_lock(&timeline->lock);
  clear_requests(timeline);
  csched_lock_unlock(&timeline->lock);
}

void csched_virtual_skip_to(csched_virtual *timeline, csched_time time) {
  csched_lock_lock(&timeline->lock);
  move_clock_to(timeline, time);
  wake_waiter(timeline);
  csched_lock_unlock(&timeline->lock);
}

// MARK: target functions

// Does: makes the caller the driver, for an inline sync in a queue on this base. Returns: false: another thread drives,
// work is due, or after close.
static bool enter_virtual(csched_target *target) {
  csched_virtual *timeline = (csched_virtual *)target;
  discard_list discards = {.deferred.take = collect_cancelled};
  csched_lock_lock(&timeline->lock);
  if (timeline->may_reenter && csched_target_holds_(target)) { // this thread drives, and runs the queue's timer
    timeline->may_reenter = false;
    timeline->has_reentered = true;
    csched_lock_unlock(&timeline->lock);
    return true;
  }
  bool is_free = !timeline->is_closed && !timeline->is_driving;
  if (is_free && timeline->first == NULL) append_due(timeline);
  unlink_cancelled(timeline, &discards); // cancelled entries are no due work
  is_free = is_free && timeline->first == NULL;
  if (is_free) {
    timeline->turns = 0;
    timeline->is_driving = true; // VT1: this thread drives
  }
  csched_lock_unlock(&timeline->lock);
  discard_collected(&discards);
  return is_free;
}

// Does: at the end of an inline sync, serves the requests that were added during it, and ends the drive; after a
// reentry, the outer drive does that.
static void leave_virtual(csched_target *target) { // VT1: the driver serves added requests
  csched_virtual *timeline = (csched_virtual *)target;
  csched_scope scope;
  csched_lock_lock(&timeline->lock);
  bool has_reentered = timeline->has_reentered;
  timeline->has_reentered = false;
  csched_lock_unlock(&timeline->lock);
  if (has_reentered || run_drive(timeline, &scope, CSCHED_OWN_FRAME())) return;
  csched_virtual_panic_(timeline, "csched_serial_sync");
}

// Does: runs the work due now, for a thread that waits in a sync on the queue `waited`. If a job is unwound, so is the
// sync: stops the process.
static void drive_for(csched_virtual *timeline, csched_target *waited) {
  static const csched_job_type type = {.release = panic_unwound};
  static csched_job guard = {.type = &type}; // a placeholder: never runs
  csched_frame spare;
  csched_scope scope;
  csched_blocked_end_(); // this thread does not wait while it runs jobs
  csched_deadlock_check_end_();
  csched_frame *frame = csched_frame_begin_(&spare, CSCHED_OWN_FRAME(), &guard, csched_frame_here_()->target);
  if (!csched_virtual_drive_(timeline, CSCHED_VIRTUAL_ADVANCE, 0, &scope)) // 0: only work due now
    csched_virtual_panic_(timeline, "csched_serial_sync");
  csched_frame_end_(frame);
  csched_deadlock_check_begin_(waited); // the wait continues
  csched_blocked_begin_("csched_serial_sync", waited);
}

static void unlink_waiter(csched_virtual *timeline, const waiter *own) {
  waiter **link = &timeline->waiters;
  while (*link != NULL && *link != own) link = &(*link)->next;
  if (*link != NULL) *link = own->next;
}

// Does: waits until `*ended` is CSCHED_ENDED, for a sync that was submitted to the queue `waited`. Drives when work is
// due and no thread drives.
static void await_sync(csched_target *target, csched_target *waited, uint32_t *ended) { // VT9: drives, then sleeps
  csched_virtual *timeline = (csched_virtual *)target;
  waiter own = {.ended = ended};
  do {
    uint32_t word = DUE;
    drive_for(timeline, waited);
    csched_cas_relaxed(ended, &word, 0u); // VT9: DUE becomes 0, so that the next wake is seen; CSCHED_ENDED stays
    csched_lock_lock(&timeline->lock);
    own.next = timeline->waiters;
    timeline->waiters = &own;
    wake_waiter(timeline); // work may have become due since drive_for
    csched_lock_unlock(&timeline->lock);
    csched_futex_wait_(ended, 0, CSCHED_FOREVER); // returns at once for DUE and CSCHED_ENDED
    csched_lock_lock(&timeline->lock);
    unlink_waiter(timeline, &own);
    csched_lock_unlock(&timeline->lock);
  } while (csched_load_relaxed(ended) != CSCHED_ENDED); // VT9: the caller reads the word again, with acquire
}

static bool is_virtual_closed(const csched_target *target) { // VT5: a closed target stays closed
  csched_virtual *timeline = (csched_virtual *)target;
  csched_lock_lock(&timeline->lock);
  bool is_closed = timeline->is_closed;
  csched_lock_unlock(&timeline->lock);
  return is_closed;
}

// Returns: whether `job` is in the ready list. A fork handler calls it, in the child.
static bool virtual_has(const csched_target *target, const csched_job *job) {
  csched_job *each = ((const csched_virtual *)target)->first;
  while (each != NULL && job_at(each) != job) each = job_at(each)->next;
  return each != NULL;
}

static csched_time virtual_now(const csched_target *target) { return csched_virtual_now((csched_virtual *)target); }

static void describe_virtual(const csched_target *target, csched_text *text) {
  csched_virtual *timeline = (csched_virtual *)(uintptr_t)target;
  csched_text_target_(text, "virtual time", target, "");
  if (text->is_name_only) return;
  csched_lock_lock(&timeline->lock);
  size_t delayed = csched_timers_count_(&timeline->timers, true);
  csched_time now = timeline->now, next = csched_load_relaxed(&timeline->timers.first); // W4: may be too early
  bool is_closed = timeline->is_closed, is_driving = timeline->is_driving;
  csched_lock_unlock(&timeline->lock);
  csched_text_add_(text, is_closed    ? ": accepts no more work, at tick "
                         : is_driving ? ": driven, at tick "
                                      : ": at tick ");
  csched_text_number_(text, now);
  csched_text_add_(text, ", ");
  csched_text_number_(text, csched_virtual_pending(timeline));
  csched_text_add_(text, " pending, ");
  csched_text_number_(text, delayed);
  csched_text_add_(text, " of them delayed");
  if (delayed == 0 || next == CSCHED_FOREVER) return;
  csched_text_add_(text, ", the next not before tick ");
  csched_text_number_(text, next);
}

static const csched_target_type virtual_type = {.deliver = deliver_to_virtual,
                                                .deliver_at = deliver_to_virtual_at,
                                                .enter = enter_virtual,
                                                .leave = leave_virtual,
                                                .is_bound_here = csched_target_holds_,
                                                .is_closed = is_virtual_closed,
                                                .has = virtual_has,
                                                .now = virtual_now,
                                                .count_job_ = count_queue_turn,
                                                .await_sync_ = await_sync,
                                                .describe_ = describe_virtual,
                                                .only_enqueues_ = true};

csched_time csched_virtual_now(csched_virtual *timeline) {
  csched_lock_lock(&timeline->lock);
  csched_time now = timeline->now;
  csched_lock_unlock(&timeline->lock);
  return now;
}

size_t csched_virtual_pending(csched_virtual *timeline) {
  csched_lock_lock(&timeline->lock);
  size_t count = csched_timers_count_(&timeline->timers, true);
  for (csched_job *each = timeline->first; each != NULL; each = job_at(each)->next)
    count += !csched_job_is_cancelled_(job_at(each));
  csched_lock_unlock(&timeline->lock);
  return count;
}

// MARK: forks

// Atfork handler. Does: gives the child a consistent copy, without the waiters of the parent. If this thread drives,
// its drive continues there.
static void virtual_at_fork(csched_atfork *atfork, csched_atfork_phase phase) {
  csched_virtual *timeline = (csched_virtual *)((char *)atfork - offsetof(csched_virtual, atfork));
  if (phase == CSCHED_ATFORK_BEFORE) csched_lock_lock(&timeline->lock);
  csched_timers_atfork_(&timeline->timers, phase, false);
  if (phase == CSCHED_ATFORK_IN_PARENT) csched_lock_unlock(&timeline->lock);
  if (phase != CSCHED_ATFORK_IN_CHILD_FIRST) return;
  timeline->lock = (csched_lock)CSCHED_LOCK_INIT; // locked since BEFORE; threads that waited for it are not here
  timeline->target.waits_for = NULL;              // a wait of a thread of the parent
  timeline->waiters = NULL;
  if (csched_target_holds_(&timeline->target)) return; // this thread drives: its drive goes on
  clear_requests(timeline);
  timeline->is_driving = false;
}

csched_timers *csched_virtual_timers_seen_(const csched_target *target) {
  return target->type == &virtual_type ? &((csched_virtual *)(uintptr_t)target)->timers : NULL;
}

const csched_target *csched_virtual_of_atfork_(const csched_atfork *atfork) {
  return atfork->handler == virtual_at_fork
             ? (const csched_target *)((const char *)atfork - offsetof(csched_virtual, atfork))
             : NULL;
}

// MARK: create and destroy

int csched_virtual_create(csched_virtual **result, csched_time start, size_t turn_limit) {
  csched_virtual *timeline = calloc(1, sizeof *timeline);
  if (timeline == NULL) return ENOMEM;
  timeline->target.type = &virtual_type;
  timeline->now = start;
  csched_timers_init_(&timeline->timers);
  timeline->last = &timeline->first;
  timeline->cleanup_at = FEW;
  timeline->turn_limit = turn_limit != 0 ? turn_limit : TURN_LIMIT;
  csched_job_init(&timeline->drive, &drive_type, timeline);
  csched_os_atfork_(&timeline->atfork, virtual_at_fork);
  *result = timeline;
  return 0;
}

void csched_virtual_close(csched_virtual *timeline) { // VT5: drops all waiting work
  for (csched_job *job;;) {
    csched_lock_lock(&timeline->lock);
    timeline->is_closed = true;
    csched_timer *timer = csched_timers_pop_(&timeline->timers, CSCHED_FOREVER); // FOREVER: a timer of any deadline
    job = timer != NULL ? &timer->job : job_at(pop_ready(timeline));
    csched_lock_unlock(&timeline->lock);
    if (job == NULL) return;
    csched_job_discard_(job);
  }
}

void csched_virtual_destroy(csched_virtual *timeline) {
  if (csched_target_holds_(&timeline->target))
    csched_panic_("csched_virtual_destroy", "called inside of a job of %p. Destroy it when the drive has returned.",
                  (void *)timeline);
  csched_virtual_close(timeline);
  csched_delivery_await_(); // the clock thread may still be delivering a timer to this target
  csched_os_atfork_end_(&timeline->atfork);
  csched_observe_gone_(&timeline->target); // removes its statistics: the address may be reused
  free(timeline);
}
