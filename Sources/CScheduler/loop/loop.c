// A run loop: one thread runs the jobs, timers and sources that any thread submits, and sleeps when there is nothing to do.
//
// States
//   inbox      submitted jobs: see mpsc.c; its head says whether the loop is parked
//   wake       futex: 0 no wake; 1 the wake owed to this park. A late wake, of an earlier park, costs one useless look
//   closing    0 open, then 1 + the strictest policy asked for; it only grows. ORPHANED in a child of fork, if its thread is in the parent
//   ending     1 from csched_loop_end_run until a run has ended by it
//   timers     see timer.c; their `wake_loop` says until when the loop may sleep
//   refs       calls of csched_loop_ref minus calls of csched_loop_unref: what the loop stays for besides timers and sources
//   served     NEVER_RUN; RUN; or STOPPED: csched_loop_end_run has ended the last outermost run
//   fds        see loop_fd.c; once they are open, the loop sleeps on their poller instead of the futex, or leaves the sleep to a host
//
// Obligations
//   P1  A loop that sleeps has looked, after parking, at everything that could have ended the sleep. A thread that adds such a thing pushes or
//       notifies after adding it. So one of the two sees the other. Leaving the loop to a host is such a sleep: what would end it wakes the
//       host, unless the host has promised another run.
//   P2  The thread whose push, notify or close finds the loop parked wakes it; no other thread does. Skip the wake: see mpsc.c, Q3 and Q4.
//   P3  No kind of work starves another. A batch takes up to MOST due timers, then up to MOST sources, then up to MOST jobs. Jobs of queues whose
//       base is the loop count, too. Then the loop looks at the clock and the poller again. A timer that is submitted during a batch for an
//       instant that the clock has passed waits for a later batch, behind the timers that were there.
//   P4  Exactly one thread takes each timer out of the timers: the loop's (due, or dropped) or the canceller. That thread sees to its release.
//   P5  A run ends by its own activation, by csched_loop_end_run if it is the innermost, by its deadline, by the loop's closing, or when it
//       is done (csched_loop_run_until_done). What ends an inner run does not end the outer runs, except closing.
//   P6  After close has returned, no submission is accepted. An accepted submission is run or dropped.
//   P7  A run is a context frame (`csched_frame`, frames.c). If a job leaves it by a C++ exception or by longjmp, the run is over, and the
//       loop can be run again. If the thread ends before that, the loop is closed, and its contents are dropped.
//   P8  In a child of fork, the loops of the thread that forked continue, with their contents. Using another thread's loop stops the process.
//   P9  Equal deadlines keep the order of submission, also when the first timer becomes due here and the second is submitted late. A late
//       timer becomes a plain submission only as W9 says. `telling` is set before the lock under which a timer is taken out for another
//       target. It is cleared after the lock under which no such timer was found. So no timer passes one that is being delivered.
//   P10  A run up to a given job takes no submitted job behind it; up to NULL it takes none. So a host's queue can keep one order for the
//       jobs that are submitted to both.
//   P11  Work that runs at once because the loop is free overtakes nothing. A loop is free on its own thread only, outside of all that it
//       runs, while the inbox is empty after due timers were moved there.
//   P12  Each figure of the statistics is one word, and only grows. While the loop sleeps, `idle` is the idle time minus the start of the
//       sleep, with ASLEEP set; a reader then adds the clock.
//   P13  At the end of the process, a loop that no run serves reports how many of its jobs were neither cancelled nor run. It reports nothing
//       inside of a run, after a stop, and while a host serves it.
// Orderings
//   wake: relaxed, the inbox orders what it announces · closing and ends of runs: release, pair with the loop's acquire; ordered against
//   parking by csched_mpsc_notify and close (mpsc.c, Q5) · timers' wake and first: relaxed, ordered in the same way
// Assumes: the caller keeps the loop valid during the call.
// Source: the batch with a budget comes from libuv and Netty; nested activations, each with a completion word, are this project's.
// Checked by: "jobs of one thread run in order", "a submission wakes a sleeping loop", "an idle loop does not wake up",
//   "stop ends the innermost run", "an activation ends by its own stop only", "nothing submitted is lost across close",
//   "delayed jobs run in the order of their deadlines, never early", "a timer cancelled while it waits is released at once",
//   "equal deadlines keep the order of submission", "an activation's stop is never missed", "a timer can be moved, from any thread",
//   "run_once does not burn the processor while a stop is pending", "run_ready and run_once keep to the policy of a close", "a host that
//   polls the loop misses nothing", "a loop in a host is readable when there is something to do, and not otherwise",
//   "no kind of work starves another on a loop", "a batch takes few of each kind", "what is due at a close runs, however much it is",
//   "equal deadlines keep their order, those that come late, too",
//   "a run goes as far as a job, and no further", "work runs at once beside a loop only when nothing waits or runs there",
//   "what was cancelled keeps nothing from running at once, and what is due keeps its place", "a loop goes on elsewhere while its thread ends",
//   "a run until done ends when nothing but background work is left", "a loop counts what it runs, its sleeps and its idle time",
//   "a loop counts what no run has come to, unless it is run, was stopped or has a host",
//   "a job that ends its thread on a loop has ended", "a loop goes on after a longjmp out of a run",
//   "after fork the thread's own loops go on", "after fork a thread of the parent stops the process".
// Models: checks/loop.c, checks/loop_fd.c, checks/frames.c. Not modelled: P8; P12 and P13, whose figures order nothing.

#include <CScheduler/loop.h>
#include <CScheduler/loop_fd.h>

