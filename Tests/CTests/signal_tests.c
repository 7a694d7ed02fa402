#include "pool_testing.h"

#include <signal.h>
#include <unistd.h>

// A storm of signals, without SA_RESTART, on all that wait.

enum { VICTIMS = 7 };

typedef struct storm {
  pthread_t victims[VICTIMS];
  atomic_int next, known, ends;
  int rounds;
  csched_lock lock;
  int guarded;
  csched_thread *thread;
  csched_pool *pool;
  csched_serial *queue;
} storm;

static void ignore(int number) { (void)number; }

static void be_victim(storm *storm) {
  storm->victims[atomic_fetch_add(&storm->next, 1)] = pthread_self();
  atomic_fetch_add(&storm->known, 1);
}
static void be_victim_and_nap(probe *probe) {
  be_victim(probe->context);
  nap(2 * MS); // so that the other worker takes the other one
}

static void *pester(void *argument) {
  storm *storm = argument;
  while (!atomic_load(&storm->ends)) {
    for (int i = 0; i < VICTIMS; i++) pthread_kill(storm->victims[i], SIGUSR2);
    nap(20 * US);
  }
  return NULL;
}

static void use_lock(storm *storm) {
  csched_time until = csched_now() + 200 * US;
  if (csched_lock_lock_until(&storm->lock, until)) {
    storm->guarded++;
    csched_lock_unlock(&storm->lock);
  } else {
    CHECK(csched_now() >= until);
  }
  csched_lock_lock(&storm->lock);
  storm->guarded++;
  burn(30 * US);
  csched_lock_unlock(&storm->lock);
}

static void use_loop(csched_loop *loop) {
  probe later;
  probe_init(&later, NULL, NULL);
  csched_time until = csched_now() + 300 * US;
  CHECK_EQUAL(csched_target_submit_at(csched_loop_target(loop), &later.timer, csched_now() + 500 * US, 0), 0);
  csched_run_result result = csched_loop_run_until(loop, until);
  CHECK_EQUAL(result, CSCHED_RUN_TIMED_OUT);
  CHECK(csched_now() >= until);
  while (atomic_load(&later.releases) == 0) CHECK_EQUAL(csched_loop_run_once(loop, csched_now() + 60000 * MS), 1);
  CHECK_PROBE(&later, 1, 0);
  CHECK(later.ran_at >= later.timer.deadline);
}

static void count_one(void *context) { ++*(int *)context; }

static void use_others(storm *storm) {
  int count = 0;
  probe on_pool, on_queue, later;
  probe_init(&on_pool, NULL, NULL);
  probe_init(&on_queue, NULL, NULL);
  probe_init(&later, NULL, NULL);
  post(storm->pool, CSCHED_PRIORITY_DEFAULT, &on_pool);
  CHECK_EQUAL(csched_target_submit(csched_serial_target(storm->queue), job_of(&on_queue)), 0);
  CHECK_EQUAL(csched_serial_sync(storm->queue, count_one, &count), 0);
  CHECK_EQUAL(count, 1);
  CHECK_PROBE(&on_queue, 1, 0);
  CHECK_EQUAL(csched_target_submit_at(csched_thread_target(storm->thread), &later.timer, csched_now() + 200 * US, 0),
              0);
  csched_thread *thread = start_thread("joined");
  stop_and_join(thread, CSCHED_STOP_RUN);
  CHECK_SOON(atomic_load(&on_pool.releases) == 1 && atomic_load(&later.releases) == 1);
  CHECK(later.ran_at >= later.timer.deadline);
}

static void ignore_events(csched_fd_source *source, unsigned events) { (void)source, (void)events; }

static void suffer(int index, void *context) {
  storm *storm = context;
  csched_loop *loop = NULL;
  csched_fd_source source;
  int ends[2];
  if (pipe(ends) != 0) abort();
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  csched_fd_source_init(&source, ends[0], CSCHED_FD_READ, ignore_events, NULL);
  if (index == 1) CHECK_EQUAL(csched_loop_add_fd(loop, &source), 0); // on its poller
  be_victim(storm);
  CHECK_SOON(atomic_load(&storm->known) == VICTIMS);
  for (int i = 0; i < storm->rounds; i++) {
    use_lock(storm);
    if (index < 2) use_loop(loop);
    else use_others(storm);
  }
  while (!atomic_load(&storm->ends)) nap(50 * US); // stays to be pestered
  csched_loop_destroy(loop);
  close(ends[0]);
  close(ends[1]);
}

static void make_victim(probe *probe) { be_victim(probe->context); }

static void signal_storm(int rounds) {
  static storm storm;
  memset(&storm, 0, sizeof storm);
  storm.rounds = rounds;
  struct sigaction action = {.sa_handler = ignore}, before; // without SA_RESTART
  sigaction(SIGUSR2, &action, &before);
  storm.thread = start_thread("pestered");
  storm.pool = make_pool(&(csched_pool_options){.workers = 2, .most_threads = 2});
  CHECK_EQUAL(csched_serial_create(&storm.queue, csched_pool_target(storm.pool, CSCHED_PRIORITY_DEFAULT)), 0);
  probe on_thread, workers[2];
  probe_init(&on_thread, make_victim, &storm);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(storm.thread), job_of(&on_thread)), 0);
  for (int i = 0; i < 2; i++) {
    probe_init(&workers[i], be_victim_and_nap, &storm);
    post(storm.pool, CSCHED_PRIORITY_DEFAULT, &workers[i]);
  }
  crew crew;
  crew_start(&crew, VICTIMS - 3, suffer, &storm);
  CHECK_SOON(atomic_load(&storm.known) == VICTIMS);
  pthread_t pest;
  if (pthread_create(&pest, NULL, pester, &storm) != 0) abort();
  for (csched_time end = csched_now() + 60000 * MS; csched_now() < end;) {
    csched_lock_lock(&storm.lock);
    bool is_over = storm.guarded >= rounds * (VICTIMS - 3);
    csched_lock_unlock(&storm.lock);
    if (is_over) break;
    nap(MS);
  }
  nap(20 * MS);
  atomic_store(&storm.ends, 1);
  pthread_join(pest, NULL);
  crew_join(&crew);
  CHECK(storm.guarded >= rounds * (VICTIMS - 3));
  csched_serial_destroy(storm.queue);
  end_pool(storm.pool, CSCHED_STOP_RUN);
  stop_and_join(storm.thread, CSCHED_STOP_RUN);
  sigaction(SIGUSR2, &before, NULL);
}

TEST("in a storm of signals nothing is early, and nothing is lost") { signal_storm(times(200)); }
