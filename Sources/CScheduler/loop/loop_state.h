// The state of a loop, shared by loop.c, loop_run.c, loop_stop.c, loop_binding.c and loop_life.c. States and invariants are in loop.c.
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

/// LP3: the most timers, the most sources, and the most jobs of a batch. 3 * 16 of them, at 200 us each, take less than 10 ms.
enum { CSCHED_LOOP_MOST = 16 };
/// Values of `served`: no run yet; a run has begun; csched_loop_end_run has ended the most recent run that was not nested.
enum { CSCHED_LOOP_NEVER_RUN, CSCHED_LOOP_RUN, CSCHED_LOOP_STOPPED };
#define CSCHED_LOOP_ORPHANED UINT32_MAX // value of `closing` in a child of fork, if the loop's thread is in the parent

struct csched_loop {
  csched_target target;
  CSCHED_CACHE_ALIGNED csched_mpsc inbox;

  CSCHED_CACHE_ALIGNED uint32_t wake; // futex; 1: the sleeping loop must wake
  uint32_t closing;                   // 0: open; 1 + the strictest csched_stop_policy; or CSCHED_LOOP_ORPHANED
  uint32_t ending;                    // 1: csched_loop_end_run was called, and has not ended a run yet
  uint32_t refs;   // csched_loop_ref calls minus csched_loop_unref calls: csched_loop_run_until_done counts them
  uint32_t served; // CSCHED_LOOP_NEVER_RUN, _RUN or _STOPPED

  CSCHED_CACHE_ALIGNED csched_timers timers;

  // Written by the loop's thread, or at creation; `thread`, `thread_number` and `link` change under the lock `binding`.
  const char *refusal;    // message: why csched_loop_destroy must not be called; NULL: it may be
  uint32_t thread_number; // the system's number, 0 without a thread; for dumps
  const void *thread;     // address of the thread's csched_loop_here_; NULL: no thread, or it has ended
  csched_time batch_time; // the clock (ns) at the beginning of the batch
  unsigned timers_left, sources_left, jobs_left; // how many more of each the batch may run
  bool has_more_timers;                          // the most recent pop found a timer: more may be due
  unsigned holds_at;                             // LP10: depth of the run that must not run submitted jobs; 0: none
  bool is_promised;          // the host, another library's main loop that runs this loop, has promised another run
  csched_delivery *delivery; // delivers due timers to other targets; NULL: the loop's thread delivers them
  csched_spin spin;          // history of the spins before sleeps; decides on the next one
  uint64_t ran, sleeps;      // LP12: how many jobs were run; how many sleeps began
  csched_time idle;          // LP12: ns spent asleep; during a sleep minus its start, with the highest bit set
  csched_hooks hooks;        // called before and after each sleep
  bool was_notified;         // a submission, not a source, ended the previous sleep: spin before the next one
  unsigned depth;            // how many runs are nested
  bool was_unwound;          // a run was unwound, and no run has returned since
  csched_job run;            // placeholder job: marks the context frame of each run; its `release` ends an unwound run
  LIST_ENTRY(csched_loop) link; // in the thread's list of loops
  csched_atfork atfork;

  CSCHED_CACHE_ALIGNED csched_fds fds; // begins with the fields that wakers read
};

_Static_assert(offsetof(csched_loop, target) == 0, "csched_loop_target is a cast");

extern CSCHED_HIDDEN const csched_target_type csched_loop_type_;
extern CSCHED_HIDDEN const csched_job_type csched_loop_run_type_; // of the placeholder job `run`

// MARK: loop.c

/// Does: wakes the loop's thread, which the caller has found parked.
void csched_loop_wake_(csched_loop *loop);

/// Does: wakes the loop, if it is parked, for a condition that the caller has just made true.
static inline void csched_loop_announce_(csched_loop *loop) {
  if (csched_mpsc_notify(&loop->inbox)) csched_loop_wake_(loop); // LP1, LP2: the loop was parked
}

