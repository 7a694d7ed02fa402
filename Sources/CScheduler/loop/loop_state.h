// The state of a loop, shared by loop.c, loop_run.c, loop_stop.c, loop_binding.c and loop_life.c. States and invariants
// are in loop.c.
// Depends on: loop_internal.h, loop_fd_internal.h, loop_hook_internal.h, observed.h, timer_internal.h.
#pragma once

#include "../base/spin.h"
#include "../job/mpsc.h"
#include "../job/frames_internal.h"
#include "../job/observed.h"
#include "../time/timer_internal.h"
#include "loop_fd_internal.h"
#include "loop_hook_internal.h"
#include "loop_internal.h"

/// loop.c LP3: one batch runs at most this many timers, this many sources and this many jobs. 3 * 16 of them, at 200 us
/// each, take less than 10 ms.
enum { CSCHED_LOOP_MOST = 16 };
/// Values of the field `served`. STOPPED: csched_loop_end_run has ended the most recent run that was not nested.
enum { CSCHED_LOOP_NEVER_RUN, CSCHED_LOOP_RUN, CSCHED_LOOP_STOPPED };
#define CSCHED_LOOP_ORPHANED UINT32_MAX // value of `closing` in a child of fork, if the loop's thread is in the parent

struct csched_loop {
  csched_target target;
  CSCHED_CACHE_ALIGNED csched_mpsc inbox;

  CSCHED_CACHE_ALIGNED uint32_t wake; // futex; 1: the sleeping loop must wake
  uint32_t closing; // 0: open; 1 + the strictest csched_stop_policy requested; or CSCHED_LOOP_ORPHANED
  uint32_t ending;  // 1: csched_loop_end_run was called, and its request has not ended a run yet
  uint32_t refs;    // csched_loop_ref calls minus csched_loop_unref calls (int32_t), for csched_loop_run_until_done
  csched_lock late_lock; // guards `is_over`, and pushes after the close
  bool is_over;          // LP14: a closed loop has finished its work, and accepts no more
  uint32_t served; // CSCHED_LOOP_NEVER_RUN, _RUN or _STOPPED: decides on the report of jobs that were not run (LP13)

  CSCHED_CACHE_ALIGNED csched_timers timers;

  // Written by the loop's thread, or at creation; `thread`, `thread_number` and `link` change under the lock `binding`
  // (loop_binding.c).
  const char *refusal;    // csched_loop_destroy stops the process with this message; NULL: it destroys the loop
  uint32_t thread_number; // the system's number, 0 without a thread; for dumps
  const void *thread;     // address of the thread's csched_loop_here_; NULL: no thread, or it has ended
  csched_time batch_time; // the clock (ns) at the beginning of the current batch
  unsigned timers_left, sources_left, jobs_left; // how many more of each the current batch may run
  bool is_delivering;                            // the loop's thread delivers a due timer to another target
  bool has_more_timers;                          // the most recent pop of `timers` found a due timer: more may be due
  unsigned no_jobs_at_depth;                     // LP10: the run of this depth must not run submitted jobs; 0: none
  bool will_run_again;       // the host (another library's main loop, which runs this loop) has promised another run
  csched_delivery *delivery; // delivers due timers to other targets; NULL: the loop's thread delivers them
  csched_spin spin;          // results of recent spins (spin.h): decides whether the loop spins before its next sleep
  uint64_t ran, sleeps;      // LP12: how many jobs were run; how many sleeps began
  csched_time idle;          // LP12: ns of all sleeps. During a sleep: minus its start time, with the highest bit set
  csched_hooks hooks;        // functions to call before and after each sleep
  bool was_notified;         // a submission, not a source, ended the previous sleep: spin before the next one
  unsigned depth;            // number of runs in progress, nested in each other; 0: none
  bool was_unwound;          // LP7: a run was unwound, and no run has returned since: a thread exit closes the loop
  csched_job run;            // placeholder job: marks the context frame of each run; its `release` ends an unwound run
  LIST_ENTRY(csched_loop) link; // in `loops_here`, the list of the thread's loops (loop_binding.c)
  csched_atfork atfork;         // entry in the fork list

  CSCHED_CACHE_ALIGNED csched_fds fds; // begins with the fields that wakers read
};

_Static_assert(offsetof(csched_loop, target) == 0, "csched_loop_target is a cast");

extern CSCHED_HIDDEN const csched_target_type csched_loop_type_;
extern CSCHED_HIDDEN const csched_job_type csched_loop_run_type_; // of the placeholder job `run`

// MARK: loop.c

/// Does: wakes the loop's thread, which the caller has found parked.
void csched_loop_wake_(csched_loop *loop);

/// Does: wakes the loop, if it is parked, so that it checks a condition that the caller has just made true.
static inline void csched_loop_announce_(csched_loop *loop) {
  if (csched_mpsc_notify(&loop->inbox)) csched_loop_wake_(loop); // LP1, LP2: parked: only this call wakes it
}

