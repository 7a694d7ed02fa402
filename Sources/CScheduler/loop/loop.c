// A run loop: one thread runs the jobs, timers and sources that any thread submits, and sleeps when there is nothing to
// do.
//
// States
//   inbox      submitted jobs (mpsc.c); its head also records whether the loop is parked
//   wake       futex. 1: the sleeping loop must wake; 0: no wake. A waker that has found an earlier park may write 1
//              late: one useless check
//   closing    0: open. 1 + the strictest policy requested; it only grows. ORPHANED: in a child of fork, if the loop's
//              thread is in the parent
//   ending     1 from csched_loop_end_run until this request has ended a run
//   timers     see timer.c; their field `wake` is the time until which the loop may sleep
//   refs       calls of csched_loop_ref minus calls of csched_loop_unref; csched_loop_run_until_done adds this to the
//              number of timers and sources
//   served     NEVER_RUN; RUN; or STOPPED: csched_loop_end_run has ended the most recent outermost run
//   fds        see loop_fd.c. Once its poller is open, the loop sleeps there, not on the futex; or its host, another
//              library's loop, sleeps for it
//
// Invariants
//   LP1  After parking and before sleeping, a loop checks every condition that could end the sleep. A thread that makes
//       such a condition true pushes or notifies afterwards. So either the loop sees the condition, or the thread sees
//       the park. The same holds while a host sleeps for the loop: the thread then wakes the host. A loop does not park
//       in a host that has promised another run.
//   LP2  The thread whose push, notify or close finds the loop parked wakes it; no other thread does (mpsc.c, Q3 and
//        Q4).
//   LP3  No kind of work starves another. A batch runs up to MOST due timers, then up to MOST sources, then up to MOST
//       jobs. Jobs of queues on the loop count, too. Then the loop reads the clock and polls again. A timer that is
//       submitted during a batch, with a deadline that has passed, waits for a later batch, behind the timers that
//       waited before it.
//   LP4  Exactly one thread removes each timer from `timers`: the loop's, to run or drop it, or the canceller. That
//        thread releases the timer.
//   LP5  A run ends by its own activation, by csched_loop_end_run if the run is the innermost, by its deadline, by the
//       loop's closing, or when it is done (csched_loop_run_until_done). The end of an inner run does not end the outer
//       runs, except by closing.
//   LP6  After close has returned, no submission is accepted. An accepted submission is run or dropped.
//   LP7  A run is a context frame (`csched_frame`, frames.c). If a C++ exception or longjmp unwinds the run, the run is
//       over, and the loop can be run again. If the thread ends before the loop is run again, the loop is closed, and
//       its contents are dropped.
//   LP8  In a child of fork, the loops of the thread that forked continue, with their contents. Using another thread's
//        loop stops the process.
//   LP9  Timers with equal deadlines run in the order of submission, also if the later one is submitted after the
//       deadline. An overdue timer is delivered at once only if W9 (timer.c) permits that. `is_delivering` is set
//       before a pop locks the timers. It is cleared after a pop that has found no timer of another target. So no
//       overdue timer overtakes a timer that is being delivered.
//   LP10  A run up to a given job (csched_loop_run_through_) runs no job that was submitted after it; a run up to NULL
//       runs no submitted job. So a host's queue can keep one order for the jobs that are submitted to the host and to
//       the loop.
//   LP11  Work that runs at once because the loop is free (csched_loop_is_free_) overtakes nothing. A loop is free only
//       on its own thread, outside of its jobs and runs, and only if the inbox is empty after due timers were moved to
//       the inbox.
//   LP12  Each figure of the statistics is stored in one word, and only grows. While the loop sleeps, the word `idle`
//       is the idle time minus the start of the sleep, with ASLEEP set; a reader adds the current time.
//   LP13  At the end of the process, a loop reports how many of its jobs were neither cancelled nor run. It reports
//       nothing inside of a run, after csched_loop_end_run, and while a host runs the loop.
//   LP14  A loop that is closed to run its work accepts the jobs of queues and limits that continue with accepted work,
//       until it has finished. Before that, it waits for threads that are just submitting such jobs: a queue or limit
//       on it has work that the loop does not have (`is_busy`).
// Orderings
//   wake: relaxed, ordered by the inbox · closing, ending, ended: release, pair with the loop's acquire; ordered
//   against parking by csched_mpsc_notify and csched_mpsc_close (mpsc.c, Q5) · timers.wake and timers.first: relaxed,
//   ordered against parking by csched_mpsc_notify
// Assumes: the caller keeps the loop valid during the call.
// Source: the batch with a budget comes from libuv and Netty; nested activations, each with a word `ended`, are this
//   project's.
// Models: checks/loop.c, checks/loop_fd.c, checks/frames.c. Not modelled: LP8; LP12 and LP13, whose figures order
//   nothing.

