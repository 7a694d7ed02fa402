#include "pool_testing.h"

// Circles of waits, over threads and queues, and queues whose base has been stopped.

enum { MOST = 4 };

typedef struct ring ring;
typedef struct member {
  probe probe;
  ring *ring;
  csched_serial *waits_for; // the queue with which this one's job syncs
  csched_serial *through;   // NULL, or an idle queue that it enters before
  int result;
} member;

struct ring {
  int count;
  atomic_int begun;
  csched_thread *threads[MOST];
  csched_serial *queues[MOST], *upper[MOST]; // one on each thread, and one on that
  member members[MOST];
};

static void do_nothing(void *unused) { (void)unused; }

static void begin_ring(ring *ring, int count) {
  memset(ring, 0, sizeof *ring);
  ring->count = count;
  for (int i = 0; i < count; i++) {
    ring->threads[i] = start_thread("ring");
    csched_target *base = csched_loop_target(csched_thread_loop(ring->threads[i]));
    CHECK_EQUAL(csched_serial_create(&ring->queues[i], base), 0);
    CHECK_EQUAL(csched_serial_create(&ring->upper[i], csched_serial_target(ring->queues[i])), 0);
  }
}

static void end_ring(ring *ring) {
  for (int i = 0; i < ring->count; i++) {
    csched_serial_destroy(ring->upper[i]);
    csched_serial_destroy(ring->queues[i]);
    stop_and_join(ring->threads[i], CSCHED_STOP_RUN);
  }
}

static void wait_inside(void *context) {
  member *member = context;
  atomic_fetch_add(&member->ring->begun, 1);
  WAIT_WHILE(atomic_load(&member->ring->begun) < member->ring->count); // until all threads own their queues
  member->result = csched_serial_sync(member->waits_for, do_nothing, NULL);
}

static void wait_in_ring(probe *probe) {
  member *member = (struct member *)probe;
  if (member->through == NULL) wait_inside(member);
  else CHECK_EQUAL(csched_serial_sync(member->through, wait_inside, member), 0);
}

// Has a job of each thread wait, and checks that one of them is refused, and only one: it lets the others end.
static void go_round(ring *ring, bool is_circle) {
  int refused = 0;
  atomic_store(&ring->begun, 0);
  for (int i = 0; i < ring->count; i++) {
    probe_init(&ring->members[i].probe, wait_in_ring, NULL);
    ring->members[i].ring = ring;
    ring->members[i].result = -1;
  }
  for (int i = 0; i < ring->count; i++)
    CHECK_EQUAL(csched_target_submit(csched_thread_target(ring->threads[i]), job_of(&ring->members[i].probe)), 0);
  for (int i = 0; i < ring->count; i++) {
    member *member = &ring->members[i];
    CHECK_SOON(atomic_load(&member->probe.releases) == 1);
    CHECK(member->result == 0 || member->result == EDEADLK);
    refused += member->result == EDEADLK;
  }
  CHECK_EQUAL(refused, is_circle);
}

static void waits_threads(int count, int rounds) {
  ring ring;
  begin_ring(&ring, count);
  for (int round = 0; round < rounds; round++) {
    for (int i = 0; i < count; i++) ring.members[i].waits_for = ring.queues[(i + 1) % count];
    go_round(&ring, true);
    for (int i = 0; i < count; i++) ring.members[i].waits_for = ring.upper[(i + 1) % count]; // over two queues
    go_round(&ring, true);
  }
  end_ring(&ring);
}

TEST("a circle of waits over threads is reported") { // SQ7
  for (int count = 2; count <= MOST; count++) waits_threads(count, times(200));
}

static void waits_through_queues(int rounds) {
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 1});
  csched_serial *entered[2], *outer;
  csched_target *base = csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT);
  CHECK_EQUAL(csched_serial_create(&outer, base), 0);
  CHECK_EQUAL(csched_serial_create(&entered[0], csched_serial_target(outer)), 0);
  CHECK_EQUAL(csched_serial_create(&entered[1], base), 0);
  ring ring;
  begin_ring(&ring, 2);
  for (int round = 0; round < rounds; round++) {
    ring.members[0].through = entered[0]; // held inline, by a job that waits
    ring.members[1].through = NULL;
    ring.members[0].waits_for = ring.upper[1];
    ring.members[1].waits_for = entered[0];
    go_round(&ring, true);
    ring.members[1].waits_for = outer; // which is held, too
    go_round(&ring, true);
    ring.members[1].through = entered[1];
    ring.members[0].waits_for = entered[1];
    go_round(&ring, true);
    ring.members[1].through = NULL; // a line, which ends with a free queue
    ring.members[0].waits_for = ring.upper[1];
    ring.members[1].waits_for = entered[1];
    go_round(&ring, false);
  }
  end_ring(&ring);
  csched_serial_destroy(entered[0]);
  csched_serial_destroy(entered[1]);
  csched_serial_destroy(outer);
  end_pool(pool, CSCHED_STOP_RUN);
}

TEST("a circle of waits over syncs that run inline is reported") { waits_through_queues(times(200)); }

