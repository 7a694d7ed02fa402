// Creation, fork and destruction of a loop. In a child of fork:
//   csched_loop_rebind_   for each loop: initialises the lock `binding` again, which all loops share
//   csched_fds_renew_     for a loop that continues (LP8): opens its poller again
//   orphan_loop           for a loop whose thread is in the parent: closes it; its use stops the process
//   csched_loop_renew_    for the orphaned main loop only (main_loop.c): empties it, so that the child can use it
// States and invariants: those of loop.c.

#include "loop_state.h"

#include "../base/dump_slots.h"
#include "../base/panic.h"
#include "../targets/target_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// Returns: the loop that contains the entry `atfork` of the fork list.
static csched_loop *loop_containing(csched_atfork *atfork) {
  return (csched_loop *)((char *)atfork - offsetof(csched_loop, atfork));
}

// Does: in a child of fork, closes a loop whose thread is in the parent. Its other fields may be inconsistent, and are
// not used.
static void orphan_loop(csched_loop *loop) {                  // LP8: its use stops the process
  csched_store_relaxed(&loop->closing, CSCHED_LOOP_ORPHANED); // LP8: relaxed: the child has one thread
  csched_mpsc_close(&loop->inbox);              // the thread that its result asks to wake is in the parent
  loop->target.type = &csched_target_orphaned_; // a submission stops the process
}

// Does: locks the timers before a fork and unlocks them after it, so that the child's copy of them is consistent. In
// the child, orphans the loop if its thread is in the parent; else gives it a poller of its own.
static void loop_life_at_fork(csched_atfork *atfork, csched_atfork_phase phase) { // LP8: loops of this thread continue
  csched_loop *loop = loop_containing(atfork);
  bool is_of_other_thread = !csched_loop_is_on_thread(loop) && csched_load_relaxed(&loop->thread) != NULL; // racy read
  csched_timers_atfork_(&loop->timers, phase, is_of_other_thread);
  if (phase != CSCHED_ATFORK_IN_CHILD) return;
  csched_loop_rebind_(loop);                       // for an orphaned loop, too: all loops share the lock `binding`
  loop->target.waits_for = NULL;                   // the wait that is recorded here is the parent's
  loop->late_lock = (csched_lock)CSCHED_LOCK_INIT; // a thread of the parent may have owned it
  if (is_of_other_thread) orphan_loop(loop);
  else csched_fds_renew_(&loop->fds);
}

// For dumps. Returns: the loop that contains `atfork`; NULL: the entry of another kind of object, which has another
// handler.
const csched_target *csched_loop_of_atfork_(const csched_atfork *atfork) {
  return atfork->handler == loop_life_at_fork ? &loop_containing((csched_atfork *)(uintptr_t)atfork)->target : NULL;
}

// For dumps in a signal handler. The loop may be freed at any time, so each field is copied only if its memory is
// mapped. Returns: false: it is not.
bool csched_loop_copy_state_(const csched_target *target, uint32_t *thread, uint32_t *closing, size_t *timers) {
  const csched_loop *loop = (const csched_loop *)target;
  return csched_os_copy_if_mapped_(thread, &loop->thread_number, sizeof *thread) &&
         csched_os_copy_if_mapped_(closing, &loop->closing, sizeof *closing) &&
         csched_os_copy_if_mapped_(timers, &loop->timers.pending, sizeof *timers);
}

// For dumps. Returns: the timers of `target`; NULL: it is no loop, or it is an orphaned loop, which has another type.
csched_timers *csched_loop_timers_seen_(const csched_target *target) {
  return target->type == &csched_loop_type_ ? &((csched_loop *)(uintptr_t)target)->timers : NULL;
}

// Does: initialises all fields except those that a renewal keeps: `refusal`, `atfork` (the loop stays in the fork list)
// and the target's owner.
static void init_loop(csched_loop *loop) {
  void *owner = loop->target.owner;
  const char *refusal = loop->refusal;
  csched_atfork atfork = loop->atfork;
  memset(loop, 0, sizeof *loop);
  csched_timers_init_(&loop->timers);
  csched_fds_init_(&loop->fds, loop);
  TAILQ_INIT(&loop->hooks.all);
  loop->target = (csched_target){&csched_loop_type_, owner, NULL}; // NULL: it waits for no target
  csched_job_init(&loop->run, &csched_loop_run_type_, loop);
  loop->jobs_left = CSCHED_LOOP_MOST; // begin_batch counts the difference to this as jobs that ran: none
  loop->refusal = refusal;
  loop->atfork = atfork;
}

