#include "swift.h"
#include "../job/job_internal.h"
#include "../job/frames_internal.h"
#include "../platform/platform.h"
#include "../platform/platform_sources.h"
#include "../target/target_internal.h"
#include "observe_internal.h"
#include <errno.h>

static CSCHED_THREAD_LOCAL void *drain_slot; // used by the Swift module; its address also identifies the thread

void **csched_swift_drain_slot_(void) { return &drain_slot; }
uintptr_t csched_swift_thread_(void) { return (uintptr_t)&drain_slot; }

CSCHED_NOINLINE csched_frame *csched_swift_innermost_(void) {
  return csched_frames_end_unwound_(CSCHED_CALLER_FRAME());
}

// Returns: whether the context frame belongs to a job; false: to a sync, whose job is a placeholder without `run`.
static bool is_of_job(const csched_frame *frame) { return frame->job == NULL || frame->job->type->run != NULL; }

// Returns: whether the frame belongs to a job of a queue or a limit (targets with a base), not to a sync. A follow-up ends their batches.
static bool is_drained(const csched_frame *frame) {
  return frame->target->type->base != NULL && frame->target->type->follow_up_ != NULL && is_of_job(frame);
}

// Checks the context frames from the innermost to the outermost one. `*target` is the innermost pool.
CSCHED_NOINLINE csched_swift_holding csched_swift_holds_(const csched_target *last_of, csched_target **target) {
  csched_frame *frame = csched_frames_end_unwound_(CSCHED_CALLER_FRAME());
  bool is_last = last_of != NULL && frame->target == last_of, holds = false;
  *target = NULL;
  for (; frame->outer != NULL; frame = frame->outer) {
    csched_target *root = frame->target != NULL ? csched_target_root_(frame->target) : NULL;
    if (root == NULL || root->type->deliver == NULL) continue; // a scheduler marker, which accepts no jobs
    if (csched_target_has_virtual_time_(root)) return CSCHED_SWIFT_HOLDS_NOTHING;
    bool is_pool = root->type->lend_ != NULL; // only pools have `lend_`
    if (frame->target != root || !is_pool) {  // a queue, a limit or a loop
      holds = true;
      is_last &= *target == NULL && is_drained(frame); // inside the pool's frame; ends its batch
    } else if (*target == NULL) {
      *target = root;
    }
  }
  if (!holds) return CSCHED_SWIFT_HOLDS_NOTHING;
  return is_last && *target != NULL ? CSCHED_SWIFT_LEAVES_QUEUE : CSCHED_SWIFT_HOLDS;
}

int csched_swift_submit_follow_up_(csched_target *target, csched_job *job) {
  return csched_target_submit_follow_up_(target, job);
}

csched_swift_discards csched_swift_discards_begin_(void) {
  csched_discards outer = csched_discards_begin_();
  return (csched_swift_discards){outer.first, outer.last, outer.is_discarding};
}

void csched_swift_discards_end_(csched_swift_discards outer) {
  csched_discards_end_((csched_discards){outer.first, outer.last, outer.is_discarding});
}

bool csched_swift_discards_begin_if_outermost_(void) { return csched_discards_begin_if_outermost_(); }
void csched_swift_discards_end_outermost_(void) { csched_discards_end_((csched_discards){0}); } // no outer list
bool csched_swift_is_in_drop_(void) { return csched_is_in_drop_(); }

void csched_swift_on_put_off_(const void *(*of)(const csched_job *), void (*retain)(const void *),
                              void (*release)(const void *)) {
  csched_discards_owners_ = (csched_discards_owners){of, retain, release};
}

bool csched_swift_discards_reason_(csched_drop_reason *reason) { return csched_discards_reason_(reason); }

bool csched_swift_report_refusals_(bool are_reported) {
  csched_postponed_drops *postponed = csched_frames_postponed_drops_();
  bool before = postponed != NULL && postponed->is_refusal_reported;
  if (postponed != NULL) postponed->is_refusal_reported = are_reported;
  return before;
}

bool csched_swift_are_refusals_reported_(void) {
  const csched_postponed_drops *postponed = csched_frames_postponed_drops_();
  return postponed != NULL && postponed->is_refusal_reported;
}

void *csched_swift_note_sleeper_(void *sleeper) {
  csched_postponed_drops *postponed = csched_frames_postponed_drops_();
  void *before = postponed != NULL ? postponed->sleeper : NULL;
  if (postponed != NULL) postponed->sleeper = sleeper;
  return before;
}

void *csched_swift_sleeper_(void) {
  const csched_postponed_drops *postponed = csched_frames_postponed_drops_();
  return postponed != NULL ? postponed->sleeper : NULL;
}

void csched_swift_sleep_until_(csched_time deadline) {
  static const csched_time LONGEST = UINT64_C(1) << 62; // ns: a sum with csched_now does not overflow
  for (csched_time now; (now = csched_now()) < deadline;)
    csched_nap_(deadline - now < LONGEST ? deadline - now : LONGEST);
}

void csched_swift_observe_(const csched_job_type *type, size_t offset) {
  csched_observe_code_at_(&(csched_observed_code){type, offset, true});
}

void csched_swift_stop_(const char *text) {
  csched_recorder_say_(text);
  csched_os_abort_(""); // the recorder has written `text`
}

void csched_swift_wait_(uint32_t *word, uint32_t value) {
  csched_blocked_begin_("a wait for a lock, a run or an end in Swift", word);
  csched_futex_wait_(word, value, CSCHED_FOREVER);
  csched_blocked_end_();
}

void csched_swift_wake_(uint32_t *word) { csched_futex_wake_(word, INT32_MAX); }
bool csched_swift_is_deadlock_(int error) { return error == EDEADLK; }
bool csched_swift_is_stopped_(int error) { return error == ECANCELED; }

void csched_swift_end_fd_(csched_fd_source *source, int fd) {
  if (source->fd != fd) csched_os_close_(source->fd);
  source->fd = fd;
}

int csched_swift_add_fd_(csched_loop *loop, csched_fd_source *source) {
  int fd = source->fd, error = csched_loop_add_fd(loop, source);
  if (error != EEXIST || source->owner != NULL) return error; // EEXIST, no owner: another source waits for `fd`
  error = csched_os_descriptor_copy_(fd, &source->fd);
  if (error != 0) return error;
  error = csched_loop_add_fd(loop, source);
  if (error != 0) csched_swift_end_fd_(source, fd);
  return error;
}

int csched_swift_remove_fd_(csched_loop *loop, csched_fd_source *source, int fd) {
  int error = csched_loop_remove_fd(loop, source);
  if (error != ENOENT) csched_swift_end_fd_(source, fd); // ENOENT: not in the loop
  return error;
}