// A loop belongs to its thread, also while the thread waits and does not run it.
static void sync_with_loop_of_waiter(probe *probe) { wait_inside(probe->context); }

static void waits_loop(bool is_main_loop) {
  csched_loop *loop = is_main_loop ? csched_main_loop() : NULL;
  if (loop == NULL) CHECK_EQUAL(csched_loop_create(&loop), 0);
  csched_serial *on_loop = NULL;
  CHECK_EQUAL(csched_serial_create(&on_loop, csched_loop_target(loop)), 0);
  ring ring;
  begin_ring(&ring, 1);
  ring.count = 2; // with this thread
  ring.members[0] = (member){.ring = &ring, .waits_for = on_loop, .result = -1};
  ring.members[1] = (member){.ring = &ring, .waits_for = ring.upper[0], .result = -1};
  probe_init(&ring.members[0].probe, sync_with_loop_of_waiter, &ring.members[0]);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(ring.threads[0]), job_of(&ring.members[0].probe)), 0);
  wait_inside(&ring.members[1]);
  csched_time until = csched_now() + 10000 * MS; // the job may itself wait, for a job that the loop runs now
  while (atomic_load(&ring.members[0].probe.releases) == 0 && csched_now() < until)
    csched_loop_run_once(loop, csched_now() + MS);
  CHECK(ring.members[0].result + ring.members[1].result == EDEADLK);
  ring.count = 1;
  csched_serial_destroy(on_loop);
  if (!is_main_loop) csched_loop_destroy(loop);
  end_ring(&ring);
}

TEST("a loop that waits with its thread is part of the circle") {
  waits_loop(false);
  waits_loop(true);
}

// MARK: stopped

static int results[2];
static void sync_from_job(probe *probe) {
  csched_serial **queues = probe->context;
  for (int i = 0; i < 2; i++) results[i] = csched_serial_sync(queues[i], do_nothing, NULL);
}

static void check_refused(csched_serial *queues[2]) {
  csched_target_inside inside;
  for (int i = 0; i < 2; i++) {
    CHECK_EQUAL(csched_serial_sync(queues[i], do_nothing, NULL), ECANCELED);
    CHECK(!csched_serial_try_enter(queues[i], &inside));
    CHECK_EQUAL(csched_serial_sync(queues[i], do_nothing, NULL), ECANCELED); // and again
  }
}

static void make_two(csched_serial *queues[2], csched_target *base) {
  CHECK_EQUAL(csched_serial_create(&queues[0], base), 0);
  CHECK_EQUAL(csched_serial_create(&queues[1], csched_serial_target(queues[0])), 0);
}

static void destroy_two(csched_serial *queues[2]) {
  csched_serial_destroy(queues[1]);
  csched_serial_destroy(queues[0]);
}

static atomic_int is_open;
static void stand(probe *probe) {
  CHECK_SOON(atomic_load(&is_open));
  sync_from_job(probe); // on the very queue, on another one, and on queues on them
}

static void waits_stopped(csched_stop_policy policy) {
  csched_serial *queues[2], *busy[2];
  probe standing;
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 1});
  make_two(queues, csched_pool_target(pool, CSCHED_PRIORITY_LOW));
  make_two(busy, csched_pool_target(pool, CSCHED_PRIORITY_LOW));
  atomic_store(&is_open, 0);
  results[0] = results[1] = -1;
  probe_init(&standing, stand, queues);
  CHECK_EQUAL(csched_target_submit(csched_serial_target(busy[1]), job_of(&standing)), 0);
  CHECK_SOON(atomic_load(&standing.runs) == 1);
  csched_pool_stop(pool, policy);
  check_refused(queues);
  check_refused(busy); // though it is not idle
  atomic_store(&is_open, 1);
  CHECK_SOON(atomic_load(&standing.releases) == 1);
  CHECK_EQUAL(results[0], ECANCELED);
  CHECK_EQUAL(results[1], ECANCELED);
  CHECK_EQUAL(csched_pool_join(pool), 0);
  check_refused(queues);
  destroy_two(busy);
  destroy_two(queues);
  csched_pool_destroy(pool);

  csched_thread *thread = start_thread("stopped");
  make_two(queues, csched_loop_target(csched_thread_loop(thread)));
  csched_thread_stop(thread, policy);
  check_refused(queues);
  CHECK_EQUAL(csched_thread_join(thread), 0);
  check_refused(queues);
  destroy_two(queues);
  csched_thread_destroy(thread);

  csched_loop *loop;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  make_two(queues, csched_loop_target(loop));
  CHECK_EQUAL(csched_serial_sync(queues[1], do_nothing, NULL), 0); // here, while it is open
  csched_loop_close(loop, policy);
  check_refused(queues); // on its own thread, too
  destroy_two(queues);
  csched_loop_destroy(loop);
}

TEST("sync on a queue whose base was stopped is refused, idle or not") { // SQ7
  waits_stopped(CSCHED_STOP_RUN);
  waits_stopped(CSCHED_STOP_DROP);
}
