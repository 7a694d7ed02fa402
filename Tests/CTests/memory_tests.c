#include "fork_testing.h"
#include "output_testing.h"

#include <CTestAllocations.h>

#include <signal.h>
#include <unistd.h>

// What creates must fail with an error, and leave nothing behind, whichever allocation fails.

static void run_nothing(csched_fd_source *source, unsigned events) { (void)source, (void)events; }

static csched_loop *loop;
static csched_thread *thread;
static csched_pool *pool;
static csched_serial *queue;
static csched_limit *limit;
static int ends[2];

static int create_loop(void) { return csched_loop_create(&loop); }
static void destroy_loop(void) { csched_loop_destroy(loop); }
static int start_it(void) { return csched_thread_start(&thread, &(csched_thread_options){.name = "memory"}); }
static void end_it(void) { stop_and_join(thread, CSCHED_STOP_RUN); }
static int create_pool(void) {
  return csched_pool_create(&pool, &(csched_pool_options){.name = "memory", .workers = 1});
}
static void destroy_pool(void) { csched_pool_destroy(pool); }
static int create_queue(void) { return csched_serial_create(&queue, csched_pool_target(pool, CSCHED_PRIORITY_LOW)); }
static void destroy_queue(void) { csched_serial_destroy(queue); }
static int create_limit(void) { return csched_limit_create(&limit, csched_pool_target(pool, CSCHED_PRIORITY_LOW), 2); }
static void destroy_limit(void) { csched_limit_destroy(limit); }

static csched_fd_source source;
static int add_source(void) {
  csched_fd_source_init(&source, ends[0], CSCHED_FD_READ, run_nothing, NULL);
  return csched_loop_add_fd(loop, &source);
}
static void remove_source(void) { CHECK_EQUAL(csched_loop_remove_fd(loop, &source), 0); }

static void ignore_value(csched_signal_source *source, uint32_t count) { (void)source, (void)count; }
static csched_signal_source signal_source;
static int add_signal(void) {
  csched_signal_source_init(&signal_source, SIGUSR2, ignore_value, NULL);
  return csched_loop_add_signal(loop, &signal_source);
}
static void remove_signal(void) { CHECK_EQUAL(csched_loop_remove_signal(loop, &signal_source), 0); }

static void see_no_end(csched_child_source *source, csched_child_end end, int status) {
  (void)source, (void)end, (void)status;
}
static csched_child_source child_source;
static int add_child(void) {
  csched_child_source_init(&child_source, getpid(), see_no_end, NULL);
  return csched_loop_add_child(loop, &child_source);
}
static void remove_child(void) { CHECK_EQUAL(csched_loop_remove_child(loop, &child_source), 0); }

static void see_no_change(csched_file_source *source, unsigned changes, const char *name) {
  (void)source, (void)changes, (void)name;
}
static csched_file_source file_source;
static int add_file(void) {
  csched_file_source_init(&file_source, "/tmp", CSCHED_FILE_MOVED, see_no_change, NULL);
  return csched_loop_add_file(loop, &file_source);
}
static void remove_file(void) { CHECK_EQUAL(csched_loop_remove_file(loop, &file_source), 0); }

// Fails the first allocation, then the second, until `create` gets through. Returns: how many it needed.
static int check_creation(const char *what, int (*create)(void), void (*destroy)(void)) {
  for (int number = 1; number < 50; number++) {
    int64_t left = ctest_allocations_left();
    ctest_fail_allocation(number);
    int error = create();
    bool was_enough = ctest_fail_allocation(0); // it did not come so far
    if (was_enough) {
      if (error != 0) test_fail(HERE, what);
      destroy();
      return number - 1;
    }
    if (error != ENOMEM && error != EAGAIN) test_check_equal(HERE, what, error, ENOMEM);
    test_check_equal(HERE, what, ctest_allocations_left(), left);
  }
  return 0;
}

// On a loop of its own, which has not met a descriptor before.
static void check_source(const char *what, int (*add)(void), void (*remove)(void)) {
  CHECK_EQUAL(create_loop(), 0);
  if (check_creation(what, add, remove) < 1) test_fail(HERE, what);
  destroy_loop();
}

static void memory_creations(void) {
  CHECK(check_creation("loop", create_loop, destroy_loop) >= 1);
  CHECK(check_creation("thread", start_it, end_it) >= 2);        // it and its loop: the system's thread begins without
  CHECK(check_creation("pool", create_pool, destroy_pool) >= 3); // with its monitor thread
  CHECK_SOON(ctest_threads_named("memory") == 0 && ctest_threads_named("memory-1") == 0);
  CHECK_EQUAL(create_pool(), 0);
  CHECK(check_creation("queue", create_queue, destroy_queue) >= 1);
  CHECK(check_creation("limit", create_limit, destroy_limit) >= 1);
  destroy_pool();
  if (pipe(ends) != 0) abort();
  check_source("source", add_source, remove_source);
  check_source("signal", add_signal, remove_signal);
  if (!is_under(NO_PIDFD)) check_source("child", add_child, remove_child);
  check_source("file", add_file, remove_file);
  close(ends[0]);
  close(ends[1]);
}

TEST_UNLESS(SANITIZERS | VALGRIND, "the tool stands where allocations are counted",
            "whichever allocation fails, each create function returns an error and leaves nothing") { // X4
  if (ctest_counts_allocations()) memory_creations();
}

