// Close of a loop and ends of its runs: the requests, and the work of a closed loop.
// States and invariants: those of loop.c.

#include "loop_state.h"

#include "../base/panic.h"
#include "../job/job_internal.h"

void csched_require_policy_(csched_stop_policy policy, const char *function) {
  if (CSCHED_UNLIKELY((unsigned)policy > CSCHED_STOP_DROP))
    csched_panic_(function, "%d is no policy. Name one of csched_stop_policy.", (int)policy);
}

// Does: makes the loop refuse later work, and its run return after outstanding work was run or dropped, as `policy`
// says.
void csched_loop_close(csched_loop *loop, csched_stop_policy policy) {
  csched_require_policy_(policy, "csched_loop_close");
  // The strictest policy stays in `closing`. CSCHED_LOOP_ORPHANED is greater than each `asked`.
  uint32_t asked = 1 + (uint32_t)policy, seen = csched_load_relaxed(&loop->closing); // racy read, rechecked by the cas
  while (seen < asked && !csched_cas_release(&loop->closing, &seen, asked)) {}       // LP6: before the wake below
  csched_timers_close_(&loop->timers);                                               // LP6: refuses later timers
  if (csched_mpsc_close(&loop->inbox)) csched_loop_wake_(loop); // LP2, LP6: refuses later jobs; ends the park
}

void csched_loop_end_run(csched_loop *loop) {
  csched_store_release(&loop->ending, 1u); // LP5: the run that reads it sees the caller's earlier writes
  csched_loop_announce_(loop);             // LP1: after the store, which the woken loop must see
}

void csched_activation_init(csched_activation *activation, csched_loop *loop) {
  *activation = (csched_activation){.loop = loop};
}

void csched_activation_end_run(csched_activation *activation) {
  csched_loop *loop = activation->loop;
  csched_store_release(&activation->ended, 1u); // LP5: the run that reads it sees the caller's earlier writes
  csched_loop_announce_(loop);                  // LP1: after the store, which the woken loop must see
}

void csched_loop_ref(csched_loop *loop) { csched_fetch_add_relaxed(&loop->refs, 1u); } // LP1: a ref ends no sleep

void csched_loop_unref(csched_loop *loop) {
  csched_fetch_add_release(&loop->refs, UINT32_MAX); // LP1, LP5: subtracts 1; pairs with csched_loop_is_done_
  csched_loop_announce_(loop);                       // LP1: after the subtraction, which the woken loop must see
}

void csched_loop_record_end_(csched_loop *loop) {
  if (loop->depth == 1) csched_store_relaxed(&loop->served, CSCHED_LOOP_STOPPED); // LP13: else unrun jobs are reported
}

// Does: ends the acceptance of late work, if there is none. Returns: false: there is.
static bool end_late_work(csched_loop *loop) { // LP14
  csched_lock_lock(&loop->late_lock);
  bool is_over = csched_mpsc_is_empty(&loop->inbox);
  if (is_over && loop->depth <= 1) loop->is_over = true; // else an outer run finishes the work
  csched_lock_unlock(&loop->late_lock);
  return is_over;
}

typedef struct search {
  const csched_loop *loop;
  bool is_busy; // a queue or limit on `loop` is
} search;

static bool look_at(csched_atfork *each,
                    void *context) { // goes on to the end: so the cursor is never linked, and no child of fork finds it
  search *search = context;
  if (!search->is_busy && each->is_busy != NULL) search->is_busy = each->is_busy(each, search->loop);
  return true;
}

static bool has_busy_queue(const csched_loop *loop) {
  csched_atfork cursor = {.handler = NULL};
  search search = {.loop = loop};
  csched_os_atfork_visit_(&cursor, look_at, &search);
  return search.is_busy;
}

// Does: waits while a queue or limit on the loop has accepted work that the loop does not have: a thread is just
// submitting it. Not in a nested run, because an outer context frame of this thread may have that work. At most for a
// second: a thread that was stopped in a submission does not keep the loop.
static void await_submitters(csched_loop *loop) { // LP14
  for (int i = 0; i < 10000 && loop->depth <= 1 && !csched_loop_is_dropping_(loop) &&
                  csched_mpsc_is_empty(&loop->inbox) && has_busy_queue(loop);
       i++)
    csched_nap_(100000);
}

// Does: refuses later work. Runs outstanding work until a close says CSCHED_STOP_DROP, then drops the rest, and all
// timers that are not due.
void csched_loop_finish_work_(csched_loop *loop) {
  csched_loop_close(loop, CSCHED_STOP_RUN); // LP6: another thread's close may have only set `closing` so far
  csched_fds_close_(&loop->fds);
  csched_hooks_close_(&loop->hooks);
  if (loop->delivery != NULL) csched_job_discard_into_(&loop->delivery->deferred); // delivery.c DV3: runs no user code
  csched_job *job; // has_more_timers after NULL: the batch was full of timers of other targets, and more may be due
  do {
    while (!csched_loop_is_dropping_(loop) && ((job = csched_loop_next_(loop)) != NULL || loop->has_more_timers))
      if (job != NULL) csched_job_perform_(job);
    while (csched_loop_is_dropping_(loop) && (job = csched_mpsc_pop(&loop->inbox)) != NULL) csched_job_discard_(job);
    for (csched_timer *timer; (timer = csched_timers_pop_(&loop->timers, CSCHED_FOREVER)) != NULL;)
      csched_job_discard_(&timer->job);
    await_submitters(loop);
  } while (!end_late_work(loop));
  if (loop->delivery != NULL) csched_job_discard_into_(NULL); // this thread drops its own jobs again
}
