#include "fork_testing.h"

#include <signal.h>

// MARK: start

static void thread_ready(int rounds) {
  for (int i = 0; i < rounds; i++) {
    csched_thread *thread = start_thread("ready-at-once");
    CHECK_SOON(ctest_threads_named("ready-at-once") == 1); // the one before may be listed a moment longer
    CHECK(!csched_thread_is_current(thread));
    probe probe;
    probe_init(&probe, NULL, NULL);
    CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&probe)), 0);
    wait_until_run(thread);
    CHECK_PROBE(&probe, 1, 0);
    CHECK(probe.thread != ctest_thread_id());
    stop_and_join(thread, CSCHED_STOP_RUN);
  }
  csched_thread *plain = NULL;
  CHECK_EQUAL(csched_thread_start(&plain, NULL), 0); // no options at all
  stop_and_join(plain, CSCHED_STOP_DROP);
}

// TH1
TEST("start returns a thread that is ready") { thread_ready(times(50)); }

static void read_name(probe *probe) { pthread_getname_np(pthread_self(), probe->context, 16); }

static void thread_named(const char *name, const char *shown) {
  char found[16] = "", inherited[16] = "";
  pthread_getname_np(pthread_self(), inherited, sizeof inherited);
  csched_thread *thread = start_thread(name);
  probe probe;
  probe_init(&probe, read_name, found);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&probe)), 0);
  stop_and_join(thread, CSCHED_STOP_RUN);
  if (strcmp(found, shown != NULL ? shown : inherited) != 0) test_fail(HERE, found);
}

TEST("a thread's name is cut at 15 bytes, never inside a character") {
  static char long_name[4097];
  memset(long_name, 'x', sizeof long_name - 1);
  thread_named("", NULL);
  thread_named("short", "short");
  thread_named("exactly-fifteen", "exactly-fifteen");
  thread_named("sixteen-bytes-xx", "sixteen-bytes-x");
  thread_named("fourteen-bytesé", "fourteen-bytes");
  thread_named("thirteen-byteé", "thirteen-byteé");
  thread_named("twelve-bytes👻", "twelve-bytes");
  thread_named("fourteen-bytes👻", "fourteen-bytes");
  thread_named(long_name, "xxxxxxxxxxxxxxx");
}

static void thread_absurd_stacks(void) {
  csched_thread *const untouched = (csched_thread *)(uintptr_t)16;
  const size_t huge[] = {SIZE_MAX, SIZE_MAX - 4096, SIZE_MAX / 2};
  for (int i = 0; i < 3; i++) {
    csched_thread *thread = untouched;
    csched_thread_options options = {.name = "absurd", .stack_size = huge[i]};
    int error = csched_thread_start(&thread, &options);
    CHECK(error == EAGAIN || error == ENOMEM);
    CHECK(thread == untouched);
  }
  CHECK_EQUAL(ctest_threads_named("absurd"), 0);
  const size_t odd[] = {1, 16385, 1000001};
  for (int i = 0; i < 3; i++) {
    csched_thread *thread = NULL;
    csched_thread_options options = {.stack_size = odd[i]};
    CHECK_EQUAL(csched_thread_start(&thread, &options), 0);
    if (thread == NULL) continue;
    probe probe;
    probe_init(&probe, NULL, NULL);
    CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&probe)), 0);
    stop_and_join(thread, CSCHED_STOP_RUN);
    CHECK_PROBE(&probe, 1, 0);
  }
}

TEST_UNLESS(SANITIZERS | HELGRIND, "they stop at such a size, or at a thread that cannot be made",
            "a stack size beyond all memory is an error, and leaves nothing behind") {
  thread_absurd_stacks();
}

// MARK: stop

static void stop_itself(probe *probe) {
  csched_thread_stop(probe->context, CSCHED_STOP_RUN);
  csched_thread_stop(probe->context, CSCHED_STOP_RUN);
}

