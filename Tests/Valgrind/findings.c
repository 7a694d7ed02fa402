// One fault for each tool, which it must find: findings inversion|race|descriptor|uninitialized|leak|reachable. A tool
// that stays silent here would stay silent about the core, too.

#define _DEFAULT_SOURCE
#include <CScheduler/CScheduler.h>

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static csched_lock first, second;

static void lock_both(csched_lock *outer, csched_lock *inner) {
  csched_lock_lock(outer);
  csched_lock_lock(inner);
  csched_lock_unlock(inner);
  csched_lock_unlock(outer);
}

static void *lock_forwards(void *unused) {
  lock_both(&first, &second);
  return unused;
}

static void *lock_backwards(void *unused) {
  lock_both(&second, &first);
  return unused;
}

// One after the other, so that nothing but the order is wrong.
static void invert(void) {
  void *(*bodies[])(void *) = {lock_forwards, lock_backwards};
  for (int i = 0; i < 2; i++) {
    pthread_t thread;
    pthread_create(&thread, NULL, bodies[i], NULL);
    pthread_join(thread, NULL);
  }
}

static int guarded;
static uint32_t is_ready;

static void *publish(void *unused) {
  guarded = 1;
  csched_store_relaxed(&is_ready, 1u); // the fault: only a release would publish the write
  return unused;
}

static void race(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, publish, NULL);
  while (csched_load_acquire(&is_ready) == 0) sched_yield();
  guarded++;
  pthread_join(thread, NULL);
}

static int number;

static void *close_loop(void *unused) {
  csched_loop *loop;
  if (csched_loop_create(&loop) != 0) abort();
  if (csched_loop_fd(loop, &number) != 0) abort();
  csched_store_release(&is_ready, 1u);
  usleep(100000);
  csched_loop_destroy(loop); // the fault: another thread uses its descriptor, and nothing orders the two
  return unused;
}

static void use_descriptor(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, close_loop, NULL);
  while (csched_load_acquire(&is_ready) == 0) sched_yield();
  int copy = dup(number);
  pthread_join(thread, NULL);
  close(copy);
}

static void use_uninitialized(void) {
  csched_activation *volatile hidden = malloc(sizeof *hidden); // from the compiler, which finds the fault itself
  csched_activation *activation = hidden;                      // the fault: no csched_activation_init
  if (csched_load_relaxed(&activation->ended) != 0) puts("ended");
  free(activation);
}

// Leaks a block of malloc. A leaked loop would stay reachable, in the list of fork handlers.
static void leak(void) {
  void *volatile gone = malloc(64);
  gone = NULL;
  (void)gone;
}

static void do_nothing(csched_job *job) { (void)job; }

static void keep(void) {
  static const csched_job_type type = {.run = do_nothing, .drop = do_nothing};
  csched_job job;
  csched_job_init(&job, &type, NULL);
  csched_trampoline_run(&job); // the fault: no csched_shutdown, so this thread's trampoline leaks
}

int main(int count, char **arguments) {
  const char *fault = count == 2 ? arguments[1] : "";
  if (strcmp(fault, "inversion") == 0) invert();
  else if (strcmp(fault, "race") == 0) race();
  else if (strcmp(fault, "descriptor") == 0) use_descriptor();
  else if (strcmp(fault, "uninitialized") == 0) use_uninitialized();
  else if (strcmp(fault, "leak") == 0) leak();
  else if (strcmp(fault, "reachable") == 0) keep();
  else return 64;
  return 0;
}
