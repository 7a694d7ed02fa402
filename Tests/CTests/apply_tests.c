#include "fork_testing.h"
#include "pool_testing.h"

#include <CTestAllocations.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

// A loop whose parts are counted. The results are not atomic: csched_apply guarantees that its caller sees them.
typedef struct range {
  csched_target *target;
  size_t threads, count, grain;
  int64_t *results;
  atomic_int parts, small_parts, inside, most_inside;
} range;

static void compute(void *context, size_t from, size_t to) {
  range *range = context;
  int inside = atomic_fetch_add(&range->inside, 1) + 1, most = atomic_load(&range->most_inside);
  while (inside > most && !atomic_compare_exchange_weak(&range->most_inside, &most, inside)) {}
  atomic_fetch_add(&range->parts, 1);
  if (to - from < range->grain && to != range->count) atomic_fetch_add(&range->small_parts, 1);
  for (size_t i = from; i < to; i++) range->results[i] += (int64_t)i + 1;
  atomic_fetch_sub(&range->inside, 1);
}

static void check_range(range *range) {
  range->results = calloc(range->count + 1, sizeof *range->results);
  csched_apply(range->target, range->threads, range->count, range->grain, compute, range);
  int64_t wrong = 0;
  for (size_t i = 0; i < range->count; i++) wrong += range->results[i] != (int64_t)i + 1;
  free(range->results);
  CHECK_EQUAL(wrong, 0);
  CHECK_EQUAL(atomic_load(&range->small_parts), 0);
  CHECK((size_t)atomic_load(&range->most_inside) <= (range->threads > 0 ? range->threads : 1));
  CHECK_EQUAL(atomic_load(&range->inside), 0);
}

static void check_ranges(csched_target *target, size_t threads) {
  static const size_t counts[] = {0, 1, 2, 7, 1000, 40000}, grains[] = {0, 1, 3, 999, SIZE_MAX};
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
    for (size_t g = 0; g < sizeof grains / sizeof *grains; g++) {
      range range = {.target = target, .threads = threads, .count = counts[c], .grain = grains[g]};
      check_range(&range);
      if (threads <= 1 || counts[c] <= grains[g]) CHECK(atomic_load(&range.parts) <= 1);
    }
}

typedef struct checked_on {
  probe probe;
  csched_target *target;
  size_t threads;
} checked_on;

static void check_there(probe *probe) {
  checked_on *on = probe->context;
  check_ranges(on->target, on->threads);
}

static void run_there(csched_target *place, csched_target *target, size_t threads) {
  checked_on on = {.target = target, .threads = threads};
  probe_init(&on.probe, check_there, &on);
  CHECK_EQUAL(csched_target_submit(place, job_of(&on.probe)), 0);
  CHECK_SOON(atomic_load(&on.probe.releases) == 1);
}

static void apply_parts(int workers, int threads) {
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = (size_t)workers});
  csched_thread *thread = start_thread("apply");
  csched_target *mine = csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT);
  check_ranges(mine, (size_t)threads);                                                    // from outside
  run_there(mine, mine, (size_t)threads);                                                 // on a worker, by forks
  run_there(mine, csched_pool_target(pool, CSCHED_PRIORITY_LOW), (size_t)threads);        // on a worker, by jobs
  run_there(csched_thread_target(thread), csched_thread_target(thread), (size_t)threads); // no helper joins
  stop_and_join(thread, CSCHED_STOP_RUN);
  end_pool(pool, CSCHED_STOP_RUN);
}

TEST("each number of a loop is in one part, on whichever thread") { // AP1, AP2, AP3
  apply_parts(2, 3);
  apply_parts(1, 2);
  apply_parts(2, 1);
}

// MARK: side by side

typedef struct meeting {
  atomic_int here;
  csched_target *target;
  atomic_int foreign;
} meeting;

static void meet(void *context, size_t from, size_t to) {
  meeting *meeting = context;
  atomic_fetch_add(&meeting->here, (int)(to - from));
  csched_target *current = csched_target_current();
  if (current != NULL && current != meeting->target) atomic_fetch_add(&meeting->foreign, 1);
  for (csched_time end = csched_now() + 60000 * MS; atomic_load(&meeting->here) < 3 && csched_now() < end;)
    nap(50 * US);
}

