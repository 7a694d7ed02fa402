// The C core's single-threaded paths, to be counted by Tools/counts: paths NAME N runs one of them N times. Without
// arguments it names them.
// Nothing here depends on time or chance, so that two runs have the same instructions.
#include "../../../Sources/CScheduler/job/mpsc.h"

#include <CScheduler/CScheduler.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void nothing(csched_job *job) { (void)job; }
static const csched_job_type type = {.run = nothing, .drop = nothing};
static void no_body(void *context) { (void)context; }

static csched_loop *loop;
static csched_job job;
static csched_timer timer;

static void make_loop(void) {
  if (csched_loop_create(&loop) != 0) abort();
  csched_job_init(&job, &type, NULL);
  csched_timer_init(&timer, &type, NULL);
}

// MARK: the paths

static void lock_alone(long count) {
  static csched_lock lock;
  for (long i = 0; i < count; i++) {
    csched_lock_lock(&lock);
    csched_lock_unlock(&lock);
  }
}

static void queue_push_pop(long count) {
  csched_mpsc queue;
  csched_mpsc_init(&queue);
  csched_job_init(&job, &type, NULL);
  for (long i = 0; i < count; i++) {
    csched_mpsc_push(&queue, &job);
    csched_mpsc_pop(&queue);
  }
}

static void loop_submit_run(long count) {
  make_loop();
  for (long i = 0; i < count; i++) {
    csched_target_submit(csched_loop_target(loop), &job);
    csched_loop_run_ready(loop, 1);
  }
}

static void loop_submit_cancel(long count) {
  make_loop();
  for (long i = 0; i < count; i++) {
    csched_target_submit(csched_loop_target(loop), &job);
    csched_job_cancel(&job);
    csched_loop_run_ready(loop, 1);
  }
}

static void timer_insert_cancel(long count) {
  enum { PENDING = 1000 };
  static csched_timer others[PENDING];
  make_loop();
  for (int i = 0; i < PENDING; i++) {
    csched_timer_init(&others[i], &type, NULL);
    csched_target_submit_at(csched_loop_target(loop), &others[i], UINT64_C(1) << 61 | (uint64_t)i << 24, 0);
  }
  for (long i = 0; i < count; i++) {
    csched_target_submit_at(csched_loop_target(loop), &timer, UINT64_C(1) << 61, 0);
    csched_timer_cancel(&timer);
  }
}

static void timer_late(long count) {
  make_loop();
  for (long i = 0; i < count; i++) {
    csched_target_submit_at(csched_loop_target(loop), &timer, 1, 0);
    csched_loop_run_ready(loop, 1);
  }
}

static void nest(csched_job *outer) {
  for (long i = *(long *)outer->context; i > 0; i--) {
    csched_job_init(&job, &type, NULL);
    csched_trampoline_run(&job); // waits for its turn
    csched_trampoline_drain();
  }
}

static void trampoline_nested(long count) {
  static const csched_job_type outer_type = {.run = nest, .drop = nothing};
  csched_job outer;
  csched_job_init(&outer, &outer_type, &count);
  csched_trampoline_run(&outer);
}

static void trampoline_outermost(long count) {
  csched_job_init(&job, &type, NULL);
  for (long i = 0; i < count; i++) csched_trampoline_run(&job);
}

static void serial_submit_run(long count) {
  csched_serial *serial;
  make_loop();
  if (csched_serial_create(&serial, csched_loop_target(loop)) != 0) abort();
  for (long i = 0; i < count; i++) {
    csched_target_submit(csched_serial_target(serial), &job);
    csched_loop_run_ready(loop, 1);
  }
  csched_serial_destroy(serial);
}

static void serial_sync(long count) {
  csched_serial *serial;
  make_loop();
  if (csched_serial_create(&serial, csched_loop_target(loop)) != 0) abort();
  for (long i = 0; i < count; i++) csched_serial_sync(serial, no_body, NULL);
  csched_serial_destroy(serial);
}

// A loop in a host: the wakes and system calls of a submission.
static void host_bursts(long bursts, int jobs_each) {
  enum { MOST = 100 };
  static csched_job burst[MOST];
  int fd;
  make_loop();
  if (csched_loop_fd(loop, &fd) != 0) abort();
  for (int i = 0; i < jobs_each; i++) csched_job_init(&burst[i], &type, NULL);
  for (long n = 0; n < bursts; n++) {
    for (int i = 0; i < jobs_each; i++) csched_target_submit(csched_loop_target(loop), &burst[i]);
    csched_loop_run_ready(loop, MOST + 1);
  }
}

static void host_submit_run(long count) { host_bursts(count, 1); }
static void host_burst_of_100(long count) { host_bursts(count, 100); }

static void host_timer_insert_cancel(long count) {
  int fd;
  make_loop();
  if (csched_loop_fd(loop, &fd) != 0) abort();
  for (long i = 0; i < count; i++) {
    csched_target_submit_at(csched_loop_target(loop), &timer, UINT64_C(1) << 61, 0);
    csched_timer_cancel(&timer);
  }
}

// MARK: choosing

static const struct {
  const char *name;
  void (*run)(long count);
} paths[] = {
    {"lock_alone", lock_alone},
    {"queue_push_pop", queue_push_pop},
    {"loop_submit_run", loop_submit_run},
    {"loop_submit_cancel", loop_submit_cancel},
    {"timer_insert_cancel", timer_insert_cancel},
    {"timer_late", timer_late},
    {"trampoline_nested", trampoline_nested},
    {"trampoline_outermost", trampoline_outermost},
    {"host_submit_run", host_submit_run},
    {"host_burst_of_100", host_burst_of_100},
    {"host_timer_insert_cancel", host_timer_insert_cancel},
    {"serial_submit_run", serial_submit_run},
    {"serial_sync", serial_sync},
};
enum { PATHS = sizeof paths / sizeof *paths };

int main(int count, char **arguments) {
  for (int i = 0; i < PATHS; i++) {
    if (count < 3) puts(paths[i].name);
    else if (strcmp(paths[i].name, arguments[1]) == 0) {
      paths[i].run(atol(arguments[2]));
      return 0;
    }
  }
  return count < 3 ? 0 : 64;
}
