// Ends the library's process-wide state: the thread of the clocks, the main loop, this thread's trampoline and context
// frames, and cached memory.
#include <CScheduler/shutdown.h>
#include <CScheduler/main_loop.h>
#include <CScheduler/task.h>
#include <CScheduler/trampoline.h>
#include "../base/panic.h"
#include "../job/frames_internal.h"
#include "../loop/loop_internal.h"
#include "clock_internal.h"

void csched_shutdown(csched_stop_policy policy) { // `policy`: for the jobs of the main loop
  csched_require_policy_(policy, "csched_shutdown");
  if (csched_target_current() != NULL || csched_loop_current() != NULL || !csched_trampoline_is_required())
    csched_panic_("csched_shutdown",
                  "called inside a job, which it would have to wait for. Call it outside of all jobs, "
                  "as the last thing on the main thread.");
  if (csched_main_loop_is_kept_())
    csched_panic_("csched_shutdown", "called in a program whose tasks all run here (SchedulerExecutors), and could end "
                                     "no more. Leave the call out.");
  csched_clocks_stop_();
  csched_main_loop_end_(policy);
  csched_trampoline_end_();
  csched_frames_free_(); // the thread's list of context frames
  csched_trim();         // frees cached memory
}