#include "../base/dump_slots.h"
#include "../base/panic.h"
#include "../job/job_internal.h"
#include "../job/frames_internal.h"
#include "../job/mpsc_internal.h"
#include "../job/observed.h"
#include "../platform/platform.h"
#include "../target/target_internal.h"
#include "../time/timer_internal.h"
#include "delivery_internal.h"
#include "loop_fd_internal.h"
#include "loop_hook_internal.h"
#include "loop_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16 };       // of each kind in a batch: 3 * 16, at 200 us each, are within 10 ms
enum { MOST_DUE = 1024 }; // jobs for one call by a host, which calls again for the rest
enum { MOST_UNRUN = 1000 };
static const uint32_t NEVER_RUN = 0, RUN = 1, STOPPED = 2; // of `served`
static const uint32_t ORPHANED = UINT32_MAX;
static const csched_time ASLEEP = (csched_time)1 << 63;

static const csched_time SPIN_MOST = 16000, SPIN_LEAST = 4000; // ns: about two futex wakes, and half of one

struct csched_loop {
  csched_target target;
  CSCHED_CACHE_ALIGNED csched_mpsc inbox;

  CSCHED_CACHE_ALIGNED uint32_t wake;
  uint32_t closing;
  uint32_t ending;
  uint32_t refs;
  uint32_t served;

  CSCHED_CACHE_ALIGNED csched_timers timers;

  // For the loop's thread; `thread`, `thread_number` and `link` are changed under `binding`.
  const char *refusal;                           // why csched_loop_destroy refuses the loop; NULL: it does not
  uint32_t thread_number;                        // the system's number, 0 without a thread; for dumps
  const void *thread;                            // NULL: no thread, or it has ended
  csched_time batch_time;                        // the clock at the beginning of the batch
  unsigned timers_left, sources_left, jobs_left; // how many the batch may still take
  bool has_more_timers;                          // the last pop from the timers has found one
  unsigned holds_at;                             // the depth of the run that takes no submitted jobs, or 0
  bool is_promised;                              // the host has promised another run
  csched_courier *courier;                       // delivery worker, if the loop only keeps time for others; else NULL
  csched_time spin_for;
  uint64_t ran, sleeps; // written by the loop's thread only, like `idle`
  csched_time idle;     // see P12
  csched_hooks hooks;
  bool was_told;                // a submission ended the last sleep on the poller, and no source was ready
  unsigned depth;               // how many runs are nested
  bool was_left;                // the last run was unwound, and none has returned since
  csched_job run;               // placeholder for a run, in its context frame
  LIST_ENTRY(csched_loop) link; // in its thread's list of loops
  csched_atfork atfork;

  CSCHED_CACHE_ALIGNED csched_fds fds; // begins with the fields that wakers read
};

_Static_assert(offsetof(csched_loop, target) == 0, "csched_loop_target is a cast");

// MARK: owning thread

static CSCHED_THREAD_LOCAL char here; // its address identifies a living thread; a later thread may get the same one
static CSCHED_THREAD_LOCAL LIST_HEAD(, csched_loop) loops_here;
static csched_lock binding; // guards all threads' lists: a loop may change its thread

void csched_loops_set_waits_for_(csched_target *target) {
  csched_loop *loop;
  LIST_FOREACH(loop, &loops_here, link) loop->target.waits_for = target;
}

bool csched_loop_is_on_thread(const csched_loop *loop) {
  return csched_load_relaxed(&loop->thread) == &here; // racy read: only its own thread finds its address here
}

bool csched_loop_is_orphaned_(const csched_loop *loop) { return csched_load_relaxed(&loop->closing) == ORPHANED; } // P8

void csched_loop_require_not_orphaned_(const csched_loop *loop, const char *function) {
  if (CSCHED_UNLIKELY(csched_loop_is_orphaned_(loop))) csched_target_panic_orphaned_(&loop->target, function);
}

static CSCHED_NOINLINE CSCHED_NORETURN void panic_thread(const csched_loop *loop, const char *function) {
  csched_loop_require_not_orphaned_(loop, function);
  csched_panic_(function, "loop %p belongs to another thread. Call this on the thread that created it.",
                (const void *)loop);
}

static void require_thread(const csched_loop *loop, const char *function) {
  if (CSCHED_UNLIKELY(!csched_loop_is_on_thread(loop))) panic_thread(loop, function);
}

static void take_away(csched_loop *loop) {                // under `binding`
  if (csched_load_relaxed(&loop->thread) == NULL) return; // ordered by the lock
  LIST_REMOVE(loop, link);
  csched_store_relaxed(&loop->thread_number, 0u); // racy write, for dumps
  csched_store_relaxed(&loop->thread, NULL);      // racy write: before a new thread can get the same address
}

// Unbinds the thread's loops, up to one whose last run was unwound. Returns: that loop, still bound, or NULL.
// The caller closes it, and calls again.
static csched_loop *next_left(void) {
  csched_loop *loop;
  csched_lock_lock(&binding);
  while ((loop = LIST_FIRST(&loops_here)) != NULL && !loop->was_left) take_away(loop);
  csched_lock_unlock(&binding);
  return loop;
}

// Thread exit: unwinds the thread's runs, and closes each loop whose last run was unwound. No later run would end it.
static void loop_thread_ends(void *value) { // P7
  (void)value;
  csched_frames_end_thread_();
  for (csched_loop *loop; (loop = next_left()) != NULL;) {
    loop->was_left = false;
    csched_loop_close(loop, CSCHED_STOP_DROP);
    csched_loop_finish_(loop);
  }
}