static inline int csched_loop_deliver_now_(csched_timer *timer) { // to its target, as a plain job
  return timer->target->type->deliver(timer->target, &timer->job);
}

/// Returns: the next job of this batch, or of a new batch; NULL: no job. If `has_more_timers` is set after NULL, the batch was full of timers for
/// other targets. Then do not sleep: call this function again for the next batch.
csched_job *csched_loop_next_(csched_loop *loop);
/// Returns: whether the loop must not sleep: work, an end, a close, a run that is done, or a timer that is due at `now` (0: no future timer).
bool csched_loop_has_work_(csched_loop *loop, const csched_activation *activation, csched_time now);
/// Does: sleeps until there is work, or until `deadline`. It may return early.
void csched_loop_wait_(csched_loop *loop, const csched_activation *activation, csched_time deadline);

/// Does: calls the hooks before a sleep (`is_sleep`) or after the wake. Inline, because nearly no loop has hooks.
static inline void csched_loop_tell_hooks_(csched_loop *loop, unsigned depth, bool is_sleep) {
  if (CSCHED_UNLIKELY(!TAILQ_EMPTY(&loop->hooks.all) || loop->hooks.is_asleep))
    csched_hooks_tell_(&loop->hooks, depth, is_sleep);
}

// MARK: loop_stop.c

static inline bool csched_loop_is_closing_(const csched_loop *loop) {
  return csched_load_acquire(&loop->closing) != 0; // LP6: pairs with csched_loop_close's release
}

static inline bool csched_loop_is_dropping_(const csched_loop *loop) {
  return csched_load_relaxed(&loop->closing) == 1 + CSCHED_STOP_DROP; // LP6: decides run or drop
}

/// Returns: whether csched_loop_run_until_done is over; false in any other run. Only the activation of such a run has no `loop`.
static inline bool csched_loop_is_done_(csched_loop *loop, const csched_activation *activation) {
  if (activation == NULL || activation->loop != NULL) return false;
  int64_t refs = (int32_t)csched_load_acquire(&loop->refs); // LP5: before the inbox; pairs with csched_loop_unref
  if (!csched_mpsc_is_empty(&loop->inbox) || !TAILQ_EMPTY(&loop->fds.ready)) return false;
  return (int64_t)(csched_timers_count_(&loop->timers, false) + loop->fds.count) + refs <= 0;
}

/// Returns: whether an end of this run was requested. Each load pairs with the store of the function beside it.
static inline bool csched_loop_is_ended_(const csched_loop *loop, const csched_activation *activation) {
  return (activation != NULL && csched_load_acquire(&activation->ended) != 0) || // LP5: csched_activation_end_run
         csched_load_acquire(&loop->ending) != 0;                                // LP5: csched_loop_end_run
}

/// Does: records that csched_loop_end_run has ended a run. If that run was outermost, jobs that never run are not reported (LP13).
void csched_loop_note_stop_(csched_loop *loop);

// MARK: loop_binding.c

/// A thread-local variable, whose address identifies its thread. A later thread may get the same address.
extern CSCHED_HIDDEN CSCHED_TLS_FAST CSCHED_THREAD_LOCAL char csched_loop_here_;

/// Returns: whether the calling thread is the loop's.
static inline bool csched_loop_is_here_(const csched_loop *loop) {
  return csched_load_relaxed(&loop->thread) == &csched_loop_here_; // racy read: equal on the loop's thread only
}

/// Does: stops the process unless the calling thread is the loop's.
void csched_loop_require_thread_(const csched_loop *loop, const char *function);
/// Does: in a child of fork, initialises the lock `binding` again, and stores the thread's new number.
void csched_loop_rebind_(csched_loop *loop);

// MARK: loop_run.c

/// Does: begins (enter) or ends (leave) a run. `address`: CSCHED_OWN_FRAME() of the function that calls both.
void csched_loop_enter_(csched_loop *loop, csched_scope *scope, uintptr_t address, const char *function);
void csched_loop_leave_(csched_loop *loop, const csched_scope *scope);