static void thread_ends(void) {
  csched_thread *outside = start_thread("ends"), *inside = start_thread("ends");
  probe stopper, after, refused;
  csched_thread_stop(outside, CSCHED_STOP_DROP);
  csched_thread_stop(outside, CSCHED_STOP_RUN);
  CHECK_EQUAL(csched_thread_join(outside), 0);
  gate gate;
  gate_close(&gate, inside);
  probe_init(&stopper, stop_itself, inside);
  probe_init(&after, NULL, NULL);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(inside), job_of(&stopper)), 0);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(inside), job_of(&after)), 0);
  gate_open(&gate);
  CHECK_EQUAL(csched_thread_join(inside), 0);
  CHECK_PROBE(&stopper, 1, 0);
  CHECK_PROBE(&after, 1, 0); // it was outstanding
  probe_init(&refused, NULL, NULL);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(inside), job_of(&refused)), ECANCELED); // after the end
  CHECK_PROBE(&refused, 0, 1);
  csched_thread_destroy(outside);
  csched_thread_destroy(inside);
  CHECK_SOON(ctest_threads_named("ends") == 0);
}

// TH3
TEST("a thread ends by stop from outside, from inside, twice") { thread_ends(); }

static void stop_with_others(int index, void *context) {
  csched_thread_stop(context, index % 2 == 0 ? CSCHED_STOP_RUN : CSCHED_STOP_DROP);
  CHECK_EQUAL(csched_thread_join(context), 0);
}

static void thread_stop_races(int stoppers, int rounds) {
  for (int i = 0; i < rounds; i++) {
    csched_thread *thread = start_thread("raced");
    probe probe;
    probe_init(&probe, NULL, NULL);
    CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&probe)), 0);
    crew_run(stoppers, stop_with_others, thread);
    csched_thread_destroy(thread);
    int drops = atomic_load(&probe.drops);
    CHECK_PROBE(&probe, 1 - drops, drops);
  }
}

TEST("several may stop and join at once") { thread_stop_races(4, times(300)); }

static void stop_the_loop(probe *probe) { csched_loop_end_run(csched_thread_loop(probe->context)); }

static void thread_loop_stop_ends_nothing(void) {
  csched_thread *thread = start_thread("steady");
  probe stopper, after;
  probe_init(&stopper, stop_the_loop, thread);
  probe_init(&after, NULL, NULL);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&stopper)), 0);
  wait_until_run(thread);
  csched_loop_end_run(csched_thread_loop(thread));
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&after)), 0);
  wait_until_run(thread);
  CHECK_PROBE(&after, 1, 0);
  stop_and_join(thread, CSCHED_STOP_RUN);
}

TEST("a loop's stop does not end its thread") { thread_loop_stop_ends_nothing(); }

// MARK: start, stop, join

static void thread_restarts(int rounds) {
  for (int i = 0; i < rounds; i++) stop_and_join(start_thread("restarted"), i % 2 ? CSCHED_STOP_RUN : CSCHED_STOP_DROP);
  CHECK_SOON(ctest_threads_named("restarted") == 0);
}

static void thread_destroyed_unjoined(int rounds) {
  probe *probes = calloc((size_t)rounds, sizeof *probes);
  for (int i = 0; i < rounds; i++) {
    csched_thread *thread = start_thread("unjoined");
    probe_init(&probes[i], NULL, NULL);
    CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&probes[i])), 0);
    csched_thread_destroy(thread); // does not wait; outstanding jobs are run
  }
  for (int i = 0; i < rounds; i++) {
    CHECK_SOON(atomic_load(&probes[i].releases) == 1);
    CHECK_PROBE(&probes[i], 1, 0);
  }
  CHECK_SOON(ctest_threads_named("unjoined") == 0);
  free(probes);
}

TEST("a thousand starts leave no thread behind") {
  thread_restarts(times(1000));
  thread_destroyed_unjoined(times(300));
}

static void join_it(int index, void *context) {
  (void)index;
  CHECK(!csched_thread_is_current(context));
  CHECK_EQUAL(csched_thread_join(context), 0);
}

static void thread_joined_by_many(int joiners) {
  csched_thread *thread = start_thread("joined");
  crew crew;
  crew_start(&crew, joiners, join_it, thread);
  nap(2 * MS);
  csched_thread_stop(thread, CSCHED_STOP_RUN);
  crew_join(&crew);
  CHECK_EQUAL(csched_thread_join(thread), 0); // and again
  csched_thread_destroy(thread);
}

