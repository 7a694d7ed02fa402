#include "fork_kernel.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

// What creates must fail with an error, and leave nothing behind, whichever allocation fails. How one fails is the caller's.

static ctest_fail_allocation_at *fail_at;
static ctest_count_left *count_left;

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

static void hear_nothing(csched_signal_source *source, uint32_t count) { (void)source, (void)count; }
static csched_signal_source signal_source;
static int add_signal(void) {
  csched_signal_source_init(&signal_source, SIGUSR2, hear_nothing, NULL);
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
    int64_t left = count_left();
    fail_at(number);
    int error = create();
    bool was_enough = fail_at(0); // it did not come so far
    if (was_enough) {
      if (error != 0) kernel_fail(HERE, what);
      destroy();
      return number - 1;
    }
    if (error != ENOMEM && error != EAGAIN) kernel_check_equal(HERE, what, error, ENOMEM);
    kernel_check_equal(HERE, what, count_left(), left);
  }
  return 0;
}

// On a loop of its own, which has not met a descriptor before.
static void check_source(const char *what, int (*add)(void), void (*remove)(void)) {
  CHECK_EQUAL(create_loop(), 0);
  if (check_creation(what, add, remove) < 1) kernel_fail(HERE, what);
  destroy_loop();
}

ctest_failure ctest_memory_creations(ctest_fail_allocation_at *fail, ctest_count_left *left) {
  KERNEL();
  fail_at = fail;
  count_left = left;
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
  check_source("child", add_child, remove_child);
  check_source("file", add_file, remove_file);
  close(ends[0]);
  close(ends[1]);
  return kernel_result();
}

// MARK: no threads

static struct rlimit before;

bool ctest_forbid_threads(bool forbids) {
  static bool is_user;
  if (!is_user) is_user = getuid() != 0 || (setgid(65534) == 0 && setuid(65534) == 0); // root is not limited
  if (!is_user || (forbids && getrlimit(RLIMIT_NPROC, &before) != 0)) return false;
  struct rlimit limit = {forbids ? 0 : before.rlim_cur, before.rlim_max};
  return setrlimit(RLIMIT_NPROC, &limit) == 0;
}

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

ctest_failure ctest_memory_no_threads(void) {
  KERNEL();
  CHECK_CHILD(have_no_threads, NULL);
  return kernel_result();
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
  CHECK_SOON(atomic_load(&test.second.runs) == 1); // though nobody submits any more
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

ctest_failure ctest_memory_pool_comes_back(void) {
  KERNEL();
  CHECK_CHILD(come_back_soon, NULL);
  return kernel_result();
}