#include "loop_state.h"

#include "../sync/lock_internal.h"
#include "../base/text.h"
#include "../job/job_internal.h"
#include "../job/mpsc_internal.h"
#include "../targets/target_internal.h"

#include <errno.h>

static const csched_time ASLEEP = (csched_time)1 << 63; // LP12: flag in the word `idle`: the loop sleeps now

// MARK: waking

CSCHED_NOINLINE void csched_loop_wake_(csched_loop *loop) { // Requires: the caller has found the loop parked
  if (csched_is_observed_()) csched_observe_hooks_->note(CSCHED_OCCURRED_WAKE, loop, 0);
  if (csched_fds_wake_(&loop->fds)) return; // LP2: the loop sleeps on its poller, which this call has woken
  csched_store_relaxed(&loop->wake, 1u);    // LP2: after the loop's store of 0: the caller has read the later park
  csched_futex_wake_(&loop->wake, 1);
}

// MARK: timers

// Does: delivers an overdue timer at once: by the delivery worker, if the timer must follow timers that the worker
// still has (delivery.c DV4); else on this thread. Returns: 0, or ECANCELED if the timer's target is closed.
static int deliver_late(csched_loop *loop, csched_timer *timer) { // LP9: overtakes no earlier timer
  return loop->delivery != NULL && csched_delivery_take_overdue_(loop->delivery, timer)
             ? 0
             : csched_loop_deliver_now_(timer);
}

// The `deliver_at` of a loop: makes `timer` wait, or delivers an overdue timer at once. Returns: 0; ECANCELED: the loop
// is closed.
static int deliver_to_loop_at(csched_target *target, csched_timer *timer, csched_time deadline, csched_time leeway) {
  csched_loop *loop = (csched_loop *)target;
  // An overdue timer that precedes all waiting timers need not be linked among them.
  if (deadline < csched_load_relaxed(&loop->timers.first) && deadline <= csched_now() && // racy read, rechecked:
      csched_timers_try_bypass_(&loop->timers, deadline))                                // LP9: by this, locked
    return deliver_late(loop, timer);
  csched_timer_added added = csched_timers_add_(&loop->timers, timer, deadline, leeway);
  if (added == CSCHED_TIMER_LATE) return deliver_late(loop, timer);   // LP9: a timer before it has bypassed (W9)
  if (added == CSCHED_TIMER_ADDED_FIRST) csched_loop_announce_(loop); // LP1: a sleeping loop would wake too late
  if (added != CSCHED_TIMER_REFUSED) return 0;
  csched_job_discard_(&timer->job); // LP6: the loop is closed, and will not pop the timer
  return ECANCELED;
}

// Does: moves a waiting timer to another deadline. Returns: false: `timer` does not wait in this loop, and nothing has
// changed.
bool csched_loop_rearm(csched_loop *loop, csched_timer *timer, csched_time deadline) {
  if (csched_is_observed_()) csched_observe_hooks_->moved(&timer->job, deadline);
  csched_timer_added added = csched_timers_move_(&loop->timers, timer, deadline);
  if (added == CSCHED_TIMER_ADDED) return true;                       // the usual case: no thread must be notified
  csched_loop_require_not_orphaned_(loop, "csched_loop_rearm");       // LP8: its thread is missing: stops the process
  if (added == CSCHED_TIMER_LATE) deliver_late(loop, timer);          // LP9: a timer before it has bypassed (W9)
  if (added == CSCHED_TIMER_ADDED_FIRST) csched_loop_announce_(loop); // LP1: a sleeping loop would wake too late
  return added != CSCHED_TIMER_REFUSED;
}