/// Does: delivers `timer` to its target, as a job without a deadline. Returns: as csched_target_submit.
static inline int csched_loop_deliver_now_(csched_timer *timer) {
  return timer->target->type->deliver(timer->target, &timer->job);
}

/// Does: delivers due timers of other targets. Returns: the next job of this batch, or of a new batch; NULL: no job. If
/// `has_more_timers` is set after NULL, the batch was full of timers of other targets. Then do not sleep: call this
/// function again for the next batch.
csched_job *csched_loop_next_(csched_loop *loop);
/// Returns: whether the loop must not sleep: it has a job or a ready source; the run must end (`activation`, NULL:
/// none); the loop is closing; or a timer needs a wake at `now`. `now` 0: timers do not count, because the caller
/// sleeps no longer than until the next timer.
bool csched_loop_has_work_(csched_loop *loop, const csched_activation *activation, csched_time now);
/// Does: calls the hooks, and sleeps until there is work, or until `deadline`. It may return early.
void csched_loop_wait_(csched_loop *loop, const csched_activation *activation, csched_time deadline);

/// Does: calls the hooks before a sleep (`is_sleep`) or after the wake. Inline, because nearly no loop has hooks.
static inline void csched_loop_call_hooks_(csched_loop *loop, unsigned depth, bool is_sleep) {
  if (CSCHED_UNLIKELY(!TAILQ_EMPTY(&loop->hooks.all) || loop->hooks.is_asleep))
    csched_hooks_call_(&loop->hooks, depth, is_sleep);
}

// MARK: loop_life.c

/// Returns: whether `loop` is the main loop.
bool csched_loop_is_main_(const csched_loop *loop);

// MARK: loop_stop.c

static inline bool csched_loop_is_closing_(const csched_loop *loop) { // closed, or orphaned by fork
  return csched_load_acquire(&loop->closing) != 0;                    // LP6: sees the closer's earlier writes
}

static inline bool csched_loop_is_dropping_(const csched_loop *loop) { // closed by CSCHED_STOP_DROP: drops its work
  return csched_load_relaxed(&loop->closing) == 1 + CSCHED_STOP_DROP;  // LP6: relaxed: read again before each job
}

/// Returns: whether a csched_loop_run_until_done must return; false in any other run. Only the activation of such a run
/// has a NULL `loop`.
static inline bool csched_loop_is_done_(csched_loop *loop, const csched_activation *activation) {
  if (activation == NULL || activation->loop != NULL) return false;
  int64_t refs = (int32_t)csched_load_acquire(&loop->refs); // LP5: before the inbox: a job is pushed before its unref
  if (!csched_mpsc_is_empty(&loop->inbox) || !TAILQ_EMPTY(&loop->fds.ready)) return false;
  return (int64_t)(csched_timers_count_(&loop->timers, false) + loop->fds.count) + refs <= 0;
}

/// Returns: whether an end of this run was requested. Each acquire pairs with the release in the function that its line
/// names.
static inline bool csched_loop_is_ended_(const csched_loop *loop, const csched_activation *activation) {
  return (activation != NULL && csched_load_acquire(&activation->ended) != 0) || // LP5: csched_activation_end_run
         csched_load_acquire(&loop->ending) != 0;                                // LP5: csched_loop_end_run
}

/// Does: records that csched_loop_end_run ends the current run. If that run is outermost, jobs that never run are not
/// reported (LP13).
void csched_loop_record_end_(csched_loop *loop);

// MARK: loop_binding.c

/// A thread-local variable whose address identifies the thread. A later thread may get the same address. Its value: see
/// loop_binding.c.
extern CSCHED_HIDDEN CSCHED_TLS_FAST CSCHED_THREAD_LOCAL char csched_loop_here_;

/// Returns: whether the calling thread is the loop's.
static inline bool csched_loop_is_here_(const csched_loop *loop) {
  return csched_load_relaxed(&loop->thread) == &csched_loop_here_; // racy read: equal on the loop's thread only
}

/// Does: stops the process unless the calling thread is the loop's.
void csched_loop_require_thread_(const csched_loop *loop, const char *function);
/// Does: in a child of fork, initialises the lock `binding` again, and stores the new number of the loop's thread, if
/// that is the calling thread.
void csched_loop_rebind_(csched_loop *loop);

// MARK: loop_run.c

/// Does: begins (enter) or ends (leave) a run. `address`: CSCHED_OWN_FRAME() of the function that calls both.
/// `function`: its name, for messages.
void csched_loop_enter_(csched_loop *loop, csched_scope *scope, uintptr_t address, const char *function);
void csched_loop_leave_(csched_loop *loop, const csched_scope *scope);