static void apply_side_by_side(void) {
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 2});
  csched_limit *limit = NULL;
  CHECK_EQUAL(csched_limit_create(&limit, csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), 2), 0);
  csched_target *targets[] = {csched_pool_target(pool, CSCHED_PRIORITY_HIGH), csched_limit_target(limit)};
  for (int i = 0; i < 2; i++) {
    meeting meeting = {.target = targets[i]};
    csched_apply(targets[i], 3, 3, 1, meet, &meeting); // each waits for the others
    CHECK_EQUAL(atomic_load(&meeting.here), 3);
    CHECK_EQUAL(atomic_load(&meeting.foreign), 0);
  }
  CHECK(csched_target_current() == NULL);
  csched_limit_destroy(limit);
  end_pool(pool, CSCHED_STOP_RUN);
}

// AP1
TEST("the iterations of a loop run side by side") { apply_side_by_side(); }

// MARK: alone

static void apply_alone(void) {
  csched_thread *thread = start_thread("apply");
  csched_thread_stop(thread, CSCHED_STOP_RUN);
  CHECK_EQUAL(csched_thread_join(thread), 0);
  check_ranges(csched_thread_target(thread), 4); // it accepts no more work
  csched_thread_destroy(thread);
  csched_loop *loop;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  check_ranges(csched_loop_target(loop), SIZE_MAX); // a loop that is not run
  csched_loop_destroy(loop);                        // drops the cancelled helpers
}

// AP4, AP5
TEST("a loop without helpers is run by its caller") { apply_alone(); }

static void apply_without_memory(void) {
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 2});
  range range = {.target = csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), .threads = 3, .count = 1000, .grain = 1};
  range.results = calloc(range.count, sizeof *range.results);
  ctest_fail_allocation(1);
  csched_apply(range.target, range.threads, range.count, range.grain, compute, &range);
  CHECK(!ctest_fail_allocation(0)); // the memory was requested
  CHECK_EQUAL(atomic_load(&range.parts), 1);
  CHECK_EQUAL(range.results[999], 1000);
  free(range.results);
  end_pool(pool, CSCHED_STOP_RUN);
}

TEST_UNLESS(SANITIZERS | VALGRIND, "the tool allocates in the place of the tests",
            "without memory a loop is run by its caller") { // AP2
  if (ctest_counts_allocations()) apply_without_memory();
}

// MARK: inside of others

typedef struct nest {
  csched_target *target;
  atomic_int leaves;
} nest;

static void count_leaves(void *context, size_t from, size_t to) {
  atomic_fetch_add(&((nest *)context)->leaves, (int)(to - from));
}
static void nest_one(void *context, size_t from, size_t to) {
  nest *nest = context;
  for (size_t i = from; i < to; i++) csched_apply(nest->target, 4, 25, 1, count_leaves, nest);
}
static void nest_two(void *context, size_t from, size_t to) {
  nest *nest = context;
  for (size_t i = from; i < to; i++) csched_apply(nest->target, 4, 8, 1, nest_one, nest);
}
static void nest_in_sync(void *context) { nest_two(context, 0, 8); }

static void apply_nested(int workers, int rounds) {
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = (size_t)workers});
  csched_serial *queue = NULL;
  CHECK_EQUAL(csched_serial_create(&queue, csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT)), 0);
  nest nest = {.target = csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT)};
  for (int i = 0; i < rounds; i++) csched_apply(nest.target, 4, 8, 1, nest_two, &nest);
  CHECK_EQUAL(atomic_load(&nest.leaves), rounds * 8 * 8 * 25);
  atomic_store(&nest.leaves, 0);
  nest.target = csched_serial_target(queue); // the helpers wait behind the caller
  CHECK_EQUAL(csched_serial_sync(queue, nest_in_sync, &nest), 0);
  CHECK_EQUAL(atomic_load(&nest.leaves), 8 * 8 * 25);
  csched_serial_destroy(queue);
  end_pool(pool, CSCHED_STOP_RUN);
}

TEST("a loop inside of a loop, and inside of a queue, ends") { // AP2, AP4
  apply_nested(1, times(50));
  apply_nested(3, times(50));
}

// Two loops. The caller of the first holds a lock, in a queue's job, and has run out of numbers. The helper of the
// second has not started.
typedef struct two_loops {
  probe first, second;
  csched_target *target;
  csched_serial *queue;
  csched_lock lock;
  atomic_uint caller; // the system's number of the first loop's calling thread
  atomic_int is_helped, has_second_begun, is_first_over, second_parts, foreign_parts;
} two_loops;

static void run_first_loop(void *context, size_t from, size_t to) {
  (void)from, (void)to;
  two_loops *loops = context;
  bool is_inside = csched_target_is_inside(csched_serial_target(loops->queue));
  CHECK_EQUAL(is_inside, ctest_thread_id() == atomic_load(&loops->caller)); // the helper's thread is not
  if (is_inside) {
    WAIT_WHILE(!atomic_load(&loops->is_helped) || !atomic_load(&loops->has_second_begun));
    return;
  }
  atomic_store(&loops->is_helped, 1);
  WAIT_WHILE(!atomic_load(&loops->has_second_begun));
  WAIT_WHILE(!ctest_thread_sleeps(atomic_load(&loops->caller)) && atomic_load(&loops->foreign_parts) == 0);
}

