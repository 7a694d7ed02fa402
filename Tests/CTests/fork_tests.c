#include "fork_testing.h"

#include <limits.h>
#include <pthread.h>
#include <unistd.h>

#include "../../Sources/CScheduler/loop/delivery_internal.h"
#include "../../Sources/CScheduler/sync/parking.h"

#include <CScheduler/virtual.h>

// MARK: the thread that forks

// Tools under which no child of a process with threads can be tested.
enum { NO_FORK = THREAD_SANITIZER | MEMORY_SANITIZER | VALGRIND };
static const char *const no_child = "tools do not follow a process with threads into its child";

// Tools under which a child cannot start threads.
enum { NO_THREAD_IN_CHILD = NO_FORK | QEMU };
static const char *const no_thread = "tools do not follow a process with threads into its child, and under qemu that "
                                     "child cannot start a thread";

static csched_lock held, free_lock;

static void lock_twice(int index, void *context) {
  (void)index;
  for (int i = 0; i < 2; i++) {
    csched_lock_lock(context);
    nap(100 * US);
    csched_lock_unlock(context);
  }
}

static void use_locks(void *context) {
  (void)context;
  CHECK(csched_is_main_thread());
  csched_lock_assert_owner(&held);
  CHECK(!csched_lock_trylock(&held));
  crew crew;
  crew_start(&crew, 2, lock_twice, &held); // they wait for it
  nap(5 * MS);
  csched_lock_unlock(&held);
  crew_join(&crew);
  csched_lock_lock(&held);
  csched_lock_assert_owner(&held);
  crew_run(4, lock_twice, &free_lock);
  csched_lock_unlock(&held);
}

static void fork_again(void *context) {
  CHECK_CHILD(use_locks, context); // while this thread holds the lock
  use_locks(context);
}

static void fork_with_lock(int index, void *context) {
  (void)index, (void)context;
  csched_lock_lock(&held);
  CHECK_CHILD(use_locks, NULL);
  CHECK_CHILD(fork_again, NULL);
  csched_lock_unlock(&held);
}

static void fork_keeps_owner(void) {
  fork_with_lock(0, NULL);
  crew_run(1, fork_with_lock, NULL); // on a thread that is not the main one
}

// LK9
TEST_UNLESS(NO_THREAD_IN_CHILD, no_thread, "after fork a lock keeps its owner") { fork_keeps_owner(); }

static void hold_for_ever(probe *probe) {
  csched_lock_lock(probe->context);
  nap(500 * MS);
  csched_lock_unlock(probe->context);
}

static void lock_it(void *context) { csched_lock_lock(context); }

static void fork_lock_of_another(void) {
  static csched_lock lock;
  csched_thread *thread = start_thread("holder");
  probe holder;
  probe_init(&holder, hold_for_ever, &lock);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&holder)), 0);
  CHECK_SOON(csched_load_relaxed(&lock.owner) != 0);
  CHECK_CHILD_STOPS(lock_it, &lock, "orphaned by fork");
  stop_and_join(thread, CSCHED_STOP_RUN);
}

// LK9
TEST_UNLESS(NO_FORK, no_child, "after fork a lock of an orphaned thread stops the process") { fork_lock_of_another(); }

// MARK: its own loops

typedef struct own {
  csched_loop *loop;
  csched_serial *queue;
  probe before, queued, later, forking;
  csched_fd_source source;
  int pipe[2], reads, runs;
} own;

static void read_it(csched_fd_source *source, unsigned events) {
  own *own = source->context;
  char byte;
  (void)events;
  if (read(source->fd, &byte, 1) == 1) own->reads++;
}

static atomic_int own_served;

static void submit_to_own(int index, void *context) {
  own *own = context;
  static probe all[2][4]; // the parent's jobs wait in the child, too
  probe *probes = all[own->runs - 1];
  probe_init(&probes[index], NULL, NULL);
  if (index % 2 == 0) CHECK_EQUAL(csched_target_submit(csched_loop_target(own->loop), job_of(&probes[index])), 0);
  else CHECK_EQUAL(csched_target_submit(csched_serial_target(own->queue), job_of(&probes[index])), 0);
  CHECK_SOON(atomic_load(&probes[index].releases) == 1);
  atomic_fetch_add(&own_served, 1);
}