static void thread_joined_again(int joiners) {
  csched_thread *thread = start_thread("joined");
  csched_thread_stop(thread, CSCHED_STOP_RUN);
  CHECK_EQUAL(csched_thread_join(thread), 0);
  crew_run(joiners, join_it, thread); // new threads, one of which reuses the memory of the ended thread
  csched_thread_destroy(thread);
}

TEST("join may be called by several threads") { // TH4
  thread_joined_by_many(8);
  thread_joined_again(8);
}

static void join_itself(probe *probe) { CHECK_EQUAL(csched_thread_join(probe->context), EDEADLK); }

static void thread_join_itself(void) {
  csched_thread *thread = start_thread("lonely");
  probe probe;
  probe_init(&probe, join_itself, thread);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&probe)), 0);
  stop_and_join(thread, CSCHED_STOP_RUN);
  CHECK_PROBE(&probe, 1, 0);
}

TEST("a join on itself is refused") { thread_join_itself(); }

static void destroy_itself(probe *probe) { csched_thread_destroy(probe->context); }

static void thread_destroys_itself(int rounds) {
  for (int i = 0; i < rounds; i++) {
    csched_thread *thread = start_thread("suicidal");
    probe destroyer, after;
    gate gate;
    gate_close(&gate, thread);
    probe_init(&destroyer, destroy_itself, thread);
    probe_init(&after, NULL, NULL);
    CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&destroyer)), 0);
    CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&after)), 0);
    gate_open(&gate);
    CHECK_SOON(atomic_load(&after.releases) == 1);
    CHECK_PROBE(&destroyer, 1, 0);
    CHECK_PROBE(&after, 1, 0);
  }
  CHECK_SOON(ctest_threads_named("suicidal") == 0);
}

// TH2, TH4
TEST("a thread that destroys itself frees itself") { thread_destroys_itself(times(100)); }

static void exit_thread(probe *probe) {
  (void)probe;
  pthread_exit(NULL);
}

static void thread_exits_inside(void) {
  csched_thread *thread = start_thread("exits");
  static probe exiting, queued, later, refused; // outlive a thread that ends in the middle
  gate gate;
  gate_close(&gate, thread);
  probe_init(&exiting, exit_thread, NULL);
  probe_init(&queued, NULL, NULL);
  probe_init(&later, NULL, NULL);
  probe_init(&refused, NULL, NULL);
  CHECK_EQUAL(csched_target_submit_at(csched_thread_target(thread), &later.timer, csched_now() + 60000 * MS, 0), 0);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&exiting)), 0);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&queued)), 0);
  gate_open(&gate);
  CHECK_EQUAL(csched_thread_join(thread), 0);
  CHECK_PROBE(&queued, 0, 1); // no thread can run it
  CHECK_PROBE(&later, 0, 1);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&refused)), ECANCELED);
  CHECK_PROBE(&refused, 0, 1);
  csched_thread_destroy(thread);
  CHECK_SOON(ctest_threads_named("exits") == 0);
}

// TH3
TEST("pthread_exit inside a job ends the thread cleanly") { thread_exits_inside(); }

// MARK: signals

static void ignore(int number) { (void)number; }

static void store_thread(probe *probe) { *(pthread_t *)probe->context = pthread_self(); }

static void thread_interrupted(int signals) {
  struct sigaction action = {.sa_handler = ignore}, before; // without SA_RESTART
  sigaction(SIGUSR2, &action, &before);
  csched_thread *thread = start_thread("interrupted");
  pthread_t interrupted;
  probe first, later;
  probe_init(&first, store_thread, &interrupted);
  probe_init(&later, NULL, NULL);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&first)), 0);
  wait_until_run(thread);
  CHECK_EQUAL(csched_target_submit_at(csched_thread_target(thread), &later.timer, csched_now() + 30 * MS, 0), 0);
  for (int i = 0; i < signals; i++) {
    pthread_kill(interrupted, SIGUSR2);
    nap(10 * US);
  }
  CHECK_SOON(atomic_load(&later.releases) == 1);
  CHECK(later.ran_at >= later.timer.deadline);
  wait_until_run(thread); // the thread still runs jobs
  stop_and_join(thread, CSCHED_STOP_RUN);
  sigaction(SIGUSR2, &before, NULL);
}

TEST("signals do not end a loop's sleep") { thread_interrupted(times(1000)); }

// MARK: processors and priorities