void csched_loop_bind_(csched_loop *loop) {
  static csched_tsd key;
  if (csched_loop_is_on_thread(loop)) return;
  csched_processors_look_();
  csched_tsd_set_(&key, &here, loop_thread_ends); // without memory the thread's exit goes unnoticed
  csched_lock_lock(&binding);
  take_away(
      loop); // from a thread that is exiting: a host may continue on this thread before `loop_thread_ends` has run there
  csched_store_relaxed(&loop->thread, (const void *)&here); // racy write: only its own thread finds its address here
  csched_store_relaxed(&loop->thread_number, csched_os_thread_id_()); // racy write, for dumps
  LIST_INSERT_HEAD(&loops_here, loop, link);
  csched_lock_unlock(&binding);
}

void csched_loop_unbind_(csched_loop *loop) {
  csched_lock_lock(&binding);
  take_away(loop);
  csched_lock_unlock(&binding);
}

// MARK: waking

static CSCHED_NOINLINE void wake_loop(csched_loop *loop) {
  if (csched_is_observed_()) csched_observe_hooks_->note(CSCHED_OCCURRED_WAKE, loop, 0);
  if (csched_fds_wake_(&loop->fds)) return; // P2: sleeps on the poller
  csched_store_relaxed(&loop->wake, 1u);    // P2: carries nothing; the inbox orders what it announces
  csched_futex_wake_(&loop->wake, 1);
}

static void announce(csched_loop *loop) {
  if (csched_mpsc_notify(&loop->inbox)) wake_loop(loop); // P1, P2: found it parked
}

// MARK: timers

static int deliver_now(csched_timer *timer) { return timer->target->type->deliver(timer->target, &timer->job); }

// Delivers a late timer on the submitter's thread, or behind those that the delivery worker has still to deliver.
static int deliver_late(csched_loop *loop, csched_timer *timer) { // P9: behind earlier ones
  return loop->courier != NULL && csched_delivery_follows_(loop->courier, timer) ? 0 : deliver_now(timer);
}

static int deliver_to_loop_at(csched_target *target, csched_timer *timer, csched_time deadline, csched_time leeway) {
  csched_loop *loop = (csched_loop *)target;
  if (deadline < csched_load_relaxed(&loop->timers.first) && deadline <= csched_now() && // racy read, rechecked by pass
      csched_timers_pass_(&loop->timers, deadline))                                      // P9: late, and may pass
    return deliver_late(loop, timer);
  csched_timer_added added = csched_timers_add_(&loop->timers, timer, deadline, leeway);
  if (added == CSCHED_TIMER_LATE) return deliver_late(loop, timer); // P9: late
  if (added == CSCHED_TIMER_ADDED_FIRST) announce(loop);            // P1: an earlier wake
  if (added != CSCHED_TIMER_REFUSED) return 0;
  csched_job_discard_(&timer->job); // P6: closed
  return ECANCELED;
}

bool csched_loop_rearm(csched_loop *loop, csched_timer *timer, csched_time deadline) {
  if (csched_is_observed_()) csched_observe_hooks_->moved(&timer->job, deadline);
  csched_timer_added added = csched_timers_move_(&loop->timers, timer, deadline);
  if (added == CSCHED_TIMER_ADDED) return true;
  csched_loop_require_not_orphaned_(loop, "csched_loop_rearm");
  if (added == CSCHED_TIMER_LATE) deliver_late(loop, timer); // P9: late
  if (added == CSCHED_TIMER_ADDED_FIRST) announce(loop);     // P1: an earlier wake
  return added != CSCHED_TIMER_REFUSED;
}

// MARK: submitting and closing

static int deliver_to_loop(csched_target *target, csched_job *job) {
  csched_loop *loop = (csched_loop *)target;
  csched_push_result result = csched_mpsc_push(&loop->inbox, job);
  if (CSCHED_LIKELY(result == CSCHED_PUSHED)) return 0;
  if (result == CSCHED_PUSHED_WAKE) {
    wake_loop(loop); // P2: found it parked
    return 0;
  }
  csched_job_discard_(job); // P6: closed
  return ECANCELED;
}

static bool is_closing(const csched_loop *loop) {
  return csched_load_acquire(&loop->closing) != 0; // P6: pairs with close; carries what the closer did
}

static bool is_loop_closed(const csched_target *target) { return is_closing((const csched_loop *)target); }
static bool may_run_here(csched_target *target) {
  return csched_loop_is_on_thread((csched_loop *)target) && !is_loop_closed(target);
}
static bool is_bound_here(const csched_target *target) { return csched_loop_is_on_thread((const csched_loop *)target); }

static bool loop_has(const csched_target *target, const csched_job *job) { // P8: a queue asks it in a child of fork
  return csched_mpsc_has(&((const csched_loop *)target)->inbox, job);
}

static void describe_loop(const csched_target *target, csched_text *text) {
  csched_loop *loop = (csched_loop *)(uintptr_t)target;
  csched_mpsc_seen inbox = csched_mpsc_look_(&loop->inbox, CSCHED_DUMP_PENDING);
  csched_time first = csched_load_relaxed(&loop->timers.first), now = csched_now(); // racy read, for dumps
  uint32_t thread = csched_load_relaxed(&loop->thread_number);                      // racy read, for dumps
  csched_text_target_(text, "loop", target, "");
  if (thread != 0) csched_text_thread_(text, " of ", thread);
  csched_text_add_(text, csched_load_relaxed(&loop->closing) != 0 ? ": takes no more" // racy read, for dumps
                         : inbox.is_parked                        ? ": asleep"
                                                                  : ": awake, or not run");
  csched_text_pending_(text, ", ", inbox);
  csched_text_delayed_(text, csched_timers_count_(&loop->timers, true), first, now);
}