static void run_own(void *context) {
  own *own = context;
  CHECK(csched_loop_is_on_thread(own->loop));
  csched_time begin = csched_now();
  crew crew;
  own->runs++;
  atomic_store(&own_served, 0);
  crew_start(&crew, 4, submit_to_own, own);
  while (atomic_load(&own->later.releases) == 0 || (atomic_load(&own_served) < 4 && csched_now() < begin + 20000 * MS))
    csched_loop_run_until(own->loop, csched_now() + 5 * MS);
  csched_loop_run_until(own->loop, begin + 60 * MS);
  crew_join(&crew);
  CHECK_PROBE(&own->before, 1, 0);
  CHECK_PROBE(&own->queued, 1, 0);
  CHECK_PROBE(&own->later, 1, 0);
  CHECK(own->later.ran_at >= own->later.timer.deadline);
  probe mine;
  probe_init(&mine, NULL, NULL);
  CHECK_EQUAL(csched_target_submit_at(csched_loop_target(own->loop), &mine.timer, csched_now() + 20 * MS, 0),
              0); // not the parent's alarm
  while (atomic_load(&mine.releases) == 0) csched_loop_run_until(own->loop, csched_now() + 100 * MS);
  CHECK(mine.ran_at >= mine.timer.deadline);
  if (own->source.fd >= 0) {
    CHECK_EQUAL(write(own->pipe[1], "x", 1), 1);
    csched_loop_run_once(own->loop, csched_now() + 1000 * MS);
    CHECK_EQUAL(own->reads, 1);
  }
}

static void submit_all(own *own) {
  probe_init(&own->before, NULL, NULL);
  probe_init(&own->queued, NULL, NULL);
  probe_init(&own->later, NULL, NULL);
  CHECK_EQUAL(csched_target_submit(csched_loop_target(own->loop), job_of(&own->before)), 0);
  CHECK_EQUAL(csched_target_submit(csched_serial_target(own->queue), job_of(&own->queued)), 0);
  CHECK_EQUAL(csched_target_submit_at(csched_loop_target(own->loop), &own->later.timer, csched_now() + 50 * MS, 0), 0);
}

static void fork_inside(probe *probe) { CHECK_CHILD(run_own, probe->context); }

static void fork_own_loop(bool has_source) {
  static own own;
  own = (struct own){.reads = 0};
  own.source.fd = -1;
  CHECK_EQUAL(csched_loop_create(&own.loop), 0);
  CHECK_EQUAL(csched_serial_create(&own.queue, csched_loop_target(own.loop)), 0);
  if (has_source) {
    if (pipe(own.pipe) != 0) abort();
    csched_fd_source_init(&own.source, own.pipe[0], CSCHED_FD_READ, read_it, &own);
    CHECK_EQUAL(csched_loop_add_fd(own.loop, &own.source), 0);
  }
  csched_loop_run_until(own.loop, csched_now() + 2 * MS); // has slept
  submit_all(&own);
  CHECK_CHILD(run_own, &own);
  probe_init(&own.forking, fork_inside, &own); // and from inside of a run
  CHECK_EQUAL(csched_target_submit(csched_loop_target(own.loop), job_of(&own.forking)), 0);
  run_own(&own); // nor has the child taken anything from the parent
  CHECK_PROBE(&own.forking, 1, 0);
  csched_serial_destroy(own.queue);
  csched_loop_destroy(own.loop);
  if (has_source) {
    close(own.pipe[0]);
    close(own.pipe[1]);
  }
}

TEST_UNLESS(NO_THREAD_IN_CHILD, no_thread, "after fork the thread's own loops continue") { // LP8, SQ9
  fork_own_loop(false);
  fork_own_loop(true);
}

static void run_main_loop(void *context) {
  csched_loop *loop = csched_main_loop();
  probe mine;
  probe_init(&mine, NULL, NULL);
  CHECK(csched_is_main_thread());
  CHECK(loop == context);
  CHECK_EQUAL(csched_target_submit(csched_loop_target(loop), job_of(&mine)), 0);
  while (csched_loop_run_ready(loop, 8) > 0) {}
  CHECK_PROBE(&mine, 1, 0);
}

