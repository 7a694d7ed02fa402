// What the Swift module needs of the C core and cannot import: wrappers of internal functions, and values of the
// calling thread. Contracts: swift.h.
#include "swift.h"
#include "../base/panic.h"
#include "../diagnostics/observe_internal.h"
#include "../job/job_internal.h"
#include "../job/frames_internal.h"
#include "../platform/platform.h"
#include "../targets/target_internal.h"
#include <errno.h>

// The thread's disposal walk in progress (DisposalWalk.swift), or NULL. Each thread has its own variable, so its
// address identifies the thread.
static CSCHED_THREAD_LOCAL void *walk_slot;

void **csched_swift_walk_slot_(void) { return &walk_slot; }
void csched_swift_begin_with_main_mask_(void) { csched_os_begin_with_main_mask_(); }
bool csched_swift_main_queue_waits_(void) { return csched_os_main_queue_waits_(); }
uintptr_t csched_swift_thread_number_(void) { return (uintptr_t)&walk_slot; }

// MARK: locks of Swift's statics

enum { HELD_MOST = 32 };
static csched_lock held_lock = CSCHED_LOCK_INIT; // guards the next two
static struct {
  csched_lock *lock;
  bool is_outer;
} held[HELD_MOST];
static int held_count;

void csched_swift_hold_in_forks_(csched_lock *lock, bool is_outer) {
  csched_lock_lock(&held_lock);
  if (held_count == HELD_MOST) csched_panic_("fork", "too many locks are held. Raise HELD_MOST.");
  held[held_count].lock = lock;
  held[held_count++].is_outer = is_outer;
  csched_lock_unlock(&held_lock);
}

static void hold_all(void) {
  csched_lock_lock(&held_lock);
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < held_count; i++)
      if (held[i].is_outer == (pass == 0)) csched_lock_lock(held[i].lock);
}

static void let_go_of_all(void) {
  for (int i = 0; i < held_count; i++) csched_lock_unlock(held[i].lock);
  csched_lock_unlock(&held_lock);
}

__attribute__((constructor)) static void hold_in_forks(void) { csched_os_around_fork_(hold_all, let_go_of_all); }

CSCHED_NOINLINE csched_frame *csched_swift_innermost_frame_(void) {
  return csched_frames_end_unwound_(CSCHED_CALLER_FRAME());
}

// Returns: whether the context frame is of a job, or of a node (`job` NULL). A frame of a sync or a loop run has a
// placeholder job without `run`.
static bool is_of_job(const csched_frame *frame) { return frame->job == NULL || frame->job->type->run != NULL; }

// Returns: whether the context frame is of a job of a queue or a limit. Such a job runs in a batch, which ends after
// this job if it has a follow-up.
static bool is_in_batch(const csched_frame *frame) {
  return frame->target->type->base != NULL && frame->target->type->follow_up_ != NULL && is_of_job(frame);
}

// Visits the thread's context frames, the innermost first. `*target`: the pool that runs this thread; NULL: the thread
// is no pool's worker.
CSCHED_NOINLINE csched_swift_holding csched_swift_find_holding_(const csched_target *target_of_ending_job,
                                                                csched_target **target) {
  csched_frame *frame = csched_frames_end_unwound_(CSCHED_CALLER_FRAME());
  bool can_follow_up = target_of_ending_job != NULL && frame->target == target_of_ending_job, holds = false;
  *target = NULL;
  for (; frame->outer != NULL; frame = frame->outer) {
    if (frame->job != NULL && frame->job->type->drop == csched_target_hides_outer_)
      can_follow_up = false; // a helper runs the job: its thread continues to wait
    csched_target *root = frame->target != NULL ? csched_target_root_(frame->target) : NULL;
    if (root == NULL || root->type->deliver == NULL) continue; // no target, or a scheduler marker: holds nothing
    if (csched_target_has_virtual_time_(root)) return CSCHED_SWIFT_HOLDS_NOTHING; // tasks continue here
    bool is_pool = root->type->donate_ != NULL; // only a pool's type has `donate_`, which donates a priority
    if (frame->target != root || !is_pool) {    // of a queue, a limit or a loop, which the thread holds
      holds = true;
      can_follow_up &= *target == NULL && is_in_batch(frame); // NULL until the pool's own, outer context frame
    } else if (*target == NULL) {
      *target = root; // the innermost pool
    }
  }
  if (!holds) return CSCHED_SWIFT_HOLDS_NOTHING;
  return can_follow_up && *target != NULL ? CSCHED_SWIFT_LEAVES_QUEUE : CSCHED_SWIFT_HOLDS;
}

bool csched_swift_is_hidden_(const csched_target *target) {
  return csched_target_holds_(target) && !csched_target_is_inside(target);
}

int csched_swift_submit_follow_up_(csched_target *target, csched_job *job) {
  return csched_target_submit_follow_up_(target, job);
}

