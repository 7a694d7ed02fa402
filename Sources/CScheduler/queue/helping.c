// Helpers: threads that wait in a sync, and meanwhile run what is before it. Contracts: helping_internal.h.
//
// The work that a helper runs belongs to other threads, and lies on the helper's stack above the helper's own. The
// helper waits for that work anyway, so it adds no wait that could close a cycle. But that work must not count as
// inside of the helper's own queues: its context frame hides them.
//
// States
//   ended      the futex word of a sync. 0: its thread sleeps or runs. OFFER: it looks for work. CSCHED_ENDED: the sync
//              has ended
// Invariants
//   HL1  No offer is lost: after a wake the helper looks for work once more before it sleeps, and finds what was
//        offered before the wake.
//   HL2  A job that a helper runs is inside of no target that the helper was inside of before
//        (csched_target_is_inside), but a wait for one is a deadlock (csched_target_holds_).
//   HL3  A job that a helper runs ends by returning; an unwind stops the process. The helper's thread cannot be
//        cancelled meanwhile.
// Orderings
//   ended: OFFER is stored by release, pairs with the acquire of the helper, which clears it, and carries the offer. A
//   store of OFFER over OFFER is needed: a plain look at the word may see an OFFER that the helper has cleared
// Assumes: the lock of the queue or limit guards its list of helpers, so that a woken helper is valid.
// Source: Dispatch hands a queue to a thread that waits in a sync; work before that sync runs elsewhere there.
// Models: checks/serial.c, checks/limit.c. Not modelled: HL3.

#include "helping_internal.h"

#include "../sync/lock_internal.h"
#include "../base/panic.h"

static void helper_unwound(csched_job *guard) { // HL3: the wait of the helper would end in the middle of the queue
  (void)guard;
  csched_panic_("csched_serial_sync",
                "a job that ran while this thread waited for its queue ended by an exception, longjmp or thread exit. "
                "Only jobs of a thread or pool that runs them itself may do so.");
}
static const csched_job_type hiding_type = {.drop = csched_target_hides_outer_, .release = helper_unwound};
static const csched_job_type showing_type = {.release = helper_unwound};
static csched_job hiding = {.type = &hiding_type}, showing = {.type = &showing_type}; // placeholders: never run

// The target directly on the pool: its jobs are in the pool's inbox. The queues above it are its jobs.
csched_target *csched_helped_target_(csched_target *target) {
  csched_target *base = csched_target_base_(target);
  while (base != NULL && csched_target_base_(base) != NULL) {
    target = base;
    base = csched_target_base_(base);
  }
  return base != NULL && base->type->may_help_ != NULL && target->type->helping_ != NULL ? target : NULL;
}

bool csched_may_help_(const csched_target *target) {
  const csched_target *base = csched_target_base_(target);
  return base->type->may_help_(base);
}

// MARK: the lists

void csched_helper_wake_locked_(csched_helper *helper) {
  uint32_t seen = csched_load_relaxed(&helper->ended); // racy read, rechecked by the cas
  do {
    if (seen == CSCHED_ENDED) return; // final: the thread looks for an offer when it leaves
  } while (!csched_cas_release(&helper->ended, &seen, (uint32_t)CSCHED_OFFER)); // HL1: also over an older OFFER
  if (seen == 0) csched_futex_wake_(&helper->ended, 1);
}

void csched_helpers_wake_all_locked_(csched_helper_list *helpers) {
  csched_helper *each;
  TAILQ_FOREACH(each, helpers, link) csched_helper_wake_locked_(each);
}

// MARK: running other work

void csched_helper_begin_(csched_helper *helper, csched_frame *spare) {
  csched_blocked_end_();
  csched_deadlock_check_end_();
  helper->cancellation = csched_os_disable_cancellation_(); // HL3: until the thread runs its own code again
  csched_helping_here_++;
  helper->frame = csched_frame_begin_(spare, (uintptr_t)helper, &hiding, csched_frame_here_()->target);
}

void csched_helper_end_(csched_helper *helper, csched_target *waited) {
  csched_frame_end_(helper->frame);
  csched_helping_here_--;
  helper->frame = NULL;
  csched_os_restore_cancellation_(helper->cancellation);
  if (waited == NULL) return;
  csched_deadlock_check_begin_(
      waited); // true: the helper still owns the queue, so no job of it can wait for this thread
  csched_blocked_begin_(helper->function, waited);
}

void csched_helper_shows_outer_(csched_helper *helper) {
  if (helper->frame == NULL) return;
  helper->frame->job = &showing;
  csched_os_restore_cancellation_(helper->cancellation);
}