static void fork_for_main_loop(int index, void *context) {
  (void)index;
  CHECK_CHILD(run_main_loop, context);
}

static void fork_main_loop(void) { crew_run(1, fork_for_main_loop, csched_main_loop()); }

TEST_UNLESS(NO_FORK, no_child, "after fork the thread that forked is the main one, and has the main loop") {
  fork_main_loop();
}

// MARK: made anew

static void add_up(probe *probe) {
  csched_fork spawn;
  struct probe half;
  probe_init(&half, NULL, NULL);
  csched_pool_fork(&spawn, job_of(&half));
  csched_pool_wait(&spawn);
  CHECK_PROBE(&half, 1, 0);
  if (probe->context != NULL) atomic_fetch_add((atomic_int *)probe->context, 1);
}

static void count_one(void *context) { atomic_fetch_add((atomic_int *)context, 1); }

static void make_anew(void *context) {
  (void)context;
  csched_thread *thread = start_thread("anew");
  csched_pool *pool = NULL;
  csched_serial *queue = NULL;
  atomic_int count = 0;
  probe probes[8], later;
  CHECK_EQUAL(csched_pool_create(&pool, &(csched_pool_options){.name = "anew", .workers = 2}), 0);
  CHECK_EQUAL(csched_serial_create(&queue, csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT)), 0);
  for (int i = 0; i < 8; i++) {
    probe_init(&probes[i], add_up, &count);
    if (i % 2 == 0)
      CHECK_EQUAL(csched_target_submit(csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), job_of(&probes[i])), 0);
    else CHECK_EQUAL(csched_target_submit(csched_serial_target(queue), job_of(&probes[i])), 0);
  }
  probe_init(&later, NULL, NULL);
  CHECK_EQUAL(
      csched_target_submit_at(csched_pool_target(pool, CSCHED_PRIORITY_HIGH), &later.timer, csched_now() + 5 * MS, 0),
      0);
  CHECK_EQUAL(csched_serial_sync(queue, count_one, &count), 0);
  wait_until_run(thread);
  for (int i = 0; i < 8; i++) CHECK_SOON(atomic_load(&probes[i].releases) == 1);
  CHECK_SOON(atomic_load(&later.releases) == 1);
  CHECK(later.ran_at >= later.timer.deadline);
  CHECK_EQUAL(atomic_load(&count), 9);
  csched_serial_destroy(queue);
  csched_pool_destroy(pool);
  stop_and_join(thread, CSCHED_STOP_RUN);
}

static void fork_in_job(probe *probe) { CHECK_CHILD(make_anew, probe->context); }

static void fork_made_anew(void) {
  CHECK_CHILD(make_anew, NULL);
  csched_thread *thread = start_thread("forks");
  csched_pool *pool = NULL;
  CHECK_EQUAL(csched_pool_create(&pool, &(csched_pool_options){.workers = 2}), 0);
  probe on_thread, on_pool;
  probe_init(&on_thread, fork_in_job, NULL);
  probe_init(&on_pool, fork_in_job, NULL);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&on_thread)), 0);
  CHECK_EQUAL(csched_target_submit(csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), job_of(&on_pool)), 0);
  csched_pool_destroy(pool);
  stop_and_join(thread, CSCHED_STOP_RUN);
  CHECK_PROBE(&on_thread, 1, 0);
  CHECK_PROBE(&on_pool, 1, 0);
}

TEST_UNLESS(NO_THREAD_IN_CHILD, no_thread, "after fork threads, pools and queues can be made anew") {
  fork_made_anew();
}

// MARK: other clocks

static void use_clock_anew(void *context) {
  probe *parents = context, own;
  CHECK_EQUAL(csched_timer_cancel(&parents->timer), CSCHED_CANCEL_DROPPED);
  CHECK_EQUAL(atomic_load(&parents->drops), 1);
  csched_thread *thread = start_thread("clock");
  probe_init(&own, NULL, NULL);
  csched_time soon = csched_time_after(csched_clock_now(CSCHED_CLOCK_WALL), 20 * MS);
  csched_target *target = csched_loop_target(csched_thread_loop(thread));
  CHECK_EQUAL(csched_target_submit_at_clock(target, CSCHED_CLOCK_WALL, &own.timer, soon, 0), 0);
  CHECK_SOON(atomic_load(&own.releases) == 1);
  CHECK_PROBE(&own, 1, 0);
  CHECK_EQUAL(atomic_load(&parents->runs), 0);
  stop_and_join(thread, CSCHED_STOP_RUN);
}