// The two functions convert between csched_discards and csched_swift_discards, because Swift cannot import
// job_internal.h.
csched_swift_discards csched_swift_discards_begin_(void) {
  csched_discards outer = csched_discards_begin_();
  return (csched_swift_discards){outer.first, outer.last, outer.is_discarding};
}

void csched_swift_discards_end_(csched_swift_discards outer) {
  csched_discards_end_((csched_discards){outer.first, outer.last, outer.is_discarding});
}

bool csched_swift_discards_begin_if_outermost_(void) { return csched_discards_begin_if_outermost_(); }
void csched_swift_discards_end_outermost_(void) { csched_discards_end_((csched_discards){0}); } // {0}: no outer list
bool csched_swift_is_in_drop_(void) { return csched_is_in_drop_(); }

void csched_swift_set_postponed_owners_(const void *(*owner_of)(const csched_job *), void (*retain)(const void *),
                                        void (*release)(const void *)) {
  csched_discards_owners_ = (csched_discards_owners){owner_of, retain, release}; // used for jobs with a postponed drop
}

bool csched_swift_drop_reason_(csched_drop_reason *reason) { return csched_discards_reason_(reason); }

// The next functions get or set values of this thread; without memory for its csched_postponed_drops, they do nothing.
// `is_refusal_silenced`: submitters learn of refusals by errors, so no message is printed. `sleeper`: the `Sleeper`
// (Sleepers.swift) that the next submissions will wake.
bool csched_swift_silence_refusals_(bool are_silenced) {
  csched_postponed_drops *postponed = csched_frames_postponed_drops_();
  bool before = postponed != NULL && postponed->is_refusal_silenced;
  if (postponed != NULL) postponed->is_refusal_silenced = are_silenced;
  return before;
}

bool csched_swift_are_refusals_silenced_(void) {
  const csched_postponed_drops *postponed = csched_frames_postponed_drops_();
  return postponed != NULL && postponed->is_refusal_silenced;
}

void *csched_swift_set_sleeper_(void *sleeper) {
  csched_postponed_drops *postponed = csched_frames_postponed_drops_();
  void *before = postponed != NULL ? postponed->sleeper : NULL;
  if (postponed != NULL) postponed->sleeper = sleeper;
  return before;
}

void *csched_swift_sleeper_(void) {
  const csched_postponed_drops *postponed = csched_frames_postponed_drops_();
  return postponed != NULL ? postponed->sleeper : NULL;
}

void *csched_swift_set_listed_(void *listed) {
  csched_postponed_drops *postponed = csched_frames_postponed_drops_();
  void *before = postponed != NULL ? postponed->listed : NULL;
  if (postponed != NULL) postponed->listed = listed;
  return before;
}

void *csched_swift_listed_(void) {
  const csched_postponed_drops *postponed = csched_frames_postponed_drops_();
  return postponed != NULL ? postponed->listed : NULL;
}

void csched_swift_begin_member_(void *member) {
  csched_postponed_drops *postponed = csched_frames_postponed_drops_();
  if (postponed == NULL) return;
  postponed->begun_member = member;
  postponed->begun_in = csched_frame_top_;
}

void *csched_swift_take_member_(void) {
  csched_postponed_drops *postponed = csched_frames_postponed_drops_();
  if (postponed == NULL) return NULL;
  void *member = postponed->begun_in == csched_frame_top_ ? postponed->begun_member : NULL;
  postponed->begun_member = NULL;
  return member;
}

void csched_swift_sleep_until_(csched_time deadline) {
  static const csched_time LONGEST = UINT64_C(1) << 62; // ns: a sum with csched_now does not overflow
  for (csched_time now; (now = csched_now()) < deadline;)
    csched_nap_(deadline - now < LONGEST ? deadline - now : LONGEST); // a nap may end early: the loop checks
}

void csched_swift_observe_(const csched_job_type *type, size_t offset) {
  csched_observe_code_at_(&(csched_observed_code){type, offset, true}); // true: or in an odd `context`, plus 1
}

void csched_swift_stop_process_(const char *text) {
  csched_recorder_say_(text); // writes `text`, the recent jobs of all threads, and `text` again
  csched_os_abort_("");       // stops the process, with no further text
}

void csched_swift_wait_(uint32_t *word, uint32_t value) {
  csched_blocked_begin_("a wait for a lock, a run or an end in Swift", word); // for dumps and the watchdog
  csched_futex_wait_(word, value, CSCHED_FOREVER);
  csched_blocked_end_();
}

void csched_swift_wake_(uint32_t *word) { csched_futex_wake_(word, INT32_MAX); } // all waiting threads
bool csched_swift_is_deadlock_error_(int error) { return error == EDEADLK; }     // the wait would never end
bool csched_swift_is_stopped_error_(int error) { return error == ECANCELED; }    // the target accepts no more work
