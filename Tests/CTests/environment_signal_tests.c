#include "fork_testing.h"
#include "pool_testing.h"
#include "trace_testing.h"

#include <CScheduler/dump.h>
#include <CScheduler/statistics.h>
#include <CScheduler/trace.h>
#include <CScheduler/watch.h>

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

// Most tests here have children of their own.
enum { NO_CHILD = THREAD_SANITIZER | MEMORY_SANITIZER | VALGRIND | QEMU };
#define NO_CHILD_WHY                                                                                                   \
  "tools do not follow a process with threads into its child, and under qemu that child cannot start a thread"

// MARK: functions that a signal handler may call

enum { FROM_HANDLER = 400, NEW = FROM_HANDLER / 2 };
typedef struct handled {
  csched_loop *loop, *new[NEW]; // `new`: each gets its first job from a handler
  csched_thread *thread;
  probe probes[FROM_HANDLER];
  int signals;
  atomic_int next, submitted;
} handled;
static handled *handled_here;

static void submit_in_handler(int number) {
  (void)number;
  handled *all = handled_here;
  int i = atomic_fetch_add(&all->next, 1);
  if (i >= all->signals) return;
  int saved = errno;
  errno = 4711;
  csched_target *target = i % 2 != 0   ? csched_loop_target(all->new[i / 2])
                          : i % 4 != 0 ? csched_thread_target(all->thread)
                                       : csched_loop_target(all->loop);
  int error = csched_target_submit(target, job_of(&all->probes[i]));
  CHECK(error == 0 && errno == 4711);
  errno = saved;
  atomic_fetch_add(&all->submitted, 1);
}

static pthread_t bothered[2];

static void bother(int index, void *context) {
  (void)index;
  handled *all = context;
  while (atomic_load(&all->next) < all->signals) {
    for (int i = 0; i < 2; i++) pthread_kill(bothered[i], SIGUSR1);
    nap(30 * US);
  }
}

static void learn_thread(probe *probe) {
  bothered[1] = pthread_self();
  atomic_store((atomic_int *)probe->context, 1);
}

// The parent process may have blocked the signal.
static void unblock(int number, sigset_t *before) {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, number);
  pthread_sigmask(SIG_UNBLOCK, &one, before);
}

// The handlers interrupt the loop's thread, which submits to both as well, and the other one.
static void env_submits_in_handler(bool on_poller, int signals) {
  static handled all;
  memset(&all, 0, sizeof all);
  CHECK(signals <= FROM_HANDLER);
  all.signals = signals;
  handled_here = &all;
  struct sigaction action = {.sa_handler = submit_in_handler, .sa_flags = SA_RESTART}, before;
  sigset_t mask;
  sigaction(SIGUSR1, &action, &before);
  unblock(SIGUSR1, &mask);
  all.thread = start_thread("handled");
  CHECK_EQUAL(csched_loop_create(&all.loop), 0);
  if (on_poller) CHECK(fd_of(all.loop) >= 0);
  for (int i = 0; i < signals / 2; i++) CHECK_EQUAL(csched_loop_create(&all.new[i]), 0);
  for (int i = 0; i < signals; i++) probe_init(&all.probes[i], NULL, NULL);
  atomic_int is_known = 0;
  probe learning, mine, theirs;
  probe_init(&learning, learn_thread, &is_known);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(all.thread), job_of(&learning)), 0);
  CHECK_SOON(atomic_load(&is_known) == 1 && atomic_load(&learning.releases) == 1);
  bothered[0] = pthread_self();
  crew crew;
  crew_start(&crew, 1, bother, &all);
  while (atomic_load(&all.next) < signals) {
    probe_init(&mine, NULL, NULL);
    probe_init(&theirs, NULL, NULL);
    CHECK_EQUAL(csched_target_submit(csched_loop_target(all.loop), job_of(&mine)), 0);
    CHECK_EQUAL(csched_target_submit(csched_thread_target(all.thread), job_of(&theirs)), 0);
    csched_loop_run_until(all.loop, csched_now() + 50 * US);
    while (atomic_load(&mine.releases) == 0) csched_loop_run_once(all.loop, csched_now() + MS);
    while (atomic_load(&theirs.releases) == 0) nap(10 * US);
    csched_loop *other; // an observer meets a new target, and one that is gone
    CHECK_EQUAL(csched_loop_create(&other), 0);
    probe_init(&mine, NULL, NULL);
    CHECK_EQUAL(csched_target_submit(csched_loop_target(other), job_of(&mine)), 0);
    CHECK_EQUAL(csched_loop_run_ready(other, SIZE_MAX), 1);
    csched_loop_destroy(other);
  }
  crew_join(&crew);
  WAIT_WHILE(atomic_load(&all.submitted) < signals); // a handler may be held up
  probe_init(&mine, NULL, NULL);                     // behind all that they have submitted
  CHECK_EQUAL(csched_target_submit(csched_loop_target(all.loop), job_of(&mine)), 0);
  while (atomic_load(&mine.releases) == 0) csched_loop_run_once(all.loop, csched_now() + MS);
  wait_until_run(all.thread);
  for (int i = 0; i < signals / 2; i++) {
    CHECK_EQUAL(csched_loop_run_ready(all.new[i], SIZE_MAX), 1);
    csched_loop_destroy(all.new[i]);
  }
  for (int i = 0; i < signals; i++) CHECK_PROBE(&all.probes[i], 1, 0);
  pthread_sigmask(SIG_SETMASK, &mask, NULL);
  sigaction(SIGUSR1, &before, NULL);
  csched_loop_destroy(all.loop);
  stop_and_join(all.thread, CSCHED_STOP_RUN);
}

