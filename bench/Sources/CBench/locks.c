#define _GNU_SOURCE
#include "CBench.h"

#include <pthread.h>

static struct {
  _Alignas(64) csched_lock ours;
  _Alignas(64) pthread_mutex_t normal;
  _Alignas(64) pthread_mutex_t adaptive;
  _Alignas(64) long guarded;
} shared = {.normal = PTHREAD_MUTEX_INITIALIZER, .adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP};

typedef struct task {
  long count;
  int inside, outside;
  pthread_barrier_t *start; // NULL: at once
  csched_time began;
} task;

static task begin(void *context) {
  task *task = context;
  if (task->start != NULL) pthread_barrier_wait(task->start);
  task->began = csched_now();
  return *task;
}

// One loop for each kind of lock, so that ours is inlined as it is in a user's program.
static void *use_ours(void *context) {
  task task = begin(context);
  for (long i = 0; i < task.count; i++) {
    csched_lock_lock(&shared.ours);
    shared.guarded++;
    cbench_work(task.inside);
    csched_lock_unlock(&shared.ours);
    cbench_work(task.outside);
  }
  return NULL;
}

static void use_mutex(pthread_mutex_t *mutex, task task) {
  for (long i = 0; i < task.count; i++) {
    pthread_mutex_lock(mutex);
    shared.guarded++;
    cbench_work(task.inside);
    pthread_mutex_unlock(mutex);
    cbench_work(task.outside);
  }
}

static void *use_normal(void *context) {
  use_mutex(&shared.normal, begin(context));
  return NULL;
}

static void *use_adaptive(void *context) {
  use_mutex(&shared.adaptive, begin(context));
  return NULL;
}

static void *(*const use[])(void *) = {use_ours, use_normal, use_adaptive};

double cbench_lock_alone(cbench_lock lock, long count) {
  csched_time start = csched_now();
  use[lock](&(task){.count = count});
  return (double)(csched_now() - start);
}

double cbench_lock_contended(cbench_lock lock, int threads, long count, int inside, int outside) {
  cbench_work(1); // calibrates
  pthread_t ids[64];
  pthread_barrier_t start;
  pthread_barrier_init(&start, NULL, (unsigned)threads);
  task tasks[64];
  long each = count / threads + 1;
  for (int i = 0; i < threads; i++) {
    tasks[i] = (task){.count = each, .inside = inside, .outside = outside, .start = &start};
    pthread_create(&ids[i], NULL, use[lock], &tasks[i]);
  }
  csched_time began = CSCHED_FOREVER;
  for (int i = 0; i < threads; i++) {
    pthread_join(ids[i], NULL);
    if (tasks[i].began < began) began = tasks[i].began;
  }
  double took = (double)(csched_now() - began);
  pthread_barrier_destroy(&start);
  return took * (double)count / (double)(each * threads);
}
