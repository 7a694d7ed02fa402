// Runs of a loop: how runs nest, how a loop parks in its host (another library's main loop), and the runs that a host
// calls.
// States and invariants: those of loop.c.

#include "loop_state.h"

#include "../job/job_internal.h"

enum { MOST_DUE = 1024 }; // LP10: limit of csched_loop_run_through_ without `last`, so that the host gets its turn

// MARK: nesting

// Does: parks the loop, so that the host sleeps for it. If there is work, or the host was not notified of a close,
// makes the host call again at once.
static void park_in_host(csched_loop *loop) {
  csched_fds *fds = &loop->fds;
  csched_fds_consume_stale_(fds);                   // loop_fd.c FD2: later it would consume the park's wake
  fds->is_in_host = csched_mpsc_park(&loop->inbox); // LP1: park, then check. False: a job waits, or it is closed
  // A closed loop cannot park: it is idle once it has no jobs, and the host has been notified of the close.
  bool is_idle = fds->is_in_host ? !csched_loop_has_work_(loop, NULL, 0)
                                 : fds->host_knows_close && csched_mpsc_is_empty(&loop->inbox);
  fds->host_knows_close = csched_loop_is_closing_(loop);
  csched_fds_arm_for_host_(fds, is_idle, csched_load_relaxed(&loop->timers.wake)); // LP1: after the park, else too late
}

// Does: ends a run. After the outermost run, the host sleeps for the loop, unless it has promised another run.
static void end_run(csched_loop *loop) {
  if (--loop->depth == 0 && loop->fds.has_host && !loop->will_run_again) // LP1: only the outermost run ends in a sleep
    park_in_host(loop);
}

static void run_unwound(csched_job *run) { // LP7: the `release` of `loop->run`
  csched_loop *loop = run->context;
  loop->was_unwound = true;
  end_run(loop);
}
const csched_job_type csched_loop_run_type_ = {.release = run_unwound};

// Returns: whether `frame` is the context frame of a loop's run.
static bool is_run(const csched_frame *frame) {
  const csched_target *target = frame->target;
  return target != NULL && target->type == &csched_loop_type_ && frame->job == &((const csched_loop *)target)->run;
}

CSCHED_NOINLINE csched_loop *csched_loop_current(void) {
  const csched_frame *each = csched_frames_end_unwound_(CSCHED_CALLER_FRAME());
  while (each != NULL && !is_run(each)) each = each->outer;
  return each != NULL ? (csched_loop *)each->target : NULL;
}

unsigned *csched_loop_jobs_left_(void) { // Returns: the count of the loop that runs here, for queues to decrement; NULL
  const csched_frame *each = csched_frame_here_();
  while (each != NULL && !is_run(each)) each = each->outer;
  return each != NULL ? &((csched_loop *)each->target)->jobs_left : NULL;
}

// Does: begins a run: ends the park in the host, adds the run's context frame, and calls the hooks if the loop slept.
void csched_loop_enter_(csched_loop *loop, csched_scope *scope, uintptr_t address, const char *function) {
  csched_loop_require_thread_(loop, function);
  if (loop->fds.is_in_host)
    csched_mpsc_unpark(&loop->inbox);                  // its result is not needed: a wake may have ended the park
  if (loop->fds.is_in_host) loop->fds.is_stale = true; // that wake, or the alarm, may still be pending
  loop->fds.is_in_host = false;
  loop->depth++;
  csched_store_relaxed(&loop->served, CSCHED_LOOP_RUN);                  // LP13: relaxed: no data depends on it
  if (loop->no_jobs_at_depth >= loop->depth) loop->no_jobs_at_depth = 0; // LP10: a run that was unwound has left it
  scope->frame = csched_frame_begin_(&scope->spare, address, &loop->run, &loop->target);
  csched_loop_call_hooks_(loop, loop->depth, false); // if the host slept for the loop, its sleep has ended
}