static const csched_target_type loop_type = {.deliver = deliver_to_loop,
                                             .deliver_at = deliver_to_loop_at,
                                             .enter = may_run_here,
                                             .is_bound_here = is_bound_here,
                                             .is_closed = is_loop_closed,
                                             .has = loop_has,
                                             .describe_ = describe_loop,
                                             .passes_on_ = true};

void csched_require_policy_(csched_stop_policy policy, const char *function) {
  if (CSCHED_UNLIKELY((unsigned)policy > CSCHED_STOP_DROP))
    csched_panic_(function, "%d is no policy. Name one of csched_stop_policy.", (int)policy);
}

void csched_loop_close(csched_loop *loop, csched_stop_policy policy) {
  csched_require_policy_(policy, "csched_loop_close");
  uint32_t asked = 1 + (uint32_t)policy, seen = csched_load_relaxed(&loop->closing); // racy read, rechecked by the cas
  while (seen < asked && !csched_cas_release(&loop->closing, &seen, asked)) {} // P6: pairs with the loop's acquire
  csched_timers_close_(&loop->timers);                                         // P6: no more timers
  if (csched_mpsc_close(&loop->inbox)) wake_loop(loop);                        // P2, P6: no more jobs
}

static bool is_dropping(const csched_loop *loop) {
  return csched_load_relaxed(&loop->closing) == 1 + CSCHED_STOP_DROP; // P6: decides run or drop
}

void csched_loop_end_run(csched_loop *loop) {
  csched_store_release(&loop->ending, 1u); // P5: pairs with the loop's acquire
  announce(loop);                          // P1: after the store
}

void csched_activation_init(csched_activation *activation, csched_loop *loop) {
  *activation = (csched_activation){.loop = loop};
}

void csched_activation_end_run(csched_activation *activation) {
  csched_loop *loop = activation->loop;
  csched_store_release(&activation->ended, 1u); // P5: pairs with the loop's acquire
  announce(loop);                               // P1: after the store
}

void csched_loop_ref(csched_loop *loop) { csched_fetch_add_relaxed(&loop->refs, 1u); } // P1: ends no sleep

void csched_loop_unref(csched_loop *loop) {
  csched_fetch_add_release(&loop->refs, UINT32_MAX); // P1, P5: pairs with the loop's acquire
  announce(loop);                                    // P1: after the subtraction
}

// Whether csched_loop_run_until_done is over. Its activation has no loop.
static bool is_done(csched_loop *loop, const csched_activation *activation) {
  if (activation == NULL || activation->loop != NULL) return false;
  int64_t refs =
      (int32_t)csched_load_acquire(&loop->refs); // P5: read first; pairs with unref; carries what was submitted before
  if (!csched_mpsc_is_empty(&loop->inbox) || !TAILQ_EMPTY(&loop->fds.ready)) return false;
  return (int64_t)(csched_timers_count_(&loop->timers, false) + loop->fds.count) + refs <= 0;
}

static bool is_ended(const csched_loop *loop, const csched_activation *activation) {
  return (activation != NULL && csched_load_acquire(&activation->ended) != 0) || // P5: pairs with activation_end_run
         csched_load_acquire(&loop->ending) != 0;                                // P5: pairs with loop_end_run
}

// MARK: running

static void add_to(uint64_t *figure, uint64_t count) {               // P12
  csched_store_relaxed(figure, csched_load_relaxed(figure) + count); // P12: only the value matters; single writer
}

// Returns: the next due timer whose target is the loop. Timers for queues on it are delivered there, and count, too.
static csched_job *next_timer(csched_loop *loop) {
  while (loop->timers_left > 0) {
    loop->timers_left--;                             // P3: one of MOST
    csched_store_relaxed(&loop->timers.telling, 1u); // P9: set before the lock
    csched_timer *timer = csched_timers_pop_(&loop->timers, loop->batch_time);
    loop->has_more_timers = timer != NULL;
    if (timer == NULL) loop->timers_left = 0;
    if (timer == NULL || timer->target == &loop->target) {
      csched_store_relaxed(&loop->timers.telling, 0u); // P9: cleared after the lock
      if (timer != NULL) add_to(&loop->ran, 1);
      return timer != NULL ? &timer->job : NULL;
    }
    if (loop->courier != NULL) csched_delivery_pass_on_(loop->courier, timer);
    else deliver_now(timer);
  }
  return NULL;
}

static csched_job *next_source(csched_loop *loop) {
  if (CSCHED_LIKELY(TAILQ_EMPTY(&loop->fds.ready)) || loop->sources_left == 0) return NULL;
  loop->sources_left--; // P3: one of MOST
  add_to(&loop->ran, 1);
  return csched_fds_next_(&loop->fds);
}

static csched_job *next_submitted(csched_loop *loop) {
  csched_job *job = loop->jobs_left > 0 && (loop->holds_at == 0 || loop->holds_at != loop->depth)
                        ? csched_mpsc_pop(&loop->inbox)
                        : NULL;
  if (job != NULL) loop->jobs_left--; // P3: one of MOST
  return job;
}

static void begin_batch(csched_loop *loop) { // P3: a new budget for each kind
  add_to(&loop->ran, MOST - loop->jobs_left);
  csched_time first = csched_load_relaxed(&loop->timers.first); // racy read, rechecked before a sleep
  csched_time wake = csched_load_relaxed(&loop->timers.wake);   // the same racy read
  if (wake < first) first = wake;                               // a pop that finds no timer makes both exact
  bool looks = loop->has_more_timers || first != CSCHED_FOREVER;
  if (looks || loop->fds.count > 0) loop->batch_time = csched_now();
  looks = loop->has_more_timers || (looks && first <= loop->batch_time);
  if (looks) csched_store_relaxed(&loop->timers.floor, loop->batch_time + 1); // P3: before the batch's first timer runs
  loop->timers_left = looks ? MOST : 0;
  loop->sources_left = loop->jobs_left = MOST;
  if (loop->fds.count > 0) csched_fds_batch_(&loop->fds, loop->batch_time);
}

