// The C API from C++: a lock, a thread, and a job whose run throws out of a trampoline.
#include <CScheduler/CScheduler.h>

#include <cstdio>
#include <stdexcept>

namespace {
int ran = 0;
void count(csched_job *) { ran++; }
void refuse(csched_job *) { throw std::runtime_error("refused"); }
void drop(csched_job *) {}
const csched_job_type counts = {count, drop, nullptr}, refuses = {refuse, drop, nullptr};

__attribute__((noinline)) int run_deeper(csched_job *job, int depth) {
  if (depth == 0) {
    csched_trampoline_run(job);
    return 0;
  }
  return run_deeper(job, depth - 1) + 1; // no tail call: each call has a frame
}
} // namespace

int main() {
  csched_lock lock = CSCHED_LOCK_INIT;
  csched_lock_lock(&lock);
  csched_lock_unlock(&lock);

  csched_job refusing, counting;
  csched_job_init(&refusing, &refuses, nullptr);
  csched_job_init(&counting, &counts, nullptr);
  try {
    csched_trampoline_run(&refusing);
    return 1;
  } catch (const std::runtime_error &) {
    run_deeper(&counting, 3); // the trampoline is open again, whatever the depth
  }

  csched_thread *thread = nullptr;
  if (csched_thread_start(&thread, nullptr) != 0) return 1;
  csched_target_submit(csched_thread_target(thread), &counting);
  csched_thread_stop(thread, CSCHED_STOP_RUN);
  csched_thread_join(thread);
  csched_thread_destroy(thread);
  std::printf("%d jobs ran\n", ran);
  return ran == 2 ? 0 : 1;
}
