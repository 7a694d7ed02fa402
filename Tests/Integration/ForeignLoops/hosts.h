// The work that a foreign loop drives ours through: jobs from another thread, timers, an idle time without a wakeup, a
// stop.
#pragma once

#include <CScheduler/CScheduler.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { JOBS = 100000, TIMERS = 50, IDLE_MS = 200 };

static csched_loop *loop;
static csched_job jobs[JOBS];
static csched_timer timers[TIMERS];
static int next_job, timers_ran, rounds, rounds_when_done;

static inline void require(int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "not so: %s\n", what);
  exit(EXIT_FAILURE);
}

static void run_job(csched_job *job) { require(job == &jobs[next_job++], "the jobs run in order"); }
static void run_timer(csched_job *job) {
  require(csched_now() >= ((csched_timer *)job)->deadline, "no timer is early");
  timers_ran++;
}
static void drop(csched_job *job) {
  (void)job;
  require(0, "nothing is dropped");
}
static const csched_job_type job_type = {run_job, drop, NULL}, timer_type = {run_timer, drop, NULL};

static void *submit_all(void *unused) {
  for (int i = 0; i < JOBS; i++) {
    csched_job_init(&jobs[i], &job_type, NULL);
    require(csched_target_submit(csched_loop_target(loop), &jobs[i]) == 0, "a job is accepted");
    if (i % (JOBS / TIMERS) != 0) continue;
    csched_timer *timer = &timers[i / (JOBS / TIMERS)];
    csched_timer_init(timer, &timer_type, NULL);
    require(csched_target_submit_at(csched_loop_target(loop), timer, csched_now() + 3000000, 0) == 0,
            "a timer is accepted");
  }
  return unused;
}

// Begins the work. Returns: the descriptor that the host waits for.
static inline int hosts_begin(pthread_t *submitter) {
  require(csched_loop_create(&loop) == 0, "there is a loop");
  int fd = -1;
  require(csched_loop_fd(loop, &fd) == 0, "it has a descriptor");
  require(pthread_create(submitter, NULL, submit_all, NULL) == 0, "there is a thread");
  return fd;
}

// The descriptor is readable. Returns: whether all has run; the host then sleeps for IDLE_MS, and calls
// hosts_idle_ends.
static inline int hosts_ready(void) {
  int was_done = next_job == JOBS && timers_ran == TIMERS;
  rounds++;
  csched_loop_run_ready(loop, 256);
  int is_done = !was_done && next_job == JOBS && timers_ran == TIMERS;
  if (is_done) rounds_when_done = rounds;
  return is_done;
}

static inline void hosts_idle_ends(void) {
  // One round more, when the submitter's last wake comes after the job that it announces.
  require(rounds <= rounds_when_done + 1, "nothing wakes up while idle");
  csched_loop_end_run(loop);
}

static inline int hosts_is_stopped(void) { return csched_loop_run_until(loop, 0) == CSCHED_RUN_ENDED; }

static inline void hosts_end(const char *host, pthread_t submitter) {
  pthread_join(submitter, NULL);
  csched_loop_destroy(loop);
  printf("%d jobs and %d timers in %d rounds of %s, then %d ms without one\n", next_job, timers_ran, rounds - 1, host,
         IDLE_MS);
}