// Returns: the next job of the batch in progress, or of a new one. NULL: none; with `has_more_timers`, timers remain.
static csched_job *next_ready(csched_loop *loop) {
  for (bool is_new = false;; is_new = true) {
    csched_job *job = next_timer(loop);
    if (job == NULL) job = next_source(loop);
    if (job == NULL) job = next_submitted(loop);
    if (job != NULL || is_new) return job;
    begin_batch(loop);
  }
}

// Runs or drops each outstanding job, by the policy that holds when it is dequeued. Then drops the remaining timers.
void csched_loop_finish_(csched_loop *loop) {
  csched_loop_close(loop, CSCHED_STOP_RUN); // P6: the closing thread may not have closed the inbox yet
  csched_fds_close_(&loop->fds);
  csched_hooks_close_(&loop->hooks);
  if (loop->courier != NULL) csched_job_discard_into_(&loop->courier->bin);
  csched_job *job;
  while (!is_dropping(loop) && ((job = next_ready(loop)) != NULL || loop->has_more_timers))
    if (job != NULL) csched_job_perform_(job);
  while ((job = csched_mpsc_pop(&loop->inbox)) != NULL) csched_job_discard_(job);
  csched_timer *timer;
  while ((timer = csched_timers_pop_(&loop->timers, CSCHED_FOREVER)) != NULL) csched_job_discard_(&timer->job);
  if (loop->courier != NULL) csched_job_discard_into_(NULL);
}

void csched_loop_carry_by_(csched_loop *loop, csched_courier *courier) { loop->courier = courier; }

static bool has_work(csched_loop *loop, const csched_activation *activation, csched_time now) {
  return !csched_mpsc_is_empty(&loop->inbox) || is_ended(loop, activation) || is_closing(loop) ||
         !TAILQ_EMPTY(&loop->fds.ready) || is_done(loop, activation) ||
         csched_load_relaxed(&loop->timers.wake) <= now; // P1: after a park, which orders it
}

// Looks for work for less time than a sleep and a wake cost. Adapts that time to its success. Speed only.
static bool spin(csched_loop *loop, const csched_activation *activation, csched_time deadline) {
  if (!csched_may_spin_()) return false;
  csched_time now = csched_now(), end = csched_time_after(now, (int64_t)loop->spin_for);
  if (end > deadline) end = deadline;
  while (now < end) {
    if (has_work(loop, activation, now)) {
      loop->spin_for = loop->spin_for * 2 > SPIN_MOST ? SPIN_MOST : loop->spin_for * 2;
      return true;
    }
    for (int i = 0; i < 8; i++) CSCHED_CPU_RELAX();
    now = csched_now();
  }
  loop->spin_for = loop->spin_for / 2 < SPIN_LEAST ? SPIN_LEAST : loop->spin_for / 2;
  return false;
}

// Inline, because nearly no loop has hooks.
static inline void tell_hooks(csched_loop *loop, unsigned depth, bool is_sleep) {
  if (CSCHED_UNLIKELY(!TAILQ_EMPTY(&loop->hooks.all) || loop->hooks.is_asleep))
    csched_hooks_tell_(&loop->hooks, depth, is_sleep);
}

// Counts a sleep: called when it begins, and when it has ended.
static void sleeps(csched_loop *loop, bool begins) {                       // P12
  csched_time now = csched_now(), idle = csched_load_relaxed(&loop->idle); // P12: no other thread writes it
  csched_store_relaxed(&loop->idle, begins ? (idle - now) | ASLEEP : (idle + now) & ~ASLEEP); // P12: only its value
  if (begins) add_to(&loop->sleeps, 1);
}

void csched_loop_get_statistics(const csched_loop *loop, csched_loop_statistics *statistics) {
  csched_time idle = csched_load_relaxed(&loop->idle);     // P12: only the value matters
  statistics->jobs = csched_load_relaxed(&loop->ran);      // P12: the same
  statistics->sleeps = csched_load_relaxed(&loop->sleeps); // P12: the same
  statistics->idle = (idle & ASLEEP) != 0 ? (idle + csched_now()) & ~ASLEEP : idle;
}

static void sleep_until_work(csched_loop *loop, const csched_activation *activation, csched_time deadline) {
  // A spin does not see sources. So a loop with sources spins only if a submission ended its last sleep.
  if ((loop->fds.count == 0 || loop->was_told) && spin(loop, activation, deadline)) return;
  csched_store_relaxed(&loop->wake, 0u);                       // P2: before the park, which the waker's push acquires
  if (!csched_mpsc_park(&loop->inbox)) return;                 // P1: park
  if (!has_work(loop, activation, 0)) {                        // P1: look after parking
    csched_time due = csched_load_relaxed(&loop->timers.wake); // P1: read after parking
    csched_time until = due < deadline ? due : deadline;
    sleeps(loop, true);
    bool is_on_poller = csched_fds_wait_(&loop->fds, until);
    loop->was_told = is_on_poller && TAILQ_EMPTY(&loop->fds.ready) && csched_mpsc_has_news(&loop->inbox); // Speed only
    if (!is_on_poller)
      while (csched_load_relaxed(&loop->wake) == 0 && // P2: until the wake
             csched_futex_wait_(&loop->wake, 0, until) != CSCHED_FUTEX_TIMED_OUT) {}
    sleeps(loop, false);
    csched_recorder_slept_();
  }
  csched_mpsc_unpark(&loop->inbox);
}