TEST("a signal handler may submit to loops and threads") {
  env_submits_in_handler(false, few(FROM_HANDLER));
  env_submits_in_handler(true, few(FROM_HANDLER));
}

static void ignore_report(void *unused, const csched_watch_report *report) { (void)unused, (void)report; }

TEST("so it may while all observers are on") { // OB2, RE2
  trace_path path = make_path();
  CHECK_EQUAL(csched_statistics_begin(), 0);
  CHECK_EQUAL(csched_events_begin(), 0);
  CHECK_EQUAL(csched_trace_begin(path.file), 0);
  CHECK_EQUAL(csched_watch_begin(5000 * MS, ignore_report, NULL), 0);
  env_submits_in_handler(false, few(FROM_HANDLER));
  env_submits_in_handler(true, few(FROM_HANDLER));
  csched_watch_end();
  CHECK_EQUAL(csched_trace_end(), 0);
  csched_events_end();
  csched_statistics_end();
  remove_path(&path);
}

static csched_lock in_use;

static void lock_in_handler(int number) {
  (void)number;
  csched_lock_lock(&in_use);
}

static void interrupt_owner(void *unused) {
  (void)unused;
  sigset_t before;
  unblock(SIGUSR1, &before);
  signal(SIGUSR1, lock_in_handler);
  csched_lock_lock(&in_use);
  raise(SIGUSR1);
}

static void env_locks_in_handler(void) {
  CHECK_CHILD_STOPS(interrupt_owner, NULL, "A signal handler may take no lock");
}

TEST_UNLESS(NO_CHILD, NO_CHILD_WHY, "a lock in a signal handler that has interrupted its owner stops with advice") {
  env_locks_in_handler();
}

// MARK: the signals that the library's threads take

// The mask of blocked signals of the one thread that bears `name`; 0: there is none.
static uint64_t mask_of(const char *name) {
  unsigned long long mask = 0;
  for (int i = 0; i < 100 && ctest_threads_named(name) != 1; i++) nap(MS);
  ctest_thread_mask(name, &mask);
  return mask;
}

static uint64_t bit(int number) { return (uint64_t)1 << (number - 1); }

static void check_masks(void *unused) {
  (void)unused;
  sigset_t one, before;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  pthread_sigmask(SIG_SETMASK, &one, &before);
  csched_thread *thread = start_thread("masked");
  csched_pool *pool = make_pool(&(csched_pool_options){.name = "masks", .workers = 1});
  probe later, wall;
  probe_init(&later, NULL, NULL);
  probe_init(&wall, NULL, NULL);
  CHECK_EQUAL(csched_target_submit_at(csched_pool_target(pool, CSCHED_PRIORITY_LOW), &later.timer,
                                      csched_now() + 60000 * MS, 0),
              0);
  csched_target *target = csched_loop_target(csched_thread_loop(thread));
  CHECK_EQUAL(csched_target_submit_at_clock(target, CSCHED_CLOCK_BOOT, &wall.timer, CSCHED_FOREVER, 0), 0);
  CHECK_EQUAL(mask_of("masked") & ~bit(SIGRTMIN - 1) & ~bit(SIGRTMIN - 2), bit(SIGUSR1));
  CHECK_EQUAL(mask_of("masks-1") & ~bit(SIGRTMIN - 1) & ~bit(SIGRTMIN - 2), bit(SIGUSR1));
  static const int asynchronous[] = {SIGUSR1, SIGUSR2, SIGALRM, SIGCHLD, SIGTERM, SIGINT, SIGPROF, SIGIO, SIGWINCH};
  static const int of_faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
  static const char *const internal[] = {"masks-0", "csched-clock"};
  for (size_t i = 0; i < 2; i++) {
    uint64_t mask = mask_of(internal[i]);
    for (size_t s = 0; s < sizeof asynchronous / sizeof asynchronous[0]; s++) CHECK(mask & bit(asynchronous[s]));
    for (size_t s = 0; s < sizeof of_faults / sizeof of_faults[0]; s++) CHECK(!(mask & bit(of_faults[s])));
  }
  pthread_sigmask(SIG_SETMASK, NULL, &one);
  CHECK(sigismember(&one, SIGUSR1) && !sigismember(&one, SIGUSR2)); // the starter has its own again
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  csched_timer_cancel(&wall.timer);
  csched_timer_cancel(&later.timer);
  end_pool(pool, CSCHED_STOP_DROP);
  stop_and_join(thread, CSCHED_STOP_DROP);
}

