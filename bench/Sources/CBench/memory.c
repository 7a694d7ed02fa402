// What the memory and the clock of the machine do: a list (L6), an absolute sleep (L5).
#define _GNU_SOURCE
#include "kit.h"

#include <bsd/sys/queue.h>
#include <errno.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>

typedef struct sleeps {
  long count;
  csched_time span;
  csched_time *late;
} sleeps;

static void *sleep_and_look(void *context) {
  sleeps *sleeps = context;
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  for (long i = 0; i < sleeps->count; i++) {
    csched_time deadline = csched_now() + sleeps->span;
    struct timespec at = {(time_t)(deadline / 1000000000), (long)(deadline % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {}
    sleeps->late[i] = csched_now() - deadline;
  }
  return NULL;
}

void cbench_sleep_lateness(long count, csched_time span, csched_time *late) {
  pthread_t thread; // of its own, so that the caller's slack stays as it is
  pthread_create(&thread, NULL, sleep_and_look, &(sleeps){count, span, late});
  pthread_join(thread, NULL);
}

typedef struct node {
  LIST_ENTRY(node) link;
  char rest[sizeof(csched_timer) - 2 * sizeof(void *)];
} node;

double cbench_list(long count) {
  enum { NODES = 1000000 };
  static LIST_HEAD(, node) list;
  static node *nodes;
  static uint64_t random = 1;
  if (nodes == NULL) { // each behind one at random: neighbours in the list are none in memory
    nodes = calloc(NODES, sizeof *nodes);
    LIST_INSERT_HEAD(&list, &nodes[0], link);
    for (uint64_t i = 1; i < NODES; i++) {
      node *before = &nodes[cbench_random(&random) % i];
      LIST_INSERT_AFTER(before, &nodes[i], link);
    }
  }
  static node one;
  csched_time start = csched_now();
  for (long i = 0; i < count; i++) {
    node *before = &nodes[cbench_random(&random) % NODES];
    LIST_INSERT_AFTER(before, &one, link);
    __asm__ volatile("" ::: "memory");
    LIST_REMOVE(&one, link);
  }
  return since(start);
}