// Calls `fork_once` a few times while a timer waits on the wall clock: a child gets that.
static void fork_beside_clock(void (*fork_once)(probe *waits)) {
  csched_thread *thread = start_thread("clock");
  probe waits;
  probe_init(&waits, NULL, NULL);
  csched_time later = csched_time_after(csched_clock_now(CSCHED_CLOCK_WALL), 60000 * MS);
  csched_target *target = csched_loop_target(csched_thread_loop(thread));
  CHECK_EQUAL(csched_target_submit_at_clock(target, CSCHED_CLOCK_WALL, &waits.timer, later, 0), 0);
  for (int i = 0; i < 3; i++) fork_once(&waits);
  CHECK_EQUAL(csched_timer_cancel(&waits.timer), CSCHED_CANCEL_DROPPED);
  CHECK_PROBE(&waits, 0, 1);
  stop_and_join(thread, CSCHED_STOP_RUN);
}

static void fork_and_use_clock(probe *waits) { CHECK_CHILD(use_clock_anew, waits); }

static void fork_clocks(void) { fork_beside_clock(fork_and_use_clock); }

// CL7
TEST_UNLESS(NO_THREAD_IN_CHILD, no_thread, "after fork other clocks are waited for anew") { fork_clocks(); }

// A queue and a limit whose base is the user's and runs jobs at once: a thread of the parent is inside of a job, and
// others wait.
static int perform_at_once(csched_target *target, csched_job *job) {
  csched_target_perform(target, job);
  return 0;
}
static const csched_target_type inline_type = {.deliver = perform_at_once};
static csched_target inline_base = {.type = &inline_type};

typedef struct inline_test {
  csched_target *target;
  probe holds, waits;
  atomic_int is_held, may_continue;
} inline_test;

static void hold_target(probe *probe) {
  inline_test *test = probe->context;
  atomic_store(&test->is_held, 1);
  while (!atomic_load(&test->may_continue)) nap(20 * US);
}
static void make_queue(probe *probe) { // registers for forks, and is registered no more
  csched_serial *queue;
  (void)probe;
  CHECK_EQUAL(csched_serial_create(&queue, &inline_base), 0);
  csched_serial_destroy(queue);
}
static void submit_holder(int index, void *context) {
  inline_test *test = context;
  (void)index;
  csched_target_submit(test->target, job_of(&test->holds));
}
static void expect_waiting_ran(void *context) {
  inline_test *test = context;
  probe next;
  CHECK_PROBE(&test->waits, 1, 0);
  probe_init(&next, make_queue, NULL);
  csched_target_submit(test->target, job_of(&next));
  CHECK_PROBE(&next, 1, 0);
}

static void fork_inside_inline(csched_target *target) {
  inline_test test = {.target = target};
  crew crew;
  probe_init(&test.holds, hold_target, &test);
  probe_init(&test.waits, make_queue, NULL);
  crew_start(&crew, 1, submit_holder, &test);
  CHECK_SOON(atomic_load(&test.is_held) == 1);
  csched_target_submit(target, job_of(&test.waits));
  CHECK_CHILD(expect_waiting_ran, &test);
  atomic_store(&test.may_continue, 1);
  crew_join(&crew);
  CHECK_PROBE(&test.waits, 1, 0);
}

TEST_UNLESS(NO_FORK, no_child, "after fork a base that runs jobs at once runs them outside of the library's locks") {
  csched_serial *queue, *on_limit;
  csched_limit *limit;
  CHECK_EQUAL(csched_serial_create(&queue, &inline_base), 0);
  CHECK_EQUAL(csched_limit_create(&limit, &inline_base, 1), 0);
  CHECK_EQUAL(csched_serial_create(&on_limit, csched_limit_target(limit)), 0);
  fork_inside_inline(csched_serial_target(queue));
  fork_inside_inline(csched_limit_target(limit));
  fork_inside_inline(csched_limit_barrier_target(limit));
  fork_inside_inline(csched_serial_target(on_limit));
  csched_serial_destroy(on_limit);
  csched_limit_destroy(limit);
  csched_serial_destroy(queue);
}

