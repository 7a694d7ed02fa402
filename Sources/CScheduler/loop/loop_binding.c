// The thread of a loop: binding, thread exit, and the checks that depend on the thread.
// States and invariants: those of loop.c.

#include "loop_state.h"

#include "../base/panic.h"
#include "../job/job_internal.h"
#include "../job/mpsc_internal.h"
#include "../targets/target_internal.h"

enum { MOST_UNRUN = 1000 }; // LP13: csched_loop_count_unrun_ counts at most so many jobs, to delay the exit little

// MARK: owning thread

// Its address identifies the thread. Its value is 1 once a loop was bound to the thread. (One byte: the block for such
// variables is small.)
CSCHED_TLS_FAST CSCHED_THREAD_LOCAL char csched_loop_here_;
static CSCHED_THREAD_LOCAL LIST_HEAD(, csched_loop) loops_here; // the loops of this thread
static csched_lock binding; // guards `loops_here` of all threads, and a change of a loop's thread

bool csched_thread_had_loops_(void) { return csched_loop_here_ != 0; }

void csched_loops_set_waits_for_(csched_target *target) {
  csched_loop *loop;
  csched_lock_lock(&binding); // another thread may free a loop of this thread
  LIST_FOREACH(loop, &loops_here, link) loop->target.waits_for = target;
  csched_lock_unlock(&binding);
}

bool csched_loop_is_on_thread(const csched_loop *loop) { return csched_loop_is_here_(loop); }

bool csched_loop_is_orphaned_(const csched_loop *loop) {
  return csched_load_relaxed(&loop->closing) == CSCHED_LOOP_ORPHANED; // LP8: set while the child has one thread
}

void csched_loop_require_not_orphaned_(const csched_loop *loop, const char *function) {
  if (CSCHED_UNLIKELY(csched_loop_is_orphaned_(loop))) csched_target_panic_orphaned_(&loop->target, function);
}

static CSCHED_NOINLINE CSCHED_NORETURN void panic_wrong_thread(const csched_loop *loop, const char *function) {
  csched_loop_require_not_orphaned_(loop, function); // first: the message for an orphaned loop is another one
  csched_panic_(function, "loop %p belongs to another thread. Call this on the thread that created it.",
                (const void *)loop);
}

void csched_loop_require_thread_(const csched_loop *loop, const char *function) {
  if (CSCHED_UNLIKELY(!csched_loop_is_here_(loop))) panic_wrong_thread(loop, function);
}

// Does: separates the loop from its thread, if it has one. Requires: the lock `binding`.
static void unbind_locked(csched_loop *loop) {
  if (csched_load_relaxed(&loop->thread) == NULL) return; // ordered by the lock
  LIST_REMOVE(loop, link);
  csched_store_relaxed(&loop->thread_number, 0u); // racy write, for dumps
  csched_store_relaxed(&loop->thread, NULL);      // racy write: else a later thread with this address would own it
}

// Does: unbinds this thread's loops, until it finds one whose last run was left by longjmp, an exception or the
// thread's exit (LP7 of loop.c).
// Returns: that loop, still bound, for the caller to close; or NULL.
static csched_loop *unbind_until_unwound(void) {
  csched_loop *loop;
  csched_lock_lock(&binding);
  while ((loop = LIST_FIRST(&loops_here)) != NULL && !loop->was_unwound) unbind_locked(loop);
  csched_lock_unlock(&binding);
  return loop;
}

// Does: at thread exit, unwinds the thread's runs, and closes each loop whose last run was unwound. Unbinds the
// thread's other loops, which stay open.
static void loop_thread_ends(void *value) { // LP7: destructor of the key in csched_loop_bind_
  (void)value;
  csched_frames_end_thread_();
  for (csched_loop *loop; (loop = unbind_until_unwound()) != NULL;) {
    loop->was_unwound = false; // so that the next unbind_until_unwound unbinds it
    csched_loop_close(loop, CSCHED_STOP_DROP);
    csched_loop_finish_work_(loop);
  }
}