static void refuse_start(const csched_thread_options *options, int error, int or_error) {
  csched_thread *const untouched = (csched_thread *)(uintptr_t)16;
  csched_thread *thread = untouched;
  int found = csched_thread_start(&thread, options);
  if (found != error && found != or_error) CHECK_EQUAL(found, error);
  CHECK(thread == untouched);
}

static void set_called(void *context) { *(int *)context = 1; }

#if defined(__linux__)
#include <sys/resource.h>
#include <unistd.h>

typedef struct seen_on_thread {
  cpu_set_t processors;
  int nice;
} seen_on_thread;

static void look_at_thread(probe *probe) {
  seen_on_thread *seen = probe->context;
  sched_getaffinity(0, sizeof seen->processors, &seen->processors);
  seen->nice = getpriority(PRIO_PROCESS, 0);
}

static void keep_to_one(void) {
  cpu_set_t mine;
  CHECK_EQUAL(sched_getaffinity(0, sizeof mine, &mine), 0);
  unsigned last = CPU_SETSIZE - 1;
  while (!CPU_ISSET(last, &mine)) last--;
  int nice = getpriority(PRIO_PROCESS, 0), expected = nice < 19 ? nice + 1 : 19;
  seen_on_thread seen = {.nice = -100};
  csched_thread *thread = NULL;
  CHECK_EQUAL(csched_thread_start(&thread, &(csched_thread_options){.processors = &last,
                                                                    .processor_count = 1,
                                                                    .policy = CSCHED_POLICY_NICE,
                                                                    .priority = expected}),
              0);
  if (thread == NULL) return;
  probe probe;
  probe_init(&probe, look_at_thread, &seen);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&probe)), 0);
  stop_and_join(thread, CSCHED_STOP_RUN);
  CHECK(CPU_COUNT(&seen.processors) == 1 && CPU_ISSET(last, &seen.processors));
  CHECK_EQUAL(seen.nice, expected);
  CHECK_EQUAL(getpriority(PRIO_PROCESS, 0), nice);
}

static void have_no_permission(void *context) {
  (void)context;
  if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) abort();
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_RTPRIO, &none);
  setrlimit(RLIMIT_NICE, &none);
  size_t threads = ctest_thread_count();
  refuse_start(&(csched_thread_options){.policy = CSCHED_POLICY_FIFO, .priority = 1}, EPERM, EPERM);
  refuse_start(&(csched_thread_options){.policy = CSCHED_POLICY_ROUND_ROBIN, .priority = 1}, EPERM, EPERM);
  refuse_start(&(csched_thread_options){.policy = CSCHED_POLICY_NICE, .priority = -20}, EACCES, EPERM);
  CHECK_SOON(ctest_thread_count() <= threads); // a joined thread may be listed for a moment
}
#endif

static void thread_policies(void) {
  int is_called = 0;
  csched_thread_options options = {.name = "refused", .at_end = set_called, .context = &is_called};
  const unsigned absurd[] = {0, UINT32_MAX}, missing = 1023;
  options.processors = absurd;
  options.processor_count = 2;
  refuse_start(&options, EINVAL, ENOTSUP);
  options.processors = &missing;
  options.processor_count = 1;
  refuse_start(&options, EINVAL, ENOTSUP);
  options.processor_count = 0;
  static const struct {
    int policy, priority;
  } wrong[] = {{77, 1},
               {CSCHED_POLICY_NICE, 20},
               {CSCHED_POLICY_NICE, -21},
               {CSCHED_POLICY_FIFO, 0},
               {CSCHED_POLICY_FIFO, 1000}};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    options.policy = (csched_thread_policy)wrong[i].policy;
    options.priority = wrong[i].priority;
    refuse_start(&options, EINVAL, ENOTSUP);
  }
  CHECK_EQUAL(is_called, 0);
  CHECK_SOON(ctest_threads_named("refused") == 0);
#if defined(__linux__)
  keep_to_one();
  CHECK_CHILD(have_no_permission, NULL);
#endif
}

TEST_UNLESS(THREAD_SANITIZER | MEMORY_SANITIZER | VALGRIND, "tools do not follow a process with threads into its child",
            "a thread keeps to its processors and its priority, or is refused") { // TH1
  thread_policies();
}