// A thread that uses the library in the last round of its destructors, on a stack that goes with it.
static pthread_key_t last_round;

static void sync_in_last_round(void *round) {
  csched_serial **queue = round;
  static CSCHED_THREAD_LOCAL int rounds;
  atomic_int count = 0;
  if (++rounds < PTHREAD_DESTRUCTOR_ITERATIONS) pthread_setspecific(last_round, round);
  else csched_serial_sync(*queue, count_one, &count);
}
static void *sync_late(void *queue) {
  atomic_int count = 0;
  csched_serial_sync(*(csched_serial **)queue, count_one, &count);
  pthread_setspecific(last_round, queue);
  return NULL;
}
static void do_nothing(void *unused) { (void)unused; }

TEST_UNLESS(NO_FORK, no_child, "a fork after a thread that used the library in its last destructor") {
  csched_serial *queue;
  pthread_attr_t large; // the C library keeps no stack of this size
  pthread_t thread;
  CHECK_EQUAL(csched_serial_create(&queue, &inline_base), 0);
  CHECK_EQUAL(pthread_key_create(&last_round, sync_in_last_round), 0);
  pthread_attr_init(&large);
  pthread_attr_setstacksize(&large, (size_t)64 << 20);
  for (int i = 0; i < 2; i++) {
    CHECK_EQUAL(pthread_create(&thread, &large, sync_late, &queue), 0);
    pthread_join(thread, NULL);
  }
  CHECK_CHILD(do_nothing, NULL);
  pthread_attr_destroy(&large);
  pthread_key_delete(last_round);
  csched_serial_destroy(queue);
}

// A delivery that another thread of the parent is in the middle of.
static atomic_int is_delivering, may_continue;

static void hold_delivery(csched_delivery *delivery, csched_timer *timer) {
  (void)timer;
  atomic_store(&is_delivering, 1);
  while (!atomic_load(&may_continue)) nap(20 * US);
  csched_delivery_done_(delivery);
}

static int deliver_nowhere(csched_target *target, csched_job *job) {
  (void)target;
  (void)job;
  return 0;
}

static void deliver(int index, void *context) {
  (void)index;
  static const csched_target_type type = {.deliver = deliver_nowhere};
  static csched_target target = {.type = &type};
  static uint32_t undelivered;
  csched_delivery delivery = {.deliver = hold_delivery, .undelivered = &undelivered};
  csched_timer timer = {.target = &target};
  (void)context;
  csched_delivery_deliver_tracked_(&delivery, &timer);
}

static void end_loops_and_virtual_time(void *context) {
  (void)context;
  csched_loop *loop;
  csched_virtual *timeline;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  csched_loop_destroy(loop);
  CHECK_EQUAL(csched_virtual_create(&timeline, 0, 0), 0);
  csched_virtual_destroy(timeline);
}

static void fork_beside_delivery(probe *waits) {
  crew crew;
  (void)waits;
  atomic_store(&is_delivering, 0);
  atomic_store(&may_continue, 0);
  crew_start(&crew, 1, deliver, NULL);
  CHECK_SOON(atomic_load(&is_delivering) == 1);
  CHECK_CHILD(end_loops_and_virtual_time, NULL);
  atomic_store(&may_continue, 1);
  crew_join(&crew);
}

TEST_UNLESS(NO_FORK, no_child, "after a fork during a delivery, loops and virtual time end") { // DV5
  fork_beside_clock(fork_beside_delivery);
}

// MARK: while another is on its way

// A loop's, behind a gate for all threads but the loop's own.
typedef struct gated {
  csched_target target;
  csched_loop *loop;
  csched_serial *queue;
  probe others;
  atomic_int is_there, is_open;
} gated;

static int deliver_gated(csched_target *target, csched_job *job) {
  gated *gated = (struct gated *)target;
  csched_target *under = csched_loop_target(gated->loop);
  if (!csched_loop_is_on_thread(gated->loop)) {
    atomic_store(&gated->is_there, 1);
    while (!atomic_load(&gated->is_open)) nap(50 * US);
  }
  return under->type->deliver(under, job);
}

