// Descriptors: a bare round trip (L4), and two loops, each in a host that waits for its descriptor (H3).
#define _GNU_SOURCE
#include "kit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

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

// MARK: bare

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

static void ring_bells(void *context, cbench_crew *crew, int index) {
  bells *bells = context;
  cbench_crew_start(crew, index);
  for (long i = 0; i < bells->count; i++) {
    if (index == 0) ring(bells->there);
    else hear(bells->there);
    if (index == 1) ring(bells->back);
    else hear(bells->back);
  }
}

double cbench_epoll_round_trip(long count) {
  bells bells = {make_bell(), make_bell(), count};
  double took = cbench_crew_run(2, CBENCH_TOGETHER, ring_bells, &bells);
  close_bell(bells.there);
  close_bell(bells.back);
  return took;
}

// MARK: two loops

typedef struct hosts {
  csched_loop *near, *far;
  int near_epoll;
  csched_job answer;
  csched_job calls[2]; // by turns: one may still be ending when its answer has come
  unsigned turn;
  bool has_answer;
  atomic_bool is_over;
  pthread_t thread;
  pthread_barrier_t ready;
} hosts;

static void take_answer(csched_job *job) { ((hosts *)job->context)->has_answer = true; }
static const csched_job_type answers = {take_answer, do_nothing, NULL};

static void give_answer(csched_job *job) {
  hosts *hosts = job->context;
  csched_target_submit(csched_loop_target(hosts->near), &hosts->answer);
}
static const csched_job_type calls = {give_answer, do_nothing, NULL};

static void *host_far(void *context) {
  hosts *hosts = context;
  if (csched_loop_create(&hosts->far) != 0) abort();
  int fd;
  if (csched_loop_fd(hosts->far, &fd) != 0) abort();
  int epoll = epoll_on(fd);
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

static void *hosts_open(void) {
  hosts *made = touched(sizeof *made);
  int fd;
  if (csched_loop_create(&made->near) != 0 || csched_loop_fd(made->near, &fd) != 0) abort();
  made->near_epoll = epoll_on(fd);
  csched_job_init(&made->answer, &answers, made);
  for (int i = 0; i < 2; i++) csched_job_init(&made->calls[i], &calls, made);
  pthread_barrier_init(&made->ready, NULL, 2);
  if (pthread_create(&made->thread, NULL, host_far, made) != 0) abort();
  pthread_barrier_wait(&made->ready);
  return made;
}

static void hosts_trip(void *context) {
  hosts *hosts = context;
  hosts->has_answer = false;
  csched_target_submit(csched_loop_target(hosts->far), &hosts->calls[hosts->turn++ & 1]);
  while (!hosts->has_answer) {
    await(hosts->near_epoll);
    csched_loop_run_ready(hosts->near, 64);
  }
}

static void hosts_close(void *context) {
  hosts *hosts = context;
  csched_job end;
  csched_job_init(&end, &ends, hosts);
  csched_target_submit(csched_loop_target(hosts->far), &end);
  pthread_barrier_wait(&hosts->ready);
  pthread_join(hosts->thread, NULL);
  pthread_barrier_destroy(&hosts->ready);
  close(hosts->near_epoll);
  csched_loop_destroy(hosts->near);
  free(hosts);
}

const peer_trip ours_hosted_trips[] = {{"csched_loop_fd", hosts_open, hosts_trip, hosts_close}, {0}};