// Sleeps until there is work, or until `deadline`. It may return early.
static void wait_for_work(csched_loop *loop, const csched_activation *activation, csched_time deadline) {
  if (loop->has_more_timers) return;   // the batch's timers were all for other targets
  tell_hooks(loop, loop->depth, true); // P1: before the park
  if (!loop->has_more_timers) sleep_until_work(loop, activation, deadline); // a hook may have run the loop
  tell_hooks(loop, loop->depth, false);
}

// Called when csched_loop_end_run ends a run. After an outermost run, the program has given up the jobs that remain.
static void note_stop(csched_loop *loop) {
  if (loop->depth == 1) csched_store_relaxed(&loop->served, STOPPED); // P13: only the value matters
}

// Leaves the sleep to the host, or makes it call again. A close is reported once: a closed loop may be kept for long.
static void park_in_host(csched_loop *loop) {
  csched_fds *fds = &loop->fds;
  csched_fds_settle_(fds);                          // E2: before the park, or it could consume a wake for this park
  fds->is_in_host = csched_mpsc_park(&loop->inbox); // P1: park, then look
  bool is_idle = fds->is_in_host ? !has_work(loop, NULL, 0) : fds->knows_close && csched_mpsc_is_empty(&loop->inbox);
  fds->knows_close = is_closing(loop);
  csched_fds_leave_to_host_(fds, is_idle, csched_load_relaxed(&loop->timers.wake)); // P1: read after parking
}

static void end_run(csched_loop *loop) {
  if (--loop->depth == 0 && loop->fds.has_host && !loop->is_promised) park_in_host(loop); // P1: the host sleeps
}

static void run_unwound(csched_job *run) { // P7: unwound
  csched_loop *loop = run->context;
  loop->was_left = true;
  end_run(loop);
}
static const csched_job_type run_type = {.release = run_unwound};

static bool is_run(const csched_frame *frame) {
  const csched_target *target = frame->target;
  return target != NULL && target->type == &loop_type && frame->job == &((const csched_loop *)target)->run;
}

CSCHED_NOINLINE csched_loop *csched_loop_current(void) {
  const csched_frame *each = csched_frame_look_(CSCHED_CALLER_FRAME());
  while (each != NULL && !is_run(each)) each = each->outer;
  return each != NULL ? (csched_loop *)each->target : NULL;
}

unsigned *csched_loop_jobs_left_(void) {
  const csched_frame *each = csched_frame_here_();
  while (each != NULL && !is_run(each)) each = each->outer;
  return each != NULL ? &((csched_loop *)each->target)->jobs_left : NULL;
}

static void enter_loop(csched_loop *loop, csched_scope *scope, uintptr_t address, const char *function) {
  require_thread(loop, function);
  if (loop->fds.is_in_host) csched_mpsc_unpark(&loop->inbox);
  if (loop->fds.is_in_host) loop->fds.is_stale = true;
  loop->fds.is_in_host = false;
  loop->depth++;
  csched_store_relaxed(&loop->served, RUN);              // P13: only the value matters
  if (loop->holds_at >= loop->depth) loop->holds_at = 0; // of a run that was unwound
  scope->frame = csched_frame_begin_(&scope->spare, address, &loop->run, &loop->target);
  tell_hooks(loop, loop->depth, false); // ends a sleep in the host
}

static void leave_loop(csched_loop *loop, const csched_scope *scope) {
  if (loop->depth == 1 && loop->fds.has_host && !loop->is_promised && !has_work(loop, NULL, 0))
    tell_hooks(loop, 1, true); // P1: before the park
  csched_frame_end_(scope->frame);
  loop->was_left = false;
  end_run(loop);
}

CSCHED_NOINLINE csched_run_result csched_loop_run_activation_(csched_loop *loop, csched_activation *activation,
                                                              csched_time deadline, csched_scope *scope) {
  CSCHED_ROOM_IN_FRAME();
  csched_frame_look_(CSCHED_CALLER_FRAME()); // P7: ends lost frames
  enter_loop(loop, scope, CSCHED_OWN_FRAME(), "csched_loop_run");
  csched_run_result result;
  for (;;) {
    if (is_closing(loop)) {
      csched_loop_finish_(loop);
      result = CSCHED_RUN_CLOSED;
      break;
    }
    if (is_ended(loop, activation)) {                                           // P5: end asked
      if (activation == NULL || csched_load_relaxed(&activation->ended) == 0) { // P5: ended by csched_loop_end_run
        csched_store_relaxed(&loop->ending, 0u);                                // P5: taken
        note_stop(loop);
      }
      result = CSCHED_RUN_ENDED;
      break;
    }
    if (is_done(loop, activation)) { // P5: nothing remains
      result = CSCHED_RUN_DONE;
      break;
    }
    if (deadline != CSCHED_FOREVER && csched_now() >= deadline) {
      result = CSCHED_RUN_TIMED_OUT;
      break;
    }
    csched_job *job = next_ready(loop);
    if (job != NULL) csched_job_perform_(job);
    else wait_for_work(loop, activation, deadline);
  }
  leave_loop(loop, scope);
  return result;
}

// Returns: the next job of run_once, run_ready or run_through_. After a close with CSCHED_STOP_DROP: drops all, NULL.
static csched_job *next_unless_dropping(csched_loop *loop) {
  if (is_closing(loop)) csched_fds_close_(&loop->fds);
  if (is_dropping(loop)) {
    csched_loop_finish_(loop); // P6: drop
    return NULL;
  }
  csched_job *job = next_ready(loop);
  return job != NULL ? job : csched_fds_look_(&loop->fds);
}