static csched_target *under_gate(const csched_target *target) {
  return csched_loop_target(((const gated *)target)->loop);
}

static bool gate_has(const csched_target *target, const csched_job *job) {
  const csched_target *under = under_gate(target);
  return under->type->has(under, job);
}

static void submit_behind_gate(int index, void *context) {
  gated *gated = context;
  (void)index;
  CHECK_EQUAL(csched_target_submit(csched_serial_target(gated->queue), job_of(&gated->others)), 0);
}

static void continue_with_queue(void *context) {
  gated *gated = context;
  probe mine;
  probe_init(&mine, NULL, NULL);
  CHECK_EQUAL(csched_target_submit(csched_serial_target(gated->queue), job_of(&mine)), 0);
  for (csched_time end = csched_now() + 5000 * MS; atomic_load(&mine.releases) == 0 && csched_now() < end;)
    csched_loop_run_once(gated->loop, csched_now() + MS);
  CHECK_PROBE(&gated->others, 1, 0);
  CHECK_PROBE(&mine, 1, 0);
}

static void fork_on_the_way(void) {
  static const csched_target_type type = {.deliver = deliver_gated, .base = under_gate, .has = gate_has};
  static gated gated;
  gated = (struct gated){.target = {.type = &type}};
  probe_init(&gated.others, NULL, NULL);
  CHECK_EQUAL(csched_loop_create(&gated.loop), 0);
  CHECK_EQUAL(csched_serial_create(&gated.queue, &gated.target), 0);
  crew crew;
  crew_start(&crew, 1, submit_behind_gate, &gated);
  CHECK_SOON(atomic_load(&gated.is_there) == 1); // the queue's own job is marked, and not in the loop
  CHECK_CHILD(continue_with_queue, &gated);
  atomic_store(&gated.is_open, 1);
  crew_join(&crew);
  CHECK(csched_loop_run_once(gated.loop, csched_now() + 5000 * MS));
  CHECK_PROBE(&gated.others, 1, 0);
  csched_serial_destroy(gated.queue);
  csched_loop_destroy(gated.loop);
}

TEST_UNLESS(NO_FORK, no_child, "after fork a queue continues that a thread of the parent was about to wake") { // SQ9
  fork_on_the_way();
}

// MARK: while others sleep for locks

typedef struct parked {
  atomic_int has_all;
} parked;

// Makes every lock's hash look as if a thread were about to sleep. The flag of a thread that does sleep stays.
static void hold_all_buckets(int index, void *context) {
  parked *parked = context;
  csched_bucket *buckets[CSCHED_BUCKETS_];
  (void)index;
  for (size_t i = 0; i < CSCHED_BUCKETS_; i++) {
    buckets[i] = csched_bucket_lock_(i);
    if (i < CSCHED_LOCK_WAITER_FLAGS_) csched_fetch_or_relaxed(&csched_lock_waiter_flags_[i].word, (uintptr_t)1);
  }
  atomic_store(&parked->has_all, 1);
  nap(30 * MS);
  for (size_t i = 0; i < CSCHED_BUCKETS_; i++) {
    if (i < CSCHED_LOCK_WAITER_FLAGS_ && TAILQ_EMPTY(&buckets[i]->sleepers))
      csched_fetch_and_relaxed(&csched_lock_waiter_flags_[i].word, ~(uintptr_t)1);
    csched_bucket_unlock_(buckets[i]);
  }
}

static void fork_beside_sleepers(probe *waits) {
  crew crew;
  parked parked = {0};
  crew_start(&crew, 1, hold_all_buckets, &parked);
  CHECK_SOON(atomic_load(&parked.has_all) == 1);
  CHECK_CHILD(use_clock_anew, waits);
  crew_join(&crew);
}

static void fork_sleepers(void) { fork_beside_clock(fork_beside_sleepers); }

TEST_UNLESS(NO_THREAD_IN_CHILD, no_thread,
            "a fork during other threads' waits for locks leaves locks that can be unlocked") { // LK9
  fork_sleepers();
}

// MARK: while others work

typedef struct storm {
  csched_lock lock;
  csched_pool *pool;
  csched_serial *queue;
  csched_loop *loop;
  atomic_int ends;
} storm;