static void env_signal_masks(void) { CHECK_CHILD(check_masks, NULL); }

TEST_UNLESS(NO_CHILD, NO_CHILD_WHY,
            "threads that keep time block signals, those with jobs have the main thread's mask") {
  env_signal_masks();
}

// MARK: nice values when root is given up

typedef struct dropping {
  csched_pool *pool;
  bool in_job, keeps_time;
  int monitor;
} dropping;

static void note_nice(probe *probe) { probe->id = getpriority(PRIO_PROCESS, ctest_thread_id()); }

// A thread that a job starts does not inherit the job's nice value.
static void note_nice_beside(probe *probe) {
  csched_thread *thread = start_thread("beside");
  struct probe beside;
  probe_init(&beside, note_nice, NULL);
  csched_target_submit(csched_thread_target(thread), job_of(&beside));
  stop_and_join(thread, CSCHED_STOP_RUN);
  probe->id = beside.id;
}

static int nice_of(csched_pool *pool, csched_priority priority, void (*note)(probe *)) {
  probe probe;
  probe_init(&probe, note, NULL);
  post(pool, priority, &probe);
  CHECK_SOON(atomic_load(&probe.releases) == 1);
  CHECK_RESTS(probe.thread);
  return probe.id;
}

static int nice_at(csched_pool *pool, csched_priority priority) { return nice_of(pool, priority, note_nice); }

static void give_up_root(probe *probe) {
  dropping *test = probe->context;
  static struct probe later;
  if (test->keeps_time) {
    probe_init(&later, NULL, NULL);
    CHECK_EQUAL(csched_target_submit_at(csched_pool_target(test->pool, CSCHED_PRIORITY_HIGH), &later.timer,
                                        csched_now() + 60000 * MS, 0),
                0);
    CHECK_SOON(ctest_threads_named("drops-0") == 1);
    test->monitor = ctest_nice_of_thread("drops-0");
  }
  if (setuid(65534) != 0) abort();
}

static void drop_root(void *context) {
  dropping *test = context;
  int base = getpriority(PRIO_PROCESS, 0), most = base < 9 ? base + 10 : 19;
  test->pool = make_pool(&(csched_pool_options){.name = "drops", .workers = 1, .most_threads = 1});
  CHECK_EQUAL(csched_pool_has_nice(test->pool), base < 19);
  CHECK_EQUAL(nice_at(test->pool, CSCHED_PRIORITY_HIGH), base);
  CHECK_EQUAL(nice_at(test->pool, CSCHED_PRIORITY_LOW), base < 14 ? base + 5 : 19);
  CHECK_EQUAL(nice_at(test->pool, CSCHED_PRIORITY_BACKGROUND), most);
  CHECK_EQUAL(nice_of(test->pool, CSCHED_PRIORITY_BACKGROUND, note_nice_beside), base);
  CHECK_EQUAL(nice_at(test->pool, CSCHED_PRIORITY_DEFAULT), base);
  probe gives;
  probe_init(&gives, give_up_root, test);
  if (test->in_job) post(test->pool, CSCHED_PRIORITY_BACKGROUND, &gives);
  else give_up_root(&gives);
  if (test->in_job) CHECK_SOON(atomic_load(&gives.releases) == 1);
  if (test->in_job) CHECK_RESTS(gives.thread);
  for (int i = 0; i < 4; i++) {
    CHECK_EQUAL(nice_at(test->pool, CSCHED_PRIORITY_HIGH), base);
    CHECK_EQUAL(nice_at(test->pool, CSCHED_PRIORITY_BACKGROUND), base);
  }
  CHECK(!csched_pool_has_nice(test->pool));
  CHECK_EQUAL(csched_pool_thread_count(test->pool), 1);
  if (test->keeps_time) CHECK_EQUAL(test->monitor, base);
  end_pool(test->pool, CSCHED_STOP_RUN);
}

// Linux limits nice values to 19.
static void start_beside_at_twelve(void *unused) {
  (void)unused;
  if (setpriority(PRIO_PROCESS, 0, 12) != 0) abort(); // the thread; its cached number is the parent's
  csched_pool *pool = make_pool(&(csched_pool_options){.name = "drops", .workers = 1, .most_threads = 1});
  CHECK_EQUAL(nice_of(pool, CSCHED_PRIORITY_BACKGROUND, note_nice_beside), 12);
  end_pool(pool, CSCHED_STOP_RUN);
}

static void env_root_given_up(void) {
  dropping tests[] = {{.in_job = false}, {.in_job = true}, {.in_job = true, .keeps_time = true}};
  if (geteuid() != 0) fprintf(stderr, "skipped: giving up root, which this process is not\n");
  for (size_t i = 0; i < sizeof tests / sizeof tests[0] && geteuid() == 0; i++) CHECK_CHILD(drop_root, &tests[i]);
  if (geteuid() == 0) CHECK_CHILD(start_beside_at_twelve, NULL);
}

TEST_UNLESS(NO_CHILD, NO_CHILD_WHY, "a pool made as root keeps its nice values when root is given up") { // WK5
  env_root_given_up();
}
