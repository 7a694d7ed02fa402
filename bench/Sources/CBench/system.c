#define _GNU_SOURCE
#include "CBench.h"

#include <bsd/sys/queue.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static double since(csched_time start) { return (double)(csched_now() - start); }

// MARK: descriptors, bare (L4) and a loop's (H3)

// Both threads on one processor: what is compared is the work, and not where the system has put the threads.
static double in_a_thread(void *(*body)(void *), long count) {
  pthread_t thread; // of its own, so that the caller's affinity stays as it is
  pthread_create(&thread, NULL, body, &count);
  pthread_join(thread, NULL);
  return (double)count;
}

static int epoll_on(int fd) {
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN};
  if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) abort();
  return epoll;
}

static void await(int epoll) {
  struct epoll_event event;
  while (epoll_wait(epoll, &event, 1, -1) < 1) {}
}

typedef struct bell {
  int event, epoll;
} bell;

static bell make_bell(void) {
  int event = eventfd(0, EFD_CLOEXEC);
  return (bell){event, epoll_on(event)};
}

static void ring(bell bell) { eventfd_write(bell.event, 1); }

static void hear(bell bell) {
  await(bell.epoll);
  eventfd_t value;
  eventfd_read(bell.event, &value);
}

static void close_bell(bell bell) {
  close(bell.epoll);
  close(bell.event);
}

typedef struct bells {
  bell there, back;
  long count;
} bells;

static void *answer_bell(void *context) {
  bells *bells = context;
  for (long i = 0; i < bells->count; i++) {
    hear(bells->there);
    ring(bells->back);
  }
  return NULL;
}

static void *ring_bells(void *context) {
  long *count = context;
  cbench_pin(0);
  bells bells = {make_bell(), make_bell(), *count};
  pthread_t other; // where this thread is
  pthread_create(&other, NULL, answer_bell, &bells);
  csched_time start = csched_now();
  for (long i = 0; i < bells.count; i++) {
    ring(bells.there);
    hear(bells.back);
  }
  *count = (long)since(start);
  pthread_join(other, NULL);
  close_bell(bells.there);
  close_bell(bells.back);
  return NULL;
}

double cbench_epoll_round_trip(long count) { return in_a_thread(ring_bells, count); }

// Two loops, each driven by a host of its own that waits for the loop's descriptor.
typedef struct hosts {
  csched_loop *near, *far;
  csched_job answer;
  csched_job calls[2]; // by turns: one may still be ending when its answer has come
  bool has_answer;
  atomic_bool is_over;
  pthread_barrier_t ready;
} hosts;

static void do_nothing(csched_job *job) { (void)job; }

static void take_answer(csched_job *job) { ((hosts *)job->context)->has_answer = true; }
static const csched_job_type answers = {take_answer, do_nothing, NULL};

static void give_answer(csched_job *job) {
  hosts *hosts = job->context;
  csched_loop_submit(hosts->near, &hosts->answer);
}
static const csched_job_type calls = {give_answer, do_nothing, NULL};

static void *host_far(void *context) {
  hosts *hosts = context;
  if (csched_loop_create(&hosts->far) != 0) abort();
  int epoll = epoll_on(csched_loop_fd(hosts->far));
  pthread_barrier_wait(&hosts->ready);
  while (!atomic_load(&hosts->is_over)) {
    await(epoll);
    csched_loop_run_ready(hosts->far, 64);
  }
  pthread_barrier_wait(&hosts->ready);
  close(epoll);
  csched_loop_destroy(hosts->far);
  return NULL;
}

static void end_far(csched_job *job) { atomic_store(&((hosts *)job->context)->is_over, true); }
static const csched_job_type ends = {end_far, do_nothing, NULL};

static void *host_near(void *context) {
  long *count = context;
  cbench_pin(0);
  hosts hosts = {.has_answer = false};
  if (csched_loop_create(&hosts.near) != 0) abort();
  int epoll = epoll_on(csched_loop_fd(hosts.near));
  csched_job_init(&hosts.answer, &answers, &hosts);
  for (int i = 0; i < 2; i++) csched_job_init(&hosts.calls[i], &calls, &hosts);
  pthread_barrier_init(&hosts.ready, NULL, 2);
  pthread_t other;
  pthread_create(&other, NULL, host_far, &hosts);
  pthread_barrier_wait(&hosts.ready);
  csched_time start = csched_now();
  for (long i = 0; i < *count; i++) {
    hosts.has_answer = false;
    csched_loop_submit(hosts.far, &hosts.calls[i & 1]);
    while (!hosts.has_answer) {
      await(epoll);
      csched_loop_run_ready(hosts.near, 64);
    }
  }
  *count = (long)since(start);
  csched_job end;
  csched_job_init(&end, &ends, &hosts);
  csched_loop_submit(hosts.far, &end);
  pthread_barrier_wait(&hosts.ready);
  pthread_join(other, NULL);
  pthread_barrier_destroy(&hosts.ready);
  close(epoll);
  csched_loop_destroy(hosts.near);
  return NULL;
}

double cbench_hosted_round_trip(long count) { return in_a_thread(host_near, count); }

// MARK: sleeping

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

// MARK: a list

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
