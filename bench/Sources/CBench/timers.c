#include "CBench.h"

#include <stdlib.h>

static void do_nothing(csched_job *job) { (void)job; }
static const csched_job_type nothing = {do_nothing, do_nothing, NULL};

static csched_thread *thread;
static csched_timer *pending;
static long pending_count;
static uint64_t state = 1;

// A minute from now, up to a thousand seconds later.
static csched_time far_away(csched_time now) { return now + 60000000000 + cbench_random(&state) % 1000000 * 1000000; }

// What is pending stays so, in this process.
static void prepare(long count) {
  if (thread == NULL && csched_thread_start(&thread, NULL) != 0) abort();
  if (pending_count == count) return;
  if (pending != NULL) abort(); // one number for each process
  pending = calloc((size_t)count, sizeof *pending);
  csched_time now = csched_now();
  for (pending_count = 0; pending_count < count; pending_count++) {
    csched_timer_init(&pending[pending_count], &nothing, NULL);
    csched_thread_submit_at(thread, &pending[pending_count], far_away(now));
  }
}

double cbench_timer(long waiting, long count) {
  prepare(waiting);
  static csched_timer timer;
  csched_timer_init(&timer, &nothing, NULL);
  csched_time start = csched_now();
  for (long i = 0; i < count; i++) {
    csched_thread_submit_at(thread, &timer, far_away(start));
    csched_timer_cancel(&timer);
  }
  return (double)(csched_now() - start);
}

double cbench_timer_replaced(long waiting, long count) {
  prepare(waiting);
  csched_time start = csched_now();
  for (long i = 0; i < count; i++) {
    csched_timer *timer = &pending[cbench_random(&state) % (uint64_t)waiting];
    csched_timer_cancel(timer);
    csched_thread_submit_at(thread, timer, far_away(start));
  }
  return (double)(csched_now() - start);
}
