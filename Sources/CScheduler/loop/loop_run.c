// Runs of a loop: how runs nest, how a loop parks in its host, and the runs that a host calls.
// States and invariants: those of loop.c.

#include "loop_state.h"

#include "../job/job_internal.h"

enum { MOST_DUE = 1024 }; // LP10: most jobs of a csched_loop_run_through_ with `last` NULL

// MARK: nesting

// Does: parks the loop, so that the host sleeps for it. If there is work, or a close of which the host was not notified, makes the host call again.
static void park_in_host(csched_loop *loop) {
  csched_fds *fds = &loop->fds;
  csched_fds_settle_(fds);                          // FD2: before the park, whose wake it must not consume
  fds->is_in_host = csched_mpsc_park(&loop->inbox); // LP1: park, then check
  bool is_idle =
      fds->is_in_host ? !csched_loop_has_work_(loop, NULL, 0) : fds->knows_close && csched_mpsc_is_empty(&loop->inbox);
  fds->knows_close = csched_loop_is_closing_(loop);
  csched_fds_leave_to_host_(fds, is_idle, csched_load_relaxed(&loop->timers.wake)); // LP1: wake is read after the park
}

static void end_run(csched_loop *loop) {
  if (--loop->depth == 0 && loop->fds.has_host && !loop->is_promised) park_in_host(loop); // LP1: outermost run
}

static void run_unwound(csched_job *run) { // LP7: the `release` of `loop->run`
  csched_loop *loop = run->context;
  loop->was_unwound = true;
  end_run(loop);
}
const csched_job_type csched_loop_run_type_ = {.release = run_unwound};

// Returns: whether `frame` is a run of a loop.
static bool is_run(const csched_frame *frame) {
  const csched_target *target = frame->target;
  return target != NULL && target->type == &csched_loop_type_ && frame->job == &((const csched_loop *)target)->run;
}

CSCHED_NOINLINE csched_loop *csched_loop_current(void) {
  const csched_frame *each = csched_frames_end_unwound_(CSCHED_CALLER_FRAME());
  while (each != NULL && !is_run(each)) each = each->outer;
  return each != NULL ? (csched_loop *)each->target : NULL;
}

unsigned *csched_loop_jobs_left_(void) {
  const csched_frame *each = csched_frame_here_();
  while (each != NULL && !is_run(each)) each = each->outer;
  return each != NULL ? &((csched_loop *)each->target)->jobs_left : NULL;
}

void csched_loop_enter_(csched_loop *loop, csched_scope *scope, uintptr_t address, const char *function) {
  csched_loop_require_thread_(loop, function);
  if (loop->fds.is_in_host) csched_mpsc_unpark(&loop->inbox); // its result is not needed: the loop runs
  if (loop->fds.is_in_host) loop->fds.is_stale = true;        // the host's wake or alarm may be pending
  loop->fds.is_in_host = false;
  loop->depth++;
  csched_store_relaxed(&loop->served, CSCHED_LOOP_RUN);  // LP13: only the value matters
  if (loop->holds_at >= loop->depth) loop->holds_at = 0; // LP10: the run that set it was unwound
  scope->frame = csched_frame_begin_(&scope->spare, address, &loop->run, &loop->target);
  csched_loop_tell_hooks_(loop, loop->depth, false); // a sleep in the host has ended
}

void csched_loop_leave_(csched_loop *loop, const csched_scope *scope) {
  if (loop->depth == 1 && loop->fds.has_host && !loop->is_promised && !csched_loop_has_work_(loop, NULL, 0))
    csched_loop_tell_hooks_(loop, 1, true); // LP1: before the park
  csched_frame_end_(scope->frame);
  loop->was_unwound = false;
  end_run(loop);
}

// MARK: runs for a host

// Returns: the next job of csched_loop_run_once_, _run_ready_ or _run_through_; NULL: none. After a close with CSCHED_STOP_DROP, drops all work.
static csched_job *next_for_host(csched_loop *loop) {
  if (csched_loop_is_closing_(loop)) csched_fds_close_(&loop->fds);
  if (csched_loop_is_dropping_(loop)) {
    csched_loop_finish_(loop); // LP6: drops all work
    return NULL;
  }
  csched_job *job = csched_loop_next_(loop);
  return job != NULL ? job : csched_fds_look_(&loop->fds);
}

CSCHED_NOINLINE bool csched_loop_run_once_(csched_loop *loop, csched_time deadline, csched_scope *scope) {
  CSCHED_ROOM_IN_FRAME();
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME()); // LP7: ends runs unwound before
  csched_loop_enter_(loop, scope, CSCHED_OWN_FRAME(), "csched_loop_run_once");
  csched_job *job;
  while ((job = next_for_host(loop)) == NULL && !csched_loop_is_closing_(loop) && csched_now() < deadline) {
    if (csched_loop_is_ended_(loop, NULL)) {   // LP5: an end was requested
      csched_store_relaxed(&loop->ending, 0u); // LP5: resets the request
      csched_loop_note_stop_(loop);
      break;
    }
    csched_loop_wait_(loop, NULL, deadline);
  }
  if (job != NULL) csched_job_perform_(job);
  csched_loop_leave_(loop, scope);
  return job != NULL;
}

CSCHED_NOINLINE size_t csched_loop_run_ready_(csched_loop *loop, size_t max, csched_scope *scope) {
  CSCHED_ROOM_IN_FRAME();
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME()); // LP7: ends runs unwound before
  csched_loop_enter_(loop, scope, CSCHED_OWN_FRAME(), "csched_loop_run_ready");
  size_t count = 0;
  for (csched_job *job; count < max && (job = next_for_host(loop)) != NULL; count++) csched_job_perform_(job);
  csched_loop_leave_(loop, scope);
  return count;
}

CSCHED_NOINLINE bool csched_loop_run_through_(csched_loop *loop, const csched_job *last, bool is_promised) {
  CSCHED_ROOM_IN_FRAME();
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME()); // LP7: ends runs unwound before
  csched_scope scope;
  csched_loop_enter_(loop, &scope, CSCHED_OWN_FRAME(), "csched_loop_run_through_");
  unsigned outer_holds_at = loop->holds_at;
  if (last == NULL) loop->holds_at = loop->depth; // LP10: runs no submitted job
  for (int i = 0; (last == NULL ? i < MOST_DUE : !csched_job_is_idle(last)); i++) {
    csched_job *job = next_for_host(loop);
    if (job != NULL) csched_job_perform_(job);
    else if (!loop->has_more_timers) break; // else the batch was full of timers for other targets
  }
  bool has_more = !csched_mpsc_is_empty(&loop->inbox);
  loop->holds_at = outer_holds_at;
  loop->is_promised = is_promised;
  csched_loop_leave_(loop, &scope);
  loop->is_promised = false;
  return has_more;
}