// MARK: no threads

// Under which no child of a process with threads, or none that starts threads, can be tested.
enum { NO_THREAD_IN_CHILD = THREAD_SANITIZER | MEMORY_SANITIZER | VALGRIND | QEMU };
static const char *const no_thread = "tools do not follow a process with threads into its child, and under qemu that "
                                     "child cannot start a thread";

static void have_no_threads(void *context) {
  (void)context;
  size_t threads = ctest_thread_count();
  CHECK(ctest_forbid_threads(true));
  for (int i = 0; i < 3; i++) {
    CHECK_EQUAL(start_it(), EAGAIN);
    CHECK_EQUAL(create_pool(), EAGAIN);
  }
  CHECK_EQUAL(ctest_thread_count(), threads);
  CHECK(ctest_forbid_threads(false));
  CHECK_EQUAL(start_it(), 0); // a later attempt may succeed
  CHECK_EQUAL(create_pool(), 0);
  destroy_pool();
  end_it();
}

static void memory_no_threads(void) { CHECK_CHILD(have_no_threads, NULL); }

TEST_UNLESS(NO_THREAD_IN_CHILD, no_thread,
            "without threads, each start function returns an error, and a later attempt succeeds") { // X4
  memory_no_threads();
}

// A pool's only worker waits for the job behind its own, and the system has no other thread, for a while.
typedef struct waiting {
  csched_pool *pool;
  probe first, second;
  bool says_nothing; // and uses no processor time
} waiting;

static void wait_for_second(probe *probe) {
  waiting *test = probe->context;
  while (atomic_load(&test->second.runs) == 0) nap(test->says_nothing ? 20 * MS : 500 * US);
}

// Returns: how long the pool took, in ns, when there were threads again.
static csched_time come_back(size_t workers, csched_time between, bool says_nothing) {
  waiting test = {.says_nothing = says_nothing};
  CHECK_EQUAL(csched_pool_create(&test.pool, &(csched_pool_options){.workers = workers}), 0);
  nap(20 * MS);
  probe_init(&test.first, wait_for_second, &test);
  probe_init(&test.second, NULL, NULL);
  CHECK(ctest_forbid_threads(true));
  CHECK_EQUAL(csched_target_submit(csched_pool_target(test.pool, CSCHED_PRIORITY_DEFAULT), job_of(&test.first)), 0);
  nap(between);
  CHECK_EQUAL(csched_target_submit(csched_pool_target(test.pool, CSCHED_PRIORITY_DEFAULT), job_of(&test.second)), 0);
  nap(50 * MS);
  CHECK_EQUAL(atomic_load(&test.second.runs), 0);
  csched_time start = csched_now();
  CHECK(ctest_forbid_threads(false));
  CHECK_SOON(atomic_load(&test.second.runs) == 1); // without another submission
  csched_time took = test.second.ran_at - start;
  csched_pool_destroy(test.pool);
  return took;
}

static void come_back_soon(void *context) {
  (void)context;
  for (int how = 0; how < 4; how++) {
    csched_time best = CSCHED_FOREVER;
    for (int i = 0; i < 3; i++) { // in the others it may have had no processor
      csched_time took = come_back(how < 3 ? 2 : 1, how % 2 == 1 ? 20 * MS : 0, how >= 2);
      if (took < best) best = took;
    }
    CHECK(best < 100 * MS);
  }
}

static void memory_pool_comes_back(void) { CHECK_CHILD(come_back_soon, NULL); }

TEST_UNLESS(NO_THREAD_IN_CHILD, no_thread, "a pool recovers when there are threads again") { // MN1
  memory_pool_comes_back();
}

// In a child, where no other thread allocates meanwhile. All slots of the pool together have more than 20 MB.
static void begin_large_pool(void *context) {
  (void)context;
  csched_pool *pool = NULL;
  int64_t before = ctest_resident_bytes();
  CHECK_EQUAL(csched_pool_create(&pool, &(csched_pool_options){.workers = 1, .most_threads = 16384}), 0);
  CHECK(ctest_resident_bytes() - before < 2 << 20);
  csched_pool_destroy(pool);
}

TEST_UNLESS(NO_THREAD_IN_CHILD | SANITIZERS, "tools need memory of their own",
            "a pool takes no memory for threads that it has not started") {
  CHECK_CHILD(begin_large_pool, NULL);
}

// MARK: leaks

static void leak(void *said) {
  dup2(((output *)said)->fd, STDERR_FILENO);
  ctest_leak_and_exit();
}

// Without AddressSanitizer there is no check: the process ends well, and reports no leak.
TEST_UNLESS(VALGRIND, "it finds the leak, too",
            "under AddressSanitizer a leak is found at the end of the process, otherwise none is looked for") {
  output said = output_open();
  bool is_looked_for = ctest_sanitizer() == CTEST_ADDRESS_SANITIZER;
  child_check_(HERE, leak, &said, is_looked_for ? 23 : 0, NULL);
  const char *text = output_read(&said);
  CHECK((strstr(text, "leaks: found by each of the looks") != NULL) == is_looked_for);
  CHECK((strstr(text, "4711 byte(s) in 1 object(s)") != NULL) == is_looked_for);
  CHECK((strstr(text, "leaks:") != NULL) == is_looked_for);
  output_close(&said);
}
