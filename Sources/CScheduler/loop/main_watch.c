// Reports, once in a process, that work waits for a main loop which nothing runs. For the Swift module, which calls it
// at runs and submissions.
// States
//   state       NEVER: no run was recorded; RUNS: the program or a host runs the loop; ENDED: the last run is over
//   is_watched  1 while a thread watches, and after a report
//   is_long     1 while that thread sleeps until a timer is due, at `until`; it sleeps on this word
// Invariants
//   MW1  A report is true: for PATIENCE, work has been due, no run has begun, and the main thread has slept for the
//        most part. No report follows one, nor csched_loop_end_run or csched_loop_close, nor is one made if another
//        library runs the loop.
// Orderings: relaxed; the words publish nothing
// Assumes: a report at the moment in which a run begins does no harm, nor one that comes late.
// Source: the reports of stall detectors; a main thread that sleeps while its queue has work is a program's mistake in
//   nearly every case.
// Models: none. Not modelled: MW1.
#include "../job/job_internal.h"
#include "../job/mpsc_internal.h"
#include "loop_state.h"

#include <CScheduler/main_loop.h>

enum { NEVER, RUNS, ENDED };
static const csched_time PATIENCE = 2000000000, LOOK = 250000000; // ns; LOOK: from one look to the next
static uint32_t state, is_watched, is_long;                       // see above
static uint32_t runs;                                             // MW1: how often `state` has become RUNS
static csched_time until;                                         // see `is_long`

static bool waits(const csched_job *job, const void *unused) { return csched_job_seems_to_wait_(job, unused); }

// Returns: whether the loop is open, and no run or host of it is recorded.
static bool is_idle(const csched_loop *loop) {
  uint32_t recorded = csched_load_relaxed(&state), served = csched_load_relaxed(&loop->served); // MW1: racy reads
  return (recorded == ENDED || (recorded == NEVER && served == CSCHED_LOOP_NEVER_RUN)) &&
         served != CSCHED_LOOP_STOPPED && !csched_loop_is_closing_(loop) && !csched_main_loop_is_hosted_();
}

// Returns: the time from which on work needs a run of the loop; CSCHED_FOREVER: no run is needed.
static csched_time due_of(const csched_loop *loop) {
  if (!is_idle(loop)) return CSCHED_FOREVER;
  return csched_mpsc_count_(&loop->inbox, 1, waits, NULL) > 0 ? 0 : csched_load_relaxed(&loop->timers.first); // MW1
}

// Does: sleeps until the next look, or until a timer is due at `due`, if that is later. Returns: the span (ns) for
// which work was due meanwhile, while the main thread slept and no run began; 0: it was not so.
static csched_time look(csched_time due) {
  uint32_t main = csched_os_main_thread_id_(), ran = csched_load_relaxed(&runs); // MW1
  csched_time now = csched_now(), used = csched_os_thread_processor_time_(main), next = now + LOOK;
  uint32_t sleeps_long = due > next && due != CSCHED_FOREVER ? 1 : 0;
  csched_store_relaxed(&until, due);           // MW1: as below
  csched_store_relaxed(&is_long, sleeps_long); // MW1: a submission that reads an old value is seen at `due`
  csched_futex_wait_(&is_long, sleeps_long, sleeps_long != 0 ? due : next);
  csched_store_relaxed(&is_long, 0u); // MW1: as above
  csched_time slept = csched_now() - now;
  bool is_busy = csched_os_thread_processor_time_(main) - used > slept / 2; // it computes, and may run the loop later
  return due <= now && !is_busy && csched_load_relaxed(&runs) == ran ? slept : 0; // MW1
}

// The body of the thread: looks until work has waited for PATIENCE, or for so long there was none.
static void watch(void *context) {
  void (*report)(void) = (void (*)(void))(uintptr_t)context;
  csched_loop *loop = csched_main_loop();
  csched_time waited = 0, idle = 0;
  csched_os_thread_set_name_("csched-main");
  csched_os_thread_leave_count_(); // the library's own threads do not count as the program's
  while (waited < PATIENCE && idle < PATIENCE) {
    csched_time due = due_of(loop), now = csched_now(), span = look(due);
    idle = due == CSCHED_FOREVER ? idle + csched_now() - now : 0;
    waited = span > 0 && due_of(loop) <= csched_now() ? waited + span : 0;
  }
  if (waited >= PATIENCE) {
    report(); // MW1: `is_watched` stays set
    return;
  }
  csched_store_relaxed(&is_watched, 0u); // MW1: the next submission begins a watch
  csched_fence_full(); // MW1: with the push before a csched_main_loop_watch_: that sees the line above, or this thread the job
  if (due_of(loop) != CSCHED_FOREVER) csched_main_loop_watch_(loop, true, report);
}

void csched_main_loop_watch_(csched_loop *loop, bool is_due, void (*report)(void)) {
  uint32_t is_on = csched_load_relaxed(&is_watched); // MW1: racy read, rechecked by the exchange
  if (is_on != 0) {
    if (csched_load_relaxed(&is_long) == 0) return;                           // MW1: it looks soon
    csched_time looks = csched_load_relaxed(&until);                          // MW1: as above
    if (!is_due && csched_load_relaxed(&loop->timers.first) >= looks) return; // MW1: it looks before a timer is due
    csched_store_relaxed(&is_long, 0u);                                       // MW1: the thread looks again
    csched_futex_wake_(&is_long, 1);
    return;
  }
  if (!is_idle(loop) || !csched_cas_relaxed(&is_watched, &is_on, 1u)) return; // MW1: one thread
  static csched_os_thread thread; // only the call that has set `is_watched` uses it
  if (csched_os_thread_start_internal_(&thread, watch, (void *)(uintptr_t)report) == 0)
    csched_os_thread_detach_(thread);
  else csched_store_relaxed(&is_watched, 0u); // MW1: without a thread there is no watch
}

void csched_main_loop_set_running_(bool is_running) {
  csched_store_relaxed(&state, is_running ? RUNS : ENDED); // MW1
  if (is_running) csched_fetch_add_relaxed(&runs, 1u);     // MW1
}

void csched_main_loop_forget_watch_(void) { // in a child of fork, where that thread is missing
  is_watched = is_long = 0;
}