// Does: makes the calling thread the loop's thread, also if the loop still has a former thread, which exits.
void csched_loop_bind_(csched_loop *loop) {
  static csched_tsd key;
  if (csched_loop_is_on_thread(loop)) return;
  csched_processors_note_own_();                               // counts processors, for csched_may_spin_
  csched_tsd_set_(&key, &csched_loop_here_, loop_thread_ends); // an error only omits the call at exit
  csched_lock_lock(&binding);
  unbind_locked(loop); // a host may move the loop to this thread before its former thread runs loop_thread_ends
  csched_store_relaxed(&loop->thread, (const void *)&csched_loop_here_); // racy write: see csched_loop_is_here_
  csched_store_relaxed(&loop->thread_number, csched_os_thread_id_());    // racy write, for dumps
  LIST_INSERT_HEAD(&loops_here, loop, link);
  csched_loop_here_ = 1;
  csched_lock_unlock(&binding);
}

void csched_loops_at_fork_(void) { binding = (csched_lock)CSCHED_LOCK_INIT; } // its owner may be in the parent

void csched_loop_rebind_(csched_loop *loop) {
  csched_loops_at_fork_();
  if (csched_loop_is_on_thread(loop))
    csched_store_relaxed(&loop->thread_number, csched_os_thread_id_()); // racy write, for dumps
}

void csched_loop_unbind_(csched_loop *loop) {
  csched_lock_lock(&binding);
  unbind_locked(loop);
  csched_lock_unlock(&binding);
}

// MARK: waiting work

// Does: delivers all due timers to their targets. Timers of the loop itself go to its inbox, so that later submissions
// run after them.
static void deliver_due_timers(csched_loop *loop) {
  csched_time first = csched_load_relaxed(&loop->timers.first); // racy read, rechecked by csched_timers_pop_
  if (first == CSCHED_FOREVER) return;
  csched_time now = csched_now();
  if (first > now) return;
  csched_store_relaxed(&loop->timers.is_delivering, 1u); // LP9: before the pops: else an overdue timer overtakes
  for (csched_timer *timer; (timer = csched_timers_pop_(&loop->timers, now)) != NULL;) csched_loop_deliver_now_(timer);
  csched_store_relaxed(&loop->timers.is_delivering, 0u); // LP9: all popped timers are delivered
}

// Does: moves due timers to the inbox. Returns: whether the caller may run work at once in place of a submission:
// nothing waits or runs on the loop.
bool csched_loop_is_free_(csched_loop *loop) { // LP11: else work that runs at once would overtake other work
  if (!csched_loop_is_here_(loop) || csched_target_holds_(&loop->target) || csched_loop_is_closing_(loop)) return false;
  deliver_due_timers(loop);
  for (csched_job *job; (job = csched_mpsc_peek(&loop->inbox)) != NULL && csched_job_is_cancelled_(job);)
    csched_job_discard_(csched_mpsc_pop(&loop->inbox)); // a cancelled entry is no work: releases it
  return csched_mpsc_is_empty(&loop->inbox) && TAILQ_EMPTY(&loop->fds.ready);
}

// Returns: whether csched_loop_count_unrun_ counts `job`: it was neither cancelled nor run, and its type is not
// `except`.
static bool is_unrun(const csched_job *job, const void *except) { return csched_job_seems_to_wait_(job, except); }

// Does: at the end of the process, counts the jobs (`*queued`) and timers (`*delayed`) that will never run. Returns:
// whether there are any.
bool csched_loop_count_unrun_(csched_loop *loop, const csched_job_type *except, size_t *queued, size_t *delayed) {
  uint32_t served = csched_load_relaxed(&loop->served); // LP13: relaxed: no other data depends on it
  *queued = *delayed = 0;
  if (csched_loop_is_closing_(loop) || served == CSCHED_LOOP_STOPPED) return false; // ended by request
  if (served == CSCHED_LOOP_NEVER_RUN) {
    *delayed = csched_timers_count_(&loop->timers, false);
  } else {
    if (!csched_loop_is_here_(loop) || loop->depth != 0 || loop->fds.has_host) return false; // may still run
    if (csched_target_current() != NULL) return false;                                       // inside a job
    if (csched_loop_is_free_(loop)) return false; // nothing waits. Else due timers are now in the inbox, to be counted
  }
  *queued = csched_mpsc_count_(&loop->inbox, MOST_UNRUN, is_unrun, except);
  return *queued + *delayed > 0;
}

csched_fds *csched_loop_fds_of_(csched_loop *loop) { return &loop->fds; }

csched_fds *csched_loop_fds_(csched_loop *loop, const char *function) {
  csched_loop_require_thread_(loop, function);
  return &loop->fds;
}

csched_hooks *csched_loop_hooks_(csched_loop *loop, const char *function) {
  csched_loop_require_thread_(loop, function);
  return &loop->hooks;
}