static void run_second_loop(void *context, size_t from, size_t to) {
  two_loops *loops = context;
  atomic_store(&loops->has_second_begun, 1);
  if (csched_target_is_inside(csched_serial_target(loops->queue))) atomic_fetch_add(&loops->foreign_parts, 1);
  WAIT_WHILE(!atomic_load(&loops->is_first_over) && atomic_load(&loops->foreign_parts) == 0);
  if (atomic_load(&loops->foreign_parts) == 0) {
    csched_lock_lock(&loops->lock);
    atomic_fetch_add(&loops->second_parts, (int)(to - from));
    csched_lock_unlock(&loops->lock);
  }
}

static void call_first(probe *probe) {
  two_loops *loops = probe->context;
  csched_lock_lock(&loops->lock);
  atomic_store(&loops->caller, ctest_thread_id());
  csched_apply(loops->target, 2, 2, 1, run_first_loop, loops);
  csched_lock_unlock(&loops->lock);
  atomic_store(&loops->is_first_over, 1);
}
static void call_second(probe *probe) {
  two_loops *loops = probe->context;
  csched_apply(loops->target, 2, 2, 1, run_second_loop, loops);
}

static void apply_under_a_lock(csched_priority of_loops) {
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 3, .most_threads = 3});
  two_loops loops = {.target = csched_pool_target(pool, of_loops)};
  CHECK_EQUAL(csched_serial_create(&loops.queue, csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT)), 0);
  probe_init(&loops.first, call_first, &loops);
  probe_init(&loops.second, call_second, &loops);
  CHECK_EQUAL(csched_target_submit(csched_serial_target(loops.queue), job_of(&loops.first)), 0);
  CHECK_SOON(atomic_load(&loops.is_helped) != 0);
  post(pool, CSCHED_PRIORITY_DEFAULT, &loops.second);
  CHECK_SOON(atomic_load(&loops.first.releases) == 1 && atomic_load(&loops.second.releases) == 1);
  CHECK_EQUAL(atomic_load(&loops.foreign_parts), 0);
  CHECK_EQUAL(atomic_load(&loops.second_parts), 2);
  csched_serial_destroy(loops.queue);
  end_pool(pool, CSCHED_STOP_RUN);
}

TEST("a loop under a lock runs no part of another loop") { // AP7
  apply_under_a_lock(CSCHED_PRIORITY_DEFAULT);             // helpers by forks
  apply_under_a_lock(CSCHED_PRIORITY_HIGH);                // helpers by jobs
}

static void apply_late_helpers(int rounds) {
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 2, .most_threads = 2});
  pool_gate gate;
  pool_gate_close(&gate, pool, 2);
  for (int i = 0; i < rounds; i++) {
    range range = {
        .target = csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), .threads = 3, .count = 100, .grain = 10};
    check_range(&range);
    CHECK_EQUAL(atomic_load(&range.most_inside), 1);
  }
  pool_gate_open(&gate); // they come now, and find nothing
  end_pool(pool, CSCHED_STOP_RUN);
}

// AP4, AP5
TEST("helpers that start late find no part") { apply_late_helpers(times(100)); }

// MARK: fork

typedef struct forking {
  pthread_t caller;
  atomic_int is_helped, is_over;
} forking;

// The caller forks while a helper runs a part. The child continues the loop.
static void fork_inside(void *context, size_t from, size_t to) {
  (void)from, (void)to;
  forking *forking = context;
  if (!pthread_equal(pthread_self(), forking->caller)) {
    atomic_store(&forking->is_helped, 1);
    while (!atomic_load(&forking->is_over)) nap(MS);
    return;
  }
  while (!atomic_load(&forking->is_helped)) nap(50 * US);
  pid_t child = fork();
  if (child == 0) return;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  atomic_store(&forking->is_over, 1);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) abort();
}

static void apply_and_fork(void *unused) {
  (void)unused;
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 2});
  forking forking = {.caller = pthread_self()};
  csched_apply(csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), 2, 2, 1, fork_inside, &forking);
}

static void apply_fork(void) { CHECK_CHILD_STOPS(apply_and_fork, NULL, "was orphaned by fork"); }

TEST_UNLESS(THREAD_SANITIZER | MEMORY_SANITIZER | VALGRIND, "tools do not follow a process with threads into its child",
            "after fork a loop of the parent stops the process") { // AP2
  apply_fork();
}