// MARK: submitting

// Does: after the close, accepts `job`, which continues with accepted work. Returns: false: the loop has finished its
// work, or drops it.
static CSCHED_NOINLINE bool accept_late(csched_loop *loop, csched_job *job) {   // LP14
  (void)csched_mpsc_is_closed(&loop->inbox);                                    // LP6: acquires the closer's writes
  if (csched_load_acquire(&loop->closing) != 1 + CSCHED_STOP_RUN) return false; // LP6: pairs with csched_loop_close
  csched_lock_lock(&loop->late_lock);
  bool accepts = !loop->is_over;
  if (accepts) csched_mpsc_push_late(&loop->inbox, job);
  csched_lock_unlock(&loop->late_lock);
  return accepts;
}

// The `rest_` of a loop.
static unsigned rest_of_loop(const csched_target *target) {
  const csched_loop *loop = (const csched_loop *)target;
  return csched_loop_is_here_(loop) && loop->is_delivering &&
                 csched_load_acquire(&loop->closing) == 1 + CSCHED_STOP_RUN // LP6: pairs with csched_loop_close
             ? CSCHED_REST_IS_DUE
             : 0;
}

// The `deliver` of a loop: queues `job`, and wakes a parked loop. Returns: 0; ECANCELED: the loop is closed, and the
// job was discarded.
static int deliver_to_loop(csched_target *target, csched_job *job) {
  csched_loop *loop = (csched_loop *)target;
  csched_push_result result = csched_mpsc_push(&loop->inbox, job);
  if (CSCHED_LIKELY(result == CSCHED_PUSHED)) return 0;
  if (result == CSCHED_PUSHED_WAKE) {
    csched_loop_wake_(loop); // LP2: the push has ended the park, so no other thread wakes the loop
    return 0;
  }
  if (csched_job_continues_(job) && accept_late(loop, job)) return 0;
  csched_job_discard_(job); // LP6: the loop is closed, and will not pop the job
  return ECANCELED;
}

static bool is_loop_closed(const csched_target *target) { return csched_loop_is_closing_((const csched_loop *)target); }
static bool may_run_here(csched_target *target) { // the `enter`: whether this thread may run work as the loop
  if (!csched_loop_is_here_((csched_loop *)target) || is_loop_closed(target)) return false;
  if (CSCHED_LIKELY(csched_helping_here_ == 0)) return true;
  return csched_target_is_inside(target) ||
         !csched_target_holds_(target); // else a helper's job runs inside of the loop's
}
static bool is_bound_here(const csched_target *target) { return csched_loop_is_here_((const csched_loop *)target); }

// Returns: whether `job` is in the loop's inbox.
static bool loop_has(const csched_target *target, const csched_job *job) { // LP8: called while the child has one thread
  return csched_mpsc_has(&((const csched_loop *)target)->inbox, job);
}

// Does: adds the loop's thread, state, and numbers of jobs and timers to a dump. Thread: any.
static void describe_loop(const csched_target *target, csched_text *text) {
  csched_loop *loop = (csched_loop *)(uintptr_t)target;        // removes const: csched_timers_count_ locks the timers
  uint32_t thread = csched_load_relaxed(&loop->thread_number); // racy read, for dumps
  bool is_main = csched_loop_is_main_(loop);
  if (is_main && text->is_name_only) csched_text_add_(text, "the main loop");
  else csched_text_target_(text, is_main ? "the main loop," : "loop", target, "");
  if (thread != 0) csched_text_thread_(text, " of ", thread);
  if (text->is_name_only) return;
  csched_mpsc_seen inbox = csched_mpsc_inspect_(&loop->inbox, CSCHED_DUMP_PENDING);
  csched_time first = csched_load_relaxed(&loop->timers.first), now = csched_now();          // racy read, for dumps
  csched_text_add_(text, csched_load_relaxed(&loop->closing) != 0 ? ": accepts no more work" // racy read, for dumps
                         : inbox.is_parked                        ? ": asleep"
                         : csched_load_relaxed(&loop->served) == CSCHED_LOOP_NEVER_RUN ? ": not run yet" // racy read
                                                                                       : ": awake, or not run");
  csched_text_pending_(text, ", ", inbox);
  csched_text_delayed_(text, csched_timers_count_(&loop->timers, true), first, now);
}