// Does: in a child of fork, makes an orphaned loop empty and open. Closes the child's copy of the poller; forgets jobs
// and sources, and drops none.
void csched_loop_renew_(csched_loop *loop) {
  while (csched_timers_pop_(&loop->timers, CSCHED_FOREVER) != NULL) {
  } // unlinks each timer, and drops none, so that the timer's owner can still cancel it
  csched_fds_abandon_(&loop->fds);
  init_loop(loop);
}

// Does: initialises `loop`, and adds it to the fork list and the table for dumps. `refusal`: the message if
// csched_loop_destroy must refuse; or NULL.
static csched_loop *init_and_register(csched_loop *loop, const char *refusal) {
  loop->refusal = refusal;
  loop->target.owner = NULL;
  loop->atfork = (csched_atfork){0};
  init_loop(loop);
  csched_os_atfork_(&loop->atfork, loop_life_at_fork);
  csched_dump_add_loop_(&loop->target);
  return loop;
}

csched_loop *csched_loop_create_unbound_(void) {
  csched_loop *loop = aligned_alloc(_Alignof(csched_loop), sizeof *loop);
  return loop != NULL ? init_and_register(loop, "that of a thread. Stop and destroy the thread, not its loop.") : NULL;
}

static csched_loop main_loop;
bool csched_loop_is_main_(const csched_loop *loop) { return loop == &main_loop; }

csched_loop *csched_loop_make_static_(void) {
  return init_and_register(
      &main_loop, "the main loop, which lives as long as the process. Close it, or call csched_shutdown at the end.");
}

void csched_loop_free_contents_(csched_loop *loop) {
  csched_fds_destroy_(&loop->fds);
  loop->fds.has_host = loop->fds.is_in_host = false; // the poller, on which a host waited, is closed
}

int csched_loop_create(csched_loop **loop) {
  *loop = csched_loop_create_unbound_();
  if (*loop == NULL) return ENOMEM;
  (*loop)->refusal = NULL; // csched_loop_destroy is allowed
  csched_loop_bind_(*loop);
  return 0;
}

// Does: stops the process, with a message, if the calling thread must not destroy the loop now.
static CSCHED_NOINLINE void require_destroyable(const csched_loop *loop) {
  static const char *const function = "csched_loop_destroy";
  bool is_here = csched_loop_is_on_thread(loop);
  if (loop->refusal != NULL) csched_panic_(function, "loop %p is %s", (const void *)loop, loop->refusal);
  if (is_here && loop->depth > 0)
    csched_panic_(
        function,
        "called inside of a run of loop %p. Stop or close it here, and destroy it when its runs have returned.",
        (const void *)loop);
  if (csched_target_holds_(&loop->target))
    csched_panic_(function,
                  "called inside of a sync on a queue whose base is loop %p. Destroy the loop when that has returned.",
                  (const void *)loop);
  if (!is_here && csched_load_relaxed(&loop->thread) != NULL) // racy read: bound to a thread?
    csched_panic_(function,
                  "loop %p belongs to another thread. Destroy it there, or here when that thread has detached it "
                  "(csched_loop_detach) or has ended.",
                  (const void *)loop);
}

// Does: closes the loop, drops outstanding work, and frees the loop. A call that is not allowed now stops the process.
CSCHED_NOINLINE void csched_loop_destroy(csched_loop *loop) {
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME()); // LP7: else an unwound run would count as in progress
  if (csched_loop_is_orphaned_(loop)) return;        // LP8: its fields may be inconsistent: leaks the loop
  require_destroyable(loop);
  csched_loop_free_(loop);
}

void csched_loop_free_(csched_loop *loop) {   // as csched_loop_destroy, without its checks
  if (csched_loop_is_orphaned_(loop)) return; // LP8: its fields may be inconsistent: leaks the loop
  loop->refusal = "being destroyed. Do not destroy it from what it drops or releases meanwhile.";
  csched_loop_close(loop, CSCHED_STOP_DROP);
  csched_loop_finish_work_(loop);
  csched_delivery_await_(); // delivery.c DV1: before the memory is freed, which the clock thread may use in a delivery
  csched_fds_destroy_(&loop->fds);
  csched_loop_unbind_(loop);
  csched_os_atfork_end_(&loop->atfork); // from here on, no fork and no dump finds the loop
  csched_dump_remove_loop_(&loop->target);
  csched_observe_gone_(&loop->target); // observers must not report it, and may reuse its statistics
  free(loop);
}
