// The state of a loop, for the files of the loop: loop.c (what it does in turn), loop_run.c (runs), loop_stop.c (stops), loop_binding.c (its thread),
// loop_life.c (creation, fork, destruction).
// States and invariants are in loop.c.
// Depends on: loop_internal.h, loop_fd_internal.h, loop_hook_internal.h, observed.h, timer_internal.h.
#pragma once

#include "../job/mpsc.h"
#include "../job/frames_internal.h"
#include "../job/observed.h"
#include "../time/timer_internal.h"
#include "loop_fd_internal.h"
#include "loop_hook_internal.h"
#include "loop_internal.h"

/// How many of each kind a batch takes: 3 * 16, at 200 us each, are within 10 ms.
enum { CSCHED_LOOP_MOST = 16 };
/// `served`
enum { CSCHED_LOOP_NEVER_RUN, CSCHED_LOOP_RUN, CSCHED_LOOP_STOPPED };
/// `closing` of an orphaned loop
#define CSCHED_LOOP_ORPHANED UINT32_MAX
/// Bounds of `spin_for`, ns: about two futex wakes, and half of one.
enum { CSCHED_LOOP_SPIN_MOST = 16000, CSCHED_LOOP_SPIN_LEAST = 4000 };

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
  csched_delivery *delivery;                     // delivery worker, if the loop only keeps time for others; else NULL
  csched_time spin_for;
  uint64_t ran, sleeps; // written by the loop's thread only, like `idle`
  csched_time idle;     // see LP12
  csched_hooks hooks;
  bool was_notified;            // a submission ended the last sleep on the poller, and no source was ready
  unsigned depth;               // how many runs are nested
  bool was_unwound;             // the last run was unwound, and none has returned since
  csched_job run;               // placeholder for a run, in its context frame
  LIST_ENTRY(csched_loop) link; // in its thread's list of loops
  csched_atfork atfork;

  CSCHED_CACHE_ALIGNED csched_fds fds; // begins with the fields that wakers read
};

_Static_assert(offsetof(csched_loop, target) == 0, "csched_loop_target is a cast");

extern CSCHED_HIDDEN const csched_target_type csched_loop_type_;
/// The type of `run`, the placeholder of a run.
extern CSCHED_HIDDEN const csched_job_type csched_loop_run_type_;

// MARK: loop.c

/// Does: wakes the loop's thread, which the caller has found parked.
void csched_loop_wake_(csched_loop *loop);

static inline void csched_loop_announce_(csched_loop *loop) {
  if (csched_mpsc_notify(&loop->inbox)) csched_loop_wake_(loop); // LP1, LP2: found it parked
}

static inline int csched_loop_deliver_now_(csched_timer *timer) {
  return timer->target->type->deliver(timer->target, &timer->job);
}

/// Returns: the next job of the batch in progress, or of a new one. NULL: none; with `has_more_timers`, timers remain.
csched_job *csched_loop_next_(csched_loop *loop);
bool csched_loop_has_work_(csched_loop *loop, const csched_activation *activation, csched_time now);
/// Does: sleeps until there is work, or until `deadline`. It may return early.
void csched_loop_wait_(csched_loop *loop, const csched_activation *activation, csched_time deadline);

// Inline, because nearly no loop has hooks.
static inline void csched_loop_tell_hooks_(csched_loop *loop, unsigned depth, bool is_sleep) {
  if (CSCHED_UNLIKELY(!TAILQ_EMPTY(&loop->hooks.all) || loop->hooks.is_asleep))
    csched_hooks_tell_(&loop->hooks, depth, is_sleep);
}

// MARK: loop_stop.c

static inline bool csched_loop_is_closing_(const csched_loop *loop) {
  return csched_load_acquire(&loop->closing) != 0; // LP6: pairs with close; carries what the closer did
}

static inline bool csched_loop_is_dropping_(const csched_loop *loop) {
  return csched_load_relaxed(&loop->closing) == 1 + CSCHED_STOP_DROP; // LP6: decides run or drop
}

// Whether csched_loop_run_until_done is over. Its activation has no loop.
static inline bool csched_loop_is_done_(csched_loop *loop, const csched_activation *activation) {
  if (activation == NULL || activation->loop != NULL) return false;
  int64_t refs =
      (int32_t)csched_load_acquire(&loop->refs); // LP5: read first; pairs with unref; carries what was submitted before
  if (!csched_mpsc_is_empty(&loop->inbox) || !TAILQ_EMPTY(&loop->fds.ready)) return false;
  return (int64_t)(csched_timers_count_(&loop->timers, false) + loop->fds.count) + refs <= 0;
}

static inline bool csched_loop_is_ended_(const csched_loop *loop, const csched_activation *activation) {
  return (activation != NULL && csched_load_acquire(&activation->ended) != 0) || // LP5: pairs with activation_end_run
         csched_load_acquire(&loop->ending) != 0;                                // LP5: pairs with loop_end_run
}

/// Does: notes that csched_loop_end_run ends a run. After an outermost run, the program has given up the jobs that remain.
void csched_loop_note_stop_(csched_loop *loop);

// MARK: loop_binding.c

/// Its address identifies a living thread; a later thread may get the same one.
extern CSCHED_HIDDEN CSCHED_TLS_FAST CSCHED_THREAD_LOCAL char csched_loop_here_;

/// Returns: as csched_loop_is_on_thread.
static inline bool csched_loop_is_here_(const csched_loop *loop) {
  return csched_load_relaxed(&loop->thread) ==
         &csched_loop_here_; // racy read: only its own thread finds its address here
}

/// Does: stops the process unless the calling thread is the loop's.
void csched_loop_require_thread_(const csched_loop *loop, const char *function);
/// Does: in a child of fork, makes the lock of the lists of loops anew, and notes the thread's new number.
void csched_loop_rebind_(csched_loop *loop);

// MARK: loop_run.c

/// Does: begins, or ends, a run. `address`: CSCHED_OWN_FRAME() of the function that ends it.
void csched_loop_enter_(csched_loop *loop, csched_scope *scope, uintptr_t address, const char *function);
void csched_loop_leave_(csched_loop *loop, const csched_scope *scope);