const csched_target_type csched_loop_type_ = {.deliver = deliver_to_loop,
                                              .deliver_at = deliver_to_loop_at,
                                              .enter = may_run_here,
                                              .is_bound_here = is_bound_here,
                                              .is_closed = is_loop_closed,
                                              .has = loop_has,
                                              .describe_ = describe_loop,
                                              .rest_ = rest_of_loop,
                                              .only_enqueues_ = true}; // `deliver` only enqueues

// MARK: a batch

static void add_to_figure(uint64_t *figure, uint64_t count) {        // LP12: a figure of the statistics only grows
  csched_store_relaxed(figure, csched_load_relaxed(figure) + count); // LP12: one writer, so no atomic addition
}

// Does: delivers due timers of other targets, up to the loop's own first one. Returns: its job, to be run; NULL: none
// is due, or the batch is full.
static csched_job *next_timer(csched_loop *loop) {
  while (loop->timers_left > 0) {
    loop->timers_left--;                                   // LP3: so that many due timers do not delay jobs
    csched_store_relaxed(&loop->timers.is_delivering, 1u); // LP9: before the pop: else an overdue timer overtakes
    csched_timer *timer = csched_timers_pop_(&loop->timers, loop->batch_time);
    loop->has_more_timers = timer != NULL;    // another timer may be due, too: csched_loop_wait_ must not sleep
    if (timer == NULL) loop->timers_left = 0; // no pop before the next batch, which reads the clock again
    if (timer == NULL || timer->target == &loop->target) {
      csched_store_relaxed(&loop->timers.is_delivering, 0u); // LP9: the pop found no timer to be delivered
      if (timer != NULL) add_to_figure(&loop->ran, 1);
      return timer != NULL ? &timer->job : NULL;
    }
    loop->is_delivering = true;
    if (loop->delivery != NULL) csched_delivery_deliver_(loop->delivery, timer); // DV3: user code would delay timers
    else csched_loop_deliver_now_(timer);
    loop->is_delivering = false;
  }
  return NULL;
}

// Returns: a job that calls the handler of the next ready source; NULL: no source is ready, or the batch is full.
static csched_job *next_source(csched_loop *loop) {
  if (CSCHED_LIKELY(TAILQ_EMPTY(&loop->fds.ready)) || loop->sources_left == 0) return NULL;
  loop->sources_left--; // LP3: so that many ready sources do not delay timers and jobs
  add_to_figure(&loop->ran, 1);
  return csched_fds_next_(&loop->fds);
}

// Returns: the oldest submitted job; NULL: the inbox is empty, the batch is full, or this run must not run submitted
// jobs (LP10).
static csched_job *next_submitted(csched_loop *loop) {
  csched_job *job = loop->jobs_left > 0 && (loop->no_jobs_at_depth == 0 || loop->no_jobs_at_depth != loop->depth)
                        ? csched_mpsc_pop(&loop->inbox)
                        : NULL;
  if (job != NULL) loop->jobs_left--; // LP3: begin_batch computes the number of jobs that ran from it
  return job;
}