CSCHED_NOINLINE bool csched_loop_run_once_(csched_loop *loop, csched_time deadline, csched_scope *scope) {
  CSCHED_ROOM_IN_FRAME();
  csched_frame_look_(CSCHED_CALLER_FRAME()); // P7: ends lost frames
  enter_loop(loop, scope, CSCHED_OWN_FRAME(), "csched_loop_run_once");
  csched_job *job;
  while ((job = next_unless_dropping(loop)) == NULL && !is_closing(loop) && csched_now() < deadline) {
    if (is_ended(loop, NULL)) {                // P5: as in any run
      csched_store_relaxed(&loop->ending, 0u); // P5: taken
      note_stop(loop);
      break;
    }
    wait_for_work(loop, NULL, deadline);
  }
  if (job != NULL) csched_job_perform_(job);
  leave_loop(loop, scope);
  return job != NULL;
}

CSCHED_NOINLINE size_t csched_loop_run_ready_(csched_loop *loop, size_t max, csched_scope *scope) {
  CSCHED_ROOM_IN_FRAME();
  csched_frame_look_(CSCHED_CALLER_FRAME()); // P7: ends lost frames
  enter_loop(loop, scope, CSCHED_OWN_FRAME(), "csched_loop_run_ready");
  size_t count = 0;
  for (csched_job *job; count < max && (job = next_unless_dropping(loop)) != NULL; count++) csched_job_perform_(job);
  leave_loop(loop, scope);
  return count;
}

CSCHED_NOINLINE bool csched_loop_run_through_(csched_loop *loop, const csched_job *last, bool is_promised) {
  CSCHED_ROOM_IN_FRAME();
  csched_frame_look_(CSCHED_CALLER_FRAME()); // P7: ends lost frames
  csched_scope scope;
  enter_loop(loop, &scope, CSCHED_OWN_FRAME(), "csched_loop_run_through_");
  unsigned outer_holds_at = loop->holds_at;
  if (last == NULL) loop->holds_at = loop->depth; // P10: takes none
  for (int i = 0; (last == NULL ? i < MOST_DUE : !csched_job_is_idle(last)); i++) {
    csched_job *job = next_unless_dropping(loop);
    if (job != NULL) csched_job_perform_(job);
    else if (!loop->has_more_timers) break;
  }
  bool has_more = !csched_mpsc_is_empty(&loop->inbox);
  loop->holds_at = outer_holds_at;
  loop->is_promised = is_promised;
  leave_loop(loop, &scope);
  loop->is_promised = false;
  return has_more;
}

// Delivers due timers, the loop's own to its inbox, so that later submissions come after them.
static void queue_due(csched_loop *loop) {
  csched_time first = csched_load_relaxed(&loop->timers.first); // racy read, rechecked by pop
  if (first == CSCHED_FOREVER) return;
  csched_time now = csched_now();
  if (first > now) return;
  csched_store_relaxed(&loop->timers.telling, 1u); // P9: set before the lock
  for (csched_timer *timer; (timer = csched_timers_pop_(&loop->timers, now)) != NULL;) deliver_now(timer);
  csched_store_relaxed(&loop->timers.telling, 0u); // P9: cleared after the lock
}

bool csched_loop_is_free_(csched_loop *loop) { // P11: discards cancelled entries
  if (!csched_loop_is_on_thread(loop) || csched_target_is_inside(&loop->target) || is_closing(loop)) return false;
  queue_due(loop);
  for (csched_job *job; (job = csched_mpsc_peek(&loop->inbox)) != NULL && csched_job_is_cancelled_(job);)
    csched_job_discard_(csched_mpsc_pop(&loop->inbox));
  return csched_mpsc_is_empty(&loop->inbox) && TAILQ_EMPTY(&loop->fds.ready);
}

static bool is_unrun(const csched_job *job, const void *except) {
  return csched_job_seems_to_wait_(job, except);
} // P13

bool csched_loop_count_unrun_(csched_loop *loop, const csched_job_type *except, size_t *queued,
                              size_t *delayed) {        // P13
  uint32_t served = csched_load_relaxed(&loop->served); // P13: only the value matters
  *queued = *delayed = 0;
  if (is_closing(loop) || served == STOPPED) return false;
  if (served == NEVER_RUN) {
    *delayed = csched_timers_count_(&loop->timers, false);
  } else {
    if (!csched_loop_is_on_thread(loop) || loop->depth != 0 || loop->fds.has_host) return false;
    if (csched_target_current() != NULL) return false;
    if (csched_loop_is_free_(loop)) return false; // it has queued the due timers, too
  }
  *queued = csched_mpsc_count_(&loop->inbox, MOST_UNRUN, is_unrun, except);
  return *queued + *delayed > 0;
}

csched_fds *csched_loop_fds_of_(csched_loop *loop) { return &loop->fds; }

csched_fds *csched_loop_fds_(csched_loop *loop, const char *function) {
  require_thread(loop, function);
  return &loop->fds;
}

csched_hooks *csched_loop_hooks_(csched_loop *loop, const char *function) {
  require_thread(loop, function);
  return &loop->hooks;
}

// MARK: create and destroy

static csched_loop *loop_of(csched_atfork *atfork) {
  return (csched_loop *)((char *)atfork - offsetof(csched_loop, atfork));
}

// In a child of fork: closes a loop whose thread is in the parent. That thread may have been changing the rest.
static void orphan(csched_loop *loop) {           // P8
  csched_store_relaxed(&loop->closing, ORPHANED); // P8: the child has one thread
  csched_mpsc_close(&loop->inbox);
  loop->target.type = &csched_target_orphaned_;
}