void csched_loop_leave_(csched_loop *loop, const csched_scope *scope) { // ends a run; the outermost parks in the host
  if (loop->depth == 1 && loop->fds.has_host && !loop->will_run_again && !csched_loop_has_work_(loop, NULL, 0))
    csched_loop_call_hooks_(loop, 1, true); // LP1: before the park in end_run, which sees work that a hook submits
  csched_frame_end_(scope->frame);
  loop->was_unwound = false; // LP7: a run has returned, so a thread exit leaves the loop open
  end_run(loop);
}

// MARK: runs for a host

// Returns: the next job for a run that a host calls; NULL: none. After a close it removes the sources; with
// CSCHED_STOP_DROP it drops all work.
static csched_job *next_for_host(csched_loop *loop) {
  if (csched_loop_is_closing_(loop)) csched_fds_close_(&loop->fds);
  if (csched_loop_is_dropping_(loop)) {
    csched_loop_finish_work_(loop); // LP6: accepted work that will not run is dropped
    return NULL;
  }
  csched_job *job = csched_loop_next_(loop);
  return job != NULL ? job : csched_fds_poll_next_(&loop->fds); // a poll, which may find a ready source
}

// Does: waits for one job until `deadline`, or until the run must end, and runs the job. Returns: whether a job ran.
CSCHED_NOINLINE bool csched_loop_run_once_(csched_loop *loop, csched_time deadline, csched_scope *scope) {
  CSCHED_ROOM_IN_FRAME();                            // so that an unwind of this stack frame is found
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME()); // LP7: ends unwound runs, which would still count as outer runs
  csched_loop_enter_(loop, scope, CSCHED_OWN_FRAME(), "csched_loop_run_once");
  csched_job *job;
  while ((job = next_for_host(loop)) == NULL && !csched_loop_is_closing_(loop) && csched_now() < deadline) {
    if (csched_loop_is_ended_(loop, NULL)) {   // LP5: an end was requested
      csched_store_relaxed(&loop->ending, 0u); // LP5: so that the request ends no outer run
      csched_loop_record_end_(loop);
      break;
    }
    csched_loop_wait_(loop, NULL, deadline);
  }
  if (job != NULL) csched_job_perform_(job);
  csched_loop_leave_(loop, scope);
  return job != NULL;
}

// Does: runs up to `max` ready jobs, without waiting. Returns: how many ran.
CSCHED_NOINLINE size_t csched_loop_run_ready_(csched_loop *loop, size_t max, csched_scope *scope) {
  CSCHED_ROOM_IN_FRAME();                            // so that an unwind of this stack frame is found
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME()); // LP7: ends unwound runs, which would still count as outer runs
  csched_loop_enter_(loop, scope, CSCHED_OWN_FRAME(), "csched_loop_run_ready");
  size_t count = 0;
  for (csched_job *job; count < max && (job = next_for_host(loop)) != NULL; count++) csched_job_perform_(job);
  csched_loop_leave_(loop, scope);
  return count;
}

// Does: runs submitted jobs up to `last`; NULL: only due timers and sources. Returns: whether submitted jobs remain.
CSCHED_NOINLINE bool csched_loop_run_through_(csched_loop *loop, const csched_job *last, bool will_run_again) {
  CSCHED_ROOM_IN_FRAME();                            // so that an unwind of this stack frame is found
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME()); // LP7: ends unwound runs, which would still count as outer runs
  csched_scope scope;
  csched_loop_enter_(loop, &scope, CSCHED_OWN_FRAME(), "csched_loop_run_through_");
  unsigned outer_no_jobs_at_depth = loop->no_jobs_at_depth;
  if (last == NULL) loop->no_jobs_at_depth = loop->depth; // LP10: this run runs no submitted job
  for (int i = 0; (last == NULL ? i < MOST_DUE : !csched_job_is_idle(last)); i++) { // LP10: idle: `last` has run
    csched_job *job = next_for_host(loop);
    if (job != NULL) csched_job_perform_(job);
    else if (!loop->has_more_timers) break; // else the batch was full of timers of other targets
  }
  bool has_more = !csched_mpsc_is_empty(&loop->inbox);
  loop->no_jobs_at_depth = outer_no_jobs_at_depth;
  loop->will_run_again = will_run_again; // for csched_loop_leave_: no park in the host
  csched_loop_leave_(loop, &scope);
  loop->will_run_again = false;
  return has_more;
}