// Does: sets new limits for timers, sources and jobs, reads the clock if a timer or source needs it, and polls if a
// poll is due.
static void begin_batch(csched_loop *loop) {
  add_to_figure(&loop->ran, CSCHED_LOOP_MOST - loop->jobs_left); // LP12: the jobs of the previous batch, at once
  csched_time first = csched_load_relaxed(&loop->timers.first);  // racy read, rechecked before a sleep
  csched_time wake = csched_load_relaxed(&loop->timers.wake);    // racy read, rechecked before a sleep
  if (wake < first) first = wake; // `wake` may be too early: pops, because a pop without a due timer raises it
  bool has_timers = loop->has_more_timers || first != CSCHED_FOREVER;
  if (has_timers || loop->fds.count > 0) loop->batch_time = csched_now();
  has_timers = loop->has_more_timers || (has_timers && first <= loop->batch_time); // from now on: one may be due
  if (has_timers) csched_store_relaxed(&loop->timers.floor, loop->batch_time + 1); // LP3: + 1: not in this batch
  loop->timers_left = has_timers ? CSCHED_LOOP_MOST : 0;
  loop->sources_left = loop->jobs_left = CSCHED_LOOP_MOST;
  if (loop->fds.count > 0) csched_fds_poll_if_due_(&loop->fds, loop->batch_time);
}

// Returns: the next job of this batch, or of a new one; NULL: no work, or, with `has_more_timers`, a batch full of
// timers of other targets.
csched_job *csched_loop_next_(csched_loop *loop) {
  for (bool is_new = false;; is_new = true) { // two rounds: the current batch, then a new one
    csched_job *job = next_timer(loop);
    if (job == NULL) job = next_source(loop);
    if (job == NULL) job = next_submitted(loop);
    if (job != NULL || is_new) return job;
    begin_batch(loop);
  }
}

void csched_loop_set_delivery_(csched_loop *loop, csched_delivery *delivery) { loop->delivery = delivery; }

// MARK: a sleep

// Returns: whether the loop must not sleep. `now` 0: timers do not count, because the sleep ends before they are due.
bool csched_loop_has_work_(csched_loop *loop, const csched_activation *activation, csched_time now) {
  return !csched_mpsc_is_empty(&loop->inbox) || csched_loop_is_ended_(loop, activation) ||
         csched_loop_is_closing_(loop) || !TAILQ_EMPTY(&loop->fds.ready) || csched_loop_is_done_(loop, activation) ||
         csched_load_relaxed(&loop->timers.wake) <= now; // LP1: relaxed: the park before a sleep orders it
}

// Does: checks for work repeatedly for a short time, if earlier spins have found work (spin.h). Returns: whether there
// is work. Speed only.
static bool spin_for_work(csched_loop *loop, const csched_activation *activation, csched_time deadline) {
  csched_time time = csched_may_spin_() ? csched_spin_time_(&loop->spin) : 0;
  if (time == 0) return false;
  csched_time now = csched_now(), end = csched_time_after(now, (int64_t)time);
  if (end > deadline) end = deadline;
  bool has_found = false;
  while (now < end && !(has_found = csched_loop_has_work_(loop, activation, now))) {
    for (int i = 0; i < 8; i++) CSCHED_CPU_RELAX(); // 8 pauses: each check reads lines that submitters write
    now = csched_now();
  }
  csched_spin_ended_(&loop->spin, has_found);
  return has_found;
}

// Does: records the start (`begins`) or the end of a sleep in the statistics.
static void record_sleep(csched_loop *loop, bool begins) {
  csched_time now = csched_now(), idle = csched_load_relaxed(&loop->idle);                    // LP12: single writer
  csched_store_relaxed(&loop->idle, begins ? (idle - now) | ASLEEP : (idle + now) & ~ASLEEP); // LP12: never half set
  if (begins) add_to_figure(&loop->sleeps, 1);
}

void csched_loop_get_statistics(const csched_loop *loop, csched_loop_statistics *statistics) {
  csched_time idle = csched_load_relaxed(&loop->idle);                              // LP12: publishes no other data
  statistics->jobs = csched_load_relaxed(&loop->ran);                               // LP12: publishes no other data
  statistics->sleeps = csched_load_relaxed(&loop->sleeps);                          // LP12: publishes no other data
  statistics->idle = (idle & ASLEEP) != 0 ? (idle + csched_now()) & ~ASLEEP : idle; // with the current sleep so far
}