static void loop_at_fork(csched_atfork *atfork, csched_atfork_phase phase) { // P8
  csched_loop *loop = loop_of(atfork);
  bool was_others =
      !csched_loop_is_on_thread(loop) && csched_load_relaxed(&loop->thread) != NULL; // racy read: only its value
  csched_timers_atfork_(&loop->timers, phase, was_others);
  if (phase != CSCHED_ATFORK_IN_CHILD) return;
  binding = (csched_lock)CSCHED_LOCK_INIT;
  loop->target.waits_for = NULL;
  if (csched_loop_is_on_thread(loop))
    csched_store_relaxed(&loop->thread_number, csched_os_thread_id_()); // racy write, for dumps
  if (was_others) orphan(loop);
  else csched_fds_renew_(&loop->fds);
}

const csched_target *csched_loop_of_atfork_(const csched_atfork *atfork) {
  return atfork->handler == loop_at_fork ? &loop_of((csched_atfork *)(uintptr_t)atfork)->target : NULL;
}

bool csched_loop_see_(const csched_target *target, uint32_t *thread, uint32_t *closing, size_t *timers) {
  const csched_loop *loop = (const csched_loop *)target;
  return csched_os_peek_(thread, &loop->thread_number, sizeof *thread) &&
         csched_os_peek_(closing, &loop->closing, sizeof *closing) &&
         csched_os_peek_(timers, &loop->timers.pending, sizeof *timers);
}

csched_timers *csched_loop_timers_seen_(const csched_target *target) {
  return target->type == &loop_type ? &((csched_loop *)(uintptr_t)target)->timers : NULL;
}

static void init(csched_loop *loop) {
  void *owner = loop->target.owner;
  const char *refusal = loop->refusal;
  csched_atfork atfork = loop->atfork;
  memset(loop, 0, sizeof *loop);
  csched_timers_init_(&loop->timers);
  csched_fds_init_(&loop->fds, loop);
  TAILQ_INIT(&loop->hooks.all);
  loop->target = (csched_target){&loop_type, owner, NULL};
  csched_job_init(&loop->run, &run_type, loop);
  loop->jobs_left = MOST;
  loop->spin_for = SPIN_LEAST;
  loop->refusal = refusal;
  loop->atfork = atfork;
}

void csched_loop_renew_(csched_loop *loop) {
  while (csched_timers_pop_(&loop->timers, CSCHED_FOREVER) != NULL) {} // a popped timer can still be cancelled
  csched_fds_abandon_(&loop->fds);
  init(loop);
}

static csched_loop *begin(csched_loop *loop, const char *refusal) {
  loop->refusal = refusal;
  loop->target.owner = NULL;
  loop->atfork = (csched_atfork){0};
  init(loop);
  csched_os_atfork_(&loop->atfork, loop_at_fork);
  csched_dump_take_loop_(&loop->target);
  return loop;
}

csched_loop *csched_loop_create_unbound_(void) {
  csched_loop *loop = aligned_alloc(_Alignof(csched_loop), sizeof *loop);
  return loop != NULL ? begin(loop, "that of a thread. Stop and destroy the thread, not its loop.") : NULL;
}

csched_loop *csched_loop_make_static_(void) {
  static csched_loop loop;
  return begin(&loop,
               "the main loop, which lives as long as the process. Close it, or call csched_shutdown at the end.");
}

void csched_loop_empty_(csched_loop *loop) {
  csched_fds_destroy_(&loop->fds);
  loop->fds.has_host = loop->fds.is_in_host = false;
}

int csched_loop_create(csched_loop **loop) {
  *loop = csched_loop_create_unbound_();
  if (*loop == NULL) return ENOMEM;
  (*loop)->refusal = NULL;
  csched_loop_bind_(*loop);
  return 0;
}

static CSCHED_NOINLINE void require_destroyable(const csched_loop *loop) {
  static const char *const function = "csched_loop_destroy";
  const void *thread = csched_load_relaxed(&loop->thread); // racy read: only its own thread finds its address here
  if (loop->refusal != NULL) csched_panic_(function, "loop %p is %s", (const void *)loop, loop->refusal);
  if (thread == &here && loop->depth > 0)
    csched_panic_(
        function,
        "called inside of a run of loop %p. Stop or close it here, and destroy it when its runs have returned.",
        (const void *)loop);
  if (csched_target_is_inside(&loop->target))
    csched_panic_(function,
                  "called inside of a sync on a queue whose base is loop %p. Destroy the loop when that has returned.",
                  (const void *)loop);
  if (thread != &here && thread != NULL)
    csched_panic_(function,
                  "loop %p belongs to another thread. Destroy it there, or here when that thread has detached it "
                  "(csched_loop_detach) or has ended.",
                  (const void *)loop);
}

CSCHED_NOINLINE void csched_loop_destroy(csched_loop *loop) {
  csched_frame_look_(CSCHED_CALLER_FRAME());  // P7: ends lost frames
  if (csched_loop_is_orphaned_(loop)) return; // P8: its thread may have been changing it
  require_destroyable(loop);
  csched_loop_free_(loop);
}

void csched_loop_free_(csched_loop *loop) {
  if (csched_loop_is_orphaned_(loop)) return; // P8: its memory stays
  loop->refusal = "being destroyed. Do not destroy it from what it drops or releases meanwhile.";
  csched_loop_close(loop, CSCHED_STOP_DROP);
  csched_loop_finish_(loop);
  csched_delivery_settle_(); // a delivery from another clock, whose timer may have kept the loop until now
  csched_fds_destroy_(&loop->fds);
  csched_loop_unbind_(loop);
  csched_os_atfork_end_(&loop->atfork);
  csched_dump_give_loop_(&loop->target);
  csched_observe_gone_(&loop->target);
  free(loop);
}