static void hammer(int index, void *context) {
  storm *storm = context;
  static probe probes[4][2];
  static CSCHED_THREAD_LOCAL csched_loop *mine;
  csched_loop_create(&mine);
  while (!atomic_load(&storm->ends)) {
    csched_lock_lock(&storm->lock);
    csched_lock_unlock(&storm->lock);
    probe *one = &probes[index][0], *two = &probes[index][1];
    probe_init(one, NULL, NULL);
    probe_init(two, NULL, NULL);
    CHECK_EQUAL(csched_target_submit(csched_pool_target(storm->pool, CSCHED_PRIORITY_DEFAULT), job_of(one)), 0);
    CHECK_EQUAL(csched_target_submit(csched_serial_target(storm->queue), job_of(two)), 0);
    CHECK_SOON(atomic_load(&one->releases) == 1 && atomic_load(&two->releases) == 1);
    probe_init(one, NULL, NULL);
    CHECK_EQUAL(csched_target_submit_at(csched_loop_target(storm->loop), &one->timer, csched_now() + 60000 * MS, 0), 0);
    csched_timer_cancel(&one->timer);
    csched_loop_run_once(mine, 0);
    atomic_int count = 0;
    csched_serial_sync(storm->queue, count_one, &count);
  }
  csched_loop_destroy(mine);
}

static void live_on(void *context) {
  storm *storm = context;
  probe mine;
  probe_init(&mine, NULL, NULL);
  CHECK_EQUAL(csched_target_submit_at(csched_loop_target(storm->loop), &mine.timer, csched_now() + MS, 0), 0);
  CHECK(csched_loop_run_once(storm->loop, csched_now() + 5000 * MS));
  CHECK_PROBE(&mine, 1, 0);
  make_anew(NULL);
}

static void fork_storm(int forks) {
  static storm storm;
  atomic_store(&storm.ends, 0);
  CHECK_EQUAL(csched_loop_create(&storm.loop), 0);
  CHECK_EQUAL(csched_pool_create(&storm.pool, &(csched_pool_options){.workers = 2}), 0);
  CHECK_EQUAL(csched_serial_create(&storm.queue, csched_pool_target(storm.pool, CSCHED_PRIORITY_DEFAULT)), 0);
  crew crew;
  crew_start(&crew, 4, hammer, &storm);
  for (int i = 0; i < forks; i++) CHECK_CHILD(live_on, &storm);
  atomic_store(&storm.ends, 1);
  crew_join(&crew);
  csched_serial_destroy(storm.queue);
  csched_pool_destroy(storm.pool);
  csched_loop_destroy(storm.loop);
}

// Waits for a queue, without a loop in the process: even a pool has one.
static int perform_within(csched_target *target, csched_job *job) {
  csched_target_perform(target, job);
  return 0;
}
static const csched_target_type within_type = {.deliver = perform_within};
static csched_target within = {.type = &within_type};

typedef struct syncing {
  csched_serial *queue;
  atomic_int ends;
} syncing;

static void sync_until_the_end(int index, void *context) {
  (void)index;
  syncing *test = context;
  atomic_int count = 0;
  while (!atomic_load(&test->ends)) csched_serial_sync(test->queue, count_one, &count);
}

static void make_loop(void *unused) {
  (void)unused;
  csched_loop *loop;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  csched_loop_destroy(loop);
}

static void fork_beside_waits(int forks) {
  syncing test = {NULL, 0};
  CHECK_EQUAL(csched_serial_create(&test.queue, &within), 0);
  crew crew;
  crew_start(&crew, 3, sync_until_the_end, &test);
  for (int i = 0; i < forks; i++) CHECK_CHILD(make_loop, NULL);
  atomic_store(&test.ends, 1);
  crew_join(&crew);
  csched_serial_destroy(test.queue);
}

TEST_UNLESS(NO_THREAD_IN_CHILD, no_thread,
            "a fork during waits for a queue, in a process without a loop, leaves a child that makes one") {
  fork_beside_waits(times(400));
}

TEST_UNLESS(NO_THREAD_IN_CHILD, no_thread, "forks in the middle of others' work leave a child that works") {
  fork_storm(times(100));
}