// Does: spins, then parks, checks for work once more, and sleeps until there is work, a timer needs a wake, or
// `deadline`. It may return early.
static void sleep_until_work(csched_loop *loop, const csched_activation *activation, csched_time deadline) {
  // A spin does not poll descriptors. So a loop with sources spins only if a submission ended its previous sleep.
  if ((loop->fds.count == 0 || loop->was_notified) && spin_for_work(loop, activation, deadline)) return;
  csched_store_relaxed(&loop->wake, 0u);                       // LP2: before the park; later it would erase a wake
  if (!csched_mpsc_park(&loop->inbox)) return;                 // LP1: a job waits, or the inbox is closed
  if (!csched_loop_has_work_(loop, activation, 0)) {           // LP1: again: work before the park sends no wake
    csched_time due = csched_load_relaxed(&loop->timers.wake); // LP1: after the park: an earlier value may be late
    csched_time until = due < deadline ? due : deadline;
    record_sleep(loop, true);
    bool is_on_poller = csched_fds_wait_(&loop->fds, until);
    loop->was_notified = is_on_poller && TAILQ_EMPTY(&loop->fds.ready) &&
                         csched_mpsc_has_new_jobs(&loop->inbox); // Speed only: whether a push ended the sleep
    if (!is_on_poller)
      while (csched_load_relaxed(&loop->wake) == 0 && // LP2: a futex may wake without a cause
             csched_futex_wait_(&loop->wake, 0, until) != CSCHED_FUTEX_TIMED_OUT) {}
    record_sleep(loop, false);
    csched_recorder_slept_(); // the recorder's cached time is old: it must read the clock again
  }
  csched_mpsc_unpark(&loop->inbox); // its result is not needed: a waker may have ended the park already
}

// Does: calls the hooks, and sleeps until there is work, or until `deadline`. It may return early: the caller looks for
// work again.
void csched_loop_wait_(csched_loop *loop, const csched_activation *activation, csched_time deadline) {
  if (loop->has_more_timers) return; // no sleep: the batch was full of timers of other targets, and more may be due
  csched_loop_call_hooks_(loop, loop->depth, true); // LP1: before the park, which sees work that a hook submits
  if (!loop->has_more_timers) sleep_until_work(loop, activation, deadline); // a hook's nested run may have set it
  csched_loop_call_hooks_(loop, loop->depth, false);
}

// MARK: a run

// Does: runs jobs until the run must end. Returns: why it ended. `activation` NULL: only csched_loop_end_run, the close
// and `deadline` end it.
CSCHED_NOINLINE csched_run_result csched_loop_run_activation_(csched_loop *loop, csched_activation *activation,
                                                              csched_time deadline, csched_scope *scope) {
  CSCHED_ROOM_IN_FRAME();                            // so that an unwind of this stack frame is found
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME()); // LP7: ends unwound runs, which would still count as outer runs
  csched_loop_enter_(loop, scope, CSCHED_OWN_FRAME(), "csched_loop_run");
  csched_run_result result;
  for (;;) {
    if (csched_loop_is_closing_(loop)) {
      csched_loop_finish_work_(loop); // LP6: all accepted work is run or dropped before the run returns
      result = CSCHED_RUN_CLOSED;
      break;
    }
    if (csched_loop_is_ended_(loop, activation)) {                              // LP5: an end was requested
      if (activation == NULL || csched_load_relaxed(&activation->ended) == 0) { // LP5: by csched_loop_end_run
        csched_store_relaxed(&loop->ending, 0u);                                // LP5: so it ends no outer run
        csched_loop_record_end_(loop);
      }
      result = CSCHED_RUN_ENDED;
      break;
    }
    if (csched_loop_is_done_(loop, activation)) { // LP5: true only in csched_loop_run_until_done
      result = CSCHED_RUN_DONE;
      break;
    }
    if (deadline != CSCHED_FOREVER && csched_now() >= deadline) {
      result = CSCHED_RUN_TIMED_OUT;
      break;
    }
    csched_job *job = csched_loop_next_(loop);
    if (job != NULL) csched_job_perform_(job);
    else csched_loop_wait_(loop, activation, deadline);
  }
  csched_loop_leave_(loop, scope);
  return result;
}
