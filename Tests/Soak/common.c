// Shared by the phases: checks, time and chance, threads, and jobs that are counted. See soak.h.

#include "soak.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const csched_time PATIENCE = 120000 * MS; // without any job's release while some are outstanding

// MARK: checks, time, chance

void soak_fail(const char *file, int line, const char *condition, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fflush(stdout);
  fprintf(stderr, "soak: %s:%d: not %s: ", file, line, condition);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  _exit(1);
}

void soak_nap(csched_time span) {
  struct timespec left = {.tv_sec = (time_t)(span / 1000000000), .tv_nsec = (long)(span % 1000000000)};
  while (nanosleep(&left, &left) != 0) {}
}

uint64_t soak_chance(uint64_t *state) { // SplitMix64
  uint64_t z = (*state += 0x9E3779B97F4A7C15);
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
  z = (z ^ z >> 27) * 0x94D049BB133111EB;
  return z ^ z >> 31;
}

// MARK: threads

typedef struct crew {
  soak_body *body;
  void *context;
  atomic_int next;
  pthread_barrier_t ready;
} crew;

static void *crew_main(void *argument) {
  crew *crew = argument;
  int index = atomic_fetch_add(&crew->next, 1);
  pthread_barrier_wait(&crew->ready);
  crew->body(index, crew->context);
  return NULL;
}

void soak_on_threads(int count, soak_body *body, void *context) {
  crew crew = {.body = body, .context = context};
  pthread_t *threads = calloc((size_t)count, sizeof *threads);
  pthread_attr_t attributes;
  pthread_barrier_init(&crew.ready, NULL, (unsigned)count);
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 128 * 1024);
  for (int i = 0; i < count; i++) {
    int error = pthread_create(&threads[i], &attributes, crew_main, &crew);
    CHECK(error == 0, "thread %d of %d: %s", i, count, strerror(error));
  }
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
  pthread_attr_destroy(&attributes);
  pthread_barrier_destroy(&crew.ready);
  free(threads);
}

// MARK: jobs

static void run(csched_job *job) {
  soak_job *this = (soak_job *)job;
  CHECK(csched_now() >= atomic_load(&this->deadline), "a timer runs early");
  if (this->body != NULL) this->body(this);
  atomic_fetch_add_explicit(&this->tally->ran, 1, memory_order_relaxed);
}

static void drop(csched_job *job) {
  atomic_fetch_add_explicit(&((soak_job *)job)->tally->dropped, 1, memory_order_relaxed);
}

static void release(csched_job *job) {
  soak_job *this = (soak_job *)job;
  soak_tally *tally = this->tally;
  CHECK(atomic_exchange(&this->is_in_use, false), "a job is released twice"); // the memory is its owner's from here on
  atomic_fetch_add_explicit(&tally->released, 1, memory_order_release);
}

void soak_job_init(soak_job *job, soak_tally *tally) {
  static const csched_job_type type = {run, drop, release};
  *job = (soak_job){.tally = tally};
  csched_timer_init(&job->timer, &type, NULL);
}

static void begin(soak_job *job, csched_time deadline) {
  CHECK(!atomic_exchange(&job->is_in_use, true), "a job is submitted twice");
  atomic_store(&job->deadline, deadline);
  atomic_fetch_add_explicit(&job->tally->submitted, 1, memory_order_relaxed);
}

bool soak_submit(soak_job *job, csched_target *target) {
  begin(job, 0);
  int answer = csched_target_submit(target, &job->timer.job);
  CHECK(answer == 0 || answer == ECANCELED, "a submission says %d", answer);
  return answer == 0;
}

bool soak_submit_at(soak_job *job, csched_target *target, csched_clock clock, csched_time deadline,
                    csched_time leeway) {
  begin(job, clock == CSCHED_CLOCK_MONOTONIC ? deadline : 0);
  int answer = csched_target_submit_at_clock(target, clock, &job->timer, deadline, leeway);
  CHECK(answer == 0 || answer == ECANCELED || answer == EAGAIN || answer == ENOMEM, "a submission says %d", answer);
  return answer == 0;
}

void soak_settle(soak_tally *tally) {
  uint64_t submitted = atomic_load(&tally->submitted), last = 0;
  csched_time since = csched_now();
  for (uint64_t released; (released = atomic_load(&tally->released)) != submitted; soak_nap(200 * US)) {
    if (released != last) since = csched_now();
    last = released;
    CHECK(csched_now() - since < PATIENCE, "no progress: %llu submitted, %llu ran, %llu dropped, %llu released",
          (unsigned long long)submitted, (unsigned long long)tally->ran, (unsigned long long)tally->dropped,
          (unsigned long long)released);
  }
  CHECK(tally->ran + tally->dropped == submitted, "%llu submitted, %llu ran, %llu dropped",
        (unsigned long long)submitted, (unsigned long long)tally->ran, (unsigned long long)tally->dropped);
}
