// What an exception passes of exceptions.cpp that has no clean-ups.
#include <CScheduler/CScheduler.h>

csched_run_result run_in_c(csched_loop *loop) { return csched_loop_run(loop); }
int sync_in_c(csched_serial *queue, void (*body)(void *), void *context) {
  return csched_serial_sync(queue, body, context);
}
void trampoline_in_c(csched_job *job) { csched_trampoline_run(job); }
