#include "fork_testing.h"
#include "pool_testing.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../Sources/CScheduler/platform/platform.h"

// Events from outside of the process, most of them in a child of its own.
enum { NO_CHILD = THREAD_SANITIZER | MEMORY_SANITIZER | VALGRIND | QEMU };
#define NO_CHILD_WHY                                                                                                   \
  "tools do not follow a process with threads into its child, and under qemu that child cannot start a thread"

// MARK: a lock whose owner has ended

static csched_lock kept;

static void *keep(void *milliseconds) {
  csched_lock_lock(&kept);
  nap((csched_time)(intptr_t)milliseconds * MS);
  return NULL;
}

static void wait_for_kept(void *milliseconds) {
  pthread_t owner;
  if (pthread_create(&owner, NULL, keep, milliseconds) != 0) abort();
  WAIT_WHILE(csched_load_relaxed(&kept.owner) == 0);
  CHECK(csched_lock_lock_until(&kept, csched_now() + 10000 * MS)); // nor does it come to that
}

static void *lock_kept(void *unused) {
  csched_lock_lock(&kept);
  return unused;
}

static void end_first_thread(void *unused) {
  pthread_t waiter;
  csched_lock_lock(&kept);
  if (pthread_create(&waiter, NULL, lock_kept, unused) != 0) abort();
  syscall(SYS_exit, 0); // the thread alone
}

static void env_owner_ended(void) {
  static const char *const says = "has ended without unlocking it";
  CHECK_CHILD_STOPS(wait_for_kept, NULL, says);
  CHECK_CHILD_STOPS(wait_for_kept, (void *)1200, says); // after the first check of the owner
  CHECK_CHILD_STOPS(end_first_thread, NULL, says);
}

// LK10
TEST_UNLESS(NO_CHILD, NO_CHILD_WHY, "a lock whose owner has ended stops its waiters") { env_owner_ended(); }

// Two checks find the owner alive.
static void env_owner_is_slow(void) {
  csched_lock_lock(&kept);
  pthread_t waiter;
  if (pthread_create(&waiter, NULL, lock_kept, NULL) != 0) abort();
  nap(2200 * MS);
  csched_lock_unlock(&kept);
  pthread_join(waiter, NULL);
  CHECK_EQUAL(kept.owner != 0, 1);
  kept = (csched_lock)CSCHED_LOCK_INIT; // which has ended meanwhile
}

TEST("a lock whose owner takes seconds stops no thread") { env_owner_is_slow(); }

// MARK: processors

static cpu_set_t all_processors;

static void be_on(int processor) { // -1: on all
  cpu_set_t one = all_processors;
  for (int i = 0, seen = 0; processor >= 0 && i < CPU_SETSIZE; i++)
    if (CPU_ISSET(i, &all_processors) && seen++ != processor) CPU_CLR(i, &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) abort();
}

static void lock_on(int index, void *context) {
  (void)index;
  be_on(*(int *)context);
  for (int i = 0; i < 200; i++) {
    csched_lock_lock(&kept);
    burn(10 * US);
    csched_lock_unlock(&kept);
  }
}

static void check_spinning(void *unused) {
  (void)unused;
  int first = 0, second = 1, all = -1;
  csched_processors_seen_ = 0; // as at the beginning of a process
  be_on(0);
  crew_run(2, lock_on, &first);
  CHECK(!csched_may_spin_());
  crew_run(2, lock_on, &second); // their first locks are on the other processor
  CHECK(csched_may_spin_());
  csched_processors_seen_ = 0;
  crew_run(2, lock_on, &first);
  CHECK(!csched_may_spin_());
  crew_run(1, lock_on, &all);
  CHECK(csched_may_spin_());
  crew_run(2, lock_on, &first);
  CHECK(csched_may_spin_());
}

static void env_processors(void) {
  if (sched_getaffinity(0, sizeof all_processors, &all_processors) != 0) abort();
  if (CPU_COUNT(&all_processors) > 1) CHECK_CHILD(check_spinning, NULL);
}

TEST_UNLESS(NO_CHILD, NO_CHILD_WHY, "a thread that is kept to one processor does not decide for all whether to spin") {
  env_processors();
}

// MARK: the least stack

static csched_lock busy;

static void lock_busy(probe *probe) {
  (void)probe;
  csched_lock_lock(&busy);
  csched_lock_unlock(&busy);
}
static void lock_twice(probe *probe) {
  (void)probe;
  csched_lock_lock(&busy);
  csched_lock_lock(&busy);
}
static void use_poller(probe *probe) {
  (void)probe;
  CHECK(fd_of(csched_loop_current()) >= 0);
}
static void use_pool(probe *probe) {
  (void)probe;
  csched_pool *pool = make_pool(NULL);
  csched_pool_destroy(pool);
}

static atomic_int reports;
static void note_report(void *context, const csched_watch_report *report) {
  (void)context, (void)report;
  atomic_fetch_add(&reports, 1);
}
// Uses much of the least stack until the job, which is too long by then, has been reported, with its stack.
static void be_sampled(probe *probe) {
  (void)probe;
  volatile char used[10000];
  for (size_t i = 0; i < sizeof used; i += 512) used[i] = 1;
  while (atomic_load(&reports) == 0) used[0]++;
}

static void use_least_stack(void *context) {
  void (*const bodies[])(struct probe *) = {NULL, lock_busy, use_poller, use_pool, be_sampled, lock_twice};
  csched_thread *thread = NULL;
  CHECK_EQUAL(csched_thread_start(&thread, &(csched_thread_options){.name = "small", .stack_size = 1}), 0);
  nap(5 * MS); // it goes idle
  probe mine, later;
  if (bodies[*(int *)context] == be_sampled) {
    int error = csched_watch_stacks(SIGPROF);
    CHECK(error == 0 || error == ENOTSUP); // ENOTSUP: the C library has no backtrace
    CHECK_EQUAL(csched_watch_begin(MS, note_report, NULL), 0);
  }
  probe_init(&mine, bodies[*(int *)context], NULL);
  probe_init(&later, NULL, NULL);
  csched_lock_lock(&busy);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&mine)), 0);
  CHECK_EQUAL(csched_target_submit_at(csched_thread_target(thread), &later.timer, csched_now() + 2 * MS, 0), 0);
  nap(5 * MS);
  csched_lock_unlock(&busy);
  CHECK_SOON(atomic_load(&later.releases) == 1);
  CHECK_PROBE(&mine, 1, 0);
  stop_and_join(thread, CSCHED_STOP_RUN);
  csched_pool *pool = make_pool(&(csched_pool_options){.workers = 2, .stack_size = 1});
  probe_init(&mine, lock_busy, NULL);
  post(pool, CSCHED_PRIORITY_LOW, &mine);
  CHECK_SOON(atomic_load(&mine.releases) == 1);
  end_pool(pool, CSCHED_STOP_RUN);
}

static void env_least_stack(void) {
  for (int kind = 0; kind < 5; kind++) CHECK_CHILD(use_least_stack, &kind);
  int relock = 5;
  CHECK_CHILD_STOPS(use_least_stack, &relock, "(small) itself");
}

TEST_UNLESS(NO_CHILD | ADDRESS_SANITIZER, NO_CHILD_WHY,
            "the least stack does for jobs, locks, timers, descriptors, samples and a message") {
  env_least_stack();
}

// MARK: descriptors that other code closes or replaces

enum { CLOSED, NULL_DEVICE, EVENT, TIMER, SET };
typedef struct stray {
  int which, by; // 0 the set, 1 the wake, 2 the alarm
} stray;

static int new_descriptor(int by) {
  switch (by) {
  case NULL_DEVICE: return open("/dev/null", O_RDWR);
  case EVENT: return eventfd(0, 0);
  case TIMER: return timerfd_create(CLOCK_MONOTONIC, 0);
  default: break;
  }
  int set = epoll_create1(0), event = eventfd(1, 0); // readable from the start
  struct epoll_event registered = {.events = EPOLLIN, .data.u64 = 7};
  return epoll_ctl(set, EPOLL_CTL_ADD, event, &registered) == 0 ? set : -1;
}

static void submit_late(int index, void *loop) {
  (void)index;
  static probe late;
  CHECK_RESTS((uint32_t)getpid()); // the child's first thread, which runs the loop
  probe_init(&late, NULL, NULL);
  csched_target_submit(csched_loop_target(loop), job_of(&late));
}

static void go_astray(void *context) {
  const stray *stray = context;
  csched_loop *loop;
  probe later;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  while (open("/dev/null", O_RDONLY) < 200) {} // so that its three have numbers in a row
  int fd = fd_of(loop) + stray->which, other = stray->by == CLOSED ? -1 : new_descriptor(stray->by);
  if (other < 0) close(fd);
  else dup2(other, fd);
  probe_init(&later, NULL, NULL);
  crew crew;
  if (stray->which == 2)
    CHECK_EQUAL(csched_target_submit_at(csched_loop_target(loop), &later.timer, csched_now() + 3600000 * MS, 0),
                0); // else no alarm is set
  else crew_start(&crew, 1, submit_late, loop);
  csched_loop_run_until(loop, CSCHED_FOREVER);
}

static void env_stray_descriptors(void) {
  for (int which = 0; which < 3; which++)
    for (int by = CLOSED; by <= SET; by++)
      CHECK_CHILD_STOPS(go_astray, (&(stray){which, by}), "csched_loop_run: the system refused");
}

TEST_UNLESS(NO_CHILD, NO_CHILD_WHY, "a loop whose descriptors are closed or replaced reports that") {
  env_stray_descriptors();
}

// MARK: a fork without descriptors to spare

static csched_loop *full;
static int full_number;

static void fill(void) {
  while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0) {}
}

static void limit_descriptors(rlim_t most) { // it can be raised again
  struct rlimit now;
  getrlimit(RLIMIT_NOFILE, &now);
  if (setrlimit(RLIMIT_NOFILE, &(struct rlimit){most, now.rlim_max}) != 0) abort();
}

// Its child's exit status; 128 and more: its signal.
static int status_of_child(void (*body)(void)) {
  pid_t child = fork();
  if (child == 0) {
    signal(SIGABRT, SIG_DFL);
    alarm(120);
    body();
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void exec_something(void) {
  execl("/bin/true", "true", (char *)NULL);
  _exit(1);
}

static void use_full_loop(void) {
  probe later;
  probe_init(&later, NULL, NULL);
  if (fd_of(full) != full_number) _exit(2);
  csched_target_submit_at(csched_loop_target(full), &later.timer, csched_now() + MS, 0);
  while (atomic_load(&later.runs) == 0) csched_loop_run_until(full, csched_now() + 20 * MS);
}

static void find_no_descriptor(void) {
  int fd = -1;
  if (csched_loop_fd(full, &fd) != EMFILE || fd != -1) _exit(4);
  limit_descriptors(512);
  use_full_loop(); // works again with more descriptors
}

static void exec_in_spite(void) {
  limit_descriptors(512); // for the other program
  exec_something();
}

static void run_without_descriptor(void) { csched_loop_run_until(full, csched_now() + MS); }

static void fork_when_full(void *unused) {
  (void)unused;
  CHECK_EQUAL(csched_loop_create(&full), 0);
  full_number = fd_of(full);
  CHECK(full_number >= 0);
  limit_descriptors(64 + (rlim_t)full_number);
  fill();
  CHECK_EQUAL(status_of_child(exec_something), 0);
  CHECK_EQUAL(status_of_child(use_full_loop), 0); // its parent's two make room
  limit_descriptors((rlim_t)full_number);         // so that they make none
  CHECK_EQUAL(status_of_child(exec_in_spite), 0);
  CHECK_EQUAL(status_of_child(find_no_descriptor), 0);
  CHECK_EQUAL(status_of_child(run_without_descriptor), 128 + SIGABRT);
}

static void run_lost_loop(void *unused) {
  (void)unused;
  CHECK_EQUAL(csched_loop_create(&full), 0);
  CHECK(fd_of(full) >= 0);
  limit_descriptors(3);
  pid_t child = fork();
  if (child == 0) run_without_descriptor();
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) abort(); // it has said why
}

static void env_fork_when_full(void) {
  CHECK_CHILD(fork_when_full, NULL);
  CHECK_CHILD_STOPS(run_lost_loop, NULL, "this child of fork had no descriptors");
}

TEST_UNLESS(NO_CHILD, NO_CHILD_WHY,
            "a fork without free descriptors leaves a child that can exec, and a loop that reports the missing one") {
  env_fork_when_full();
}

// MARK: quotas of control groups, in a folder that looks like the system's
#if defined(__linux__)

static char mounts[] = "/tmp/quota-XXXXXX";
static char listed[64]; // the file that lists the groups

static void put(const char *path, const char *text) { // below `mounts`; makes the folders
  char full[256];
  snprintf(full, sizeof full, "%s/%s", mounts, path);
  for (char *at = full + sizeof mounts; (at = strchr(at, '/')) != NULL; at++) {
    *at = 0;
    mkdir(full, 0700);
    *at = '/';
  }
  FILE *file = fopen(full, "w");
  if (file == NULL) abort();
  fputs(text, file);
  fclose(file);
}

static unsigned quota_in(const char *groups) { // `groups`: the text of the list
  put("groups", groups);
  return csched_os_quota_(listed, mounts, 64);
}

static void make_mounts(void) {
  if (mkdtemp(mounts) == NULL) abort();
  snprintf(listed, sizeof listed, "%s/groups", mounts);
}

static void remove_mounts(void) {
  char command[64];
  snprintf(command, sizeof command, "rm -r %s", mounts);
  CHECK(system(command) == 0);
}

TEST("a quota of a control group limits the processors, in version 2") {
  make_mounts();
  CHECK(csched_os_quota_(listed, mounts, 64) == 64); // no list
  CHECK(quota_in("") == 64);
  CHECK(quota_in("0::/\n") == 64); // no files
  put("slice/half/cpu.max", "50000 100000\n");
  put("slice/more/cpu.max", "150001 50000\n");
  put("slice/free/cpu.max", "max 100000\n");
  put("slice/wide/cpu.max", "99999900000 100000\n");
  put("slice/none/deep/cpu.max", "nonsense\n");
  CHECK(quota_in("0::/slice/half\n") == 1);
  CHECK(quota_in("0::/slice/more\n") == 4);
  CHECK(quota_in("0::/slice/free\n") == 64);
  CHECK(quota_in("0::/slice/wide\n") == 64);
  CHECK(quota_in("0::/slice/none/deep\n") == 64);
  CHECK(quota_in("0::/slice/half/not/made\n") == 1); // the parent's
  put("slice/cpu.max", "200000 100000\n");
  CHECK(quota_in("0::/slice/half\n") == 1);
  CHECK(quota_in("0::/slice/more\n") == 2); // the parent has less
  CHECK(quota_in("0::/slice/free\n") == 2);
  put("cpu.max", "300000 100000\n"); // in a container: the list names a group of the system outside
  CHECK(quota_in("0::/outside/of/the/container\n") == 3);
  CHECK(quota_in("0::/\n") == 3);
  CHECK(csched_os_quota_(listed, mounts, 1) == 1);
  remove_mounts();
}

static void check_version_1(const char *mount) {
  char path[64];
  const char *const files[][2] = {{"a/half/cpu.cfs_quota_us", "50000\n"},     {"a/half/cpu.cfs_period_us", "100000\n"},
                                  {"a/more/cpu.cfs_quota_us", "1000000\n"},   {"a/more/cpu.cfs_period_us", "200000\n"},
                                  {"a/free/cpu.cfs_quota_us", "-1\n"},        {"a/free/cpu.cfs_period_us", "100000\n"},
                                  {"a/cpu.cfs_quota_us", "400000\n"},         {"a/cpu.cfs_period_us", "100000\n"},
                                  {"b/no-period/cpu.cfs_quota_us", "50000\n"}};
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    snprintf(path, sizeof path, "%s/%s", mount, files[i][0]);
    put(path, files[i][1]);
  }
  CHECK(quota_in("8:memory:/a/half\n7:cpu,cpuacct:/a/half\n0::/\n") == 1);
  CHECK(quota_in("7:cpuacct,cpu:/a/more\n") == 4); // of the parent
  CHECK(quota_in("7:cpu:/a/free\n") == 4);
  CHECK(quota_in("7:cpu:/b/no-period\n") == 64);
  CHECK(quota_in("7:cpu:/\n") == 64);
  CHECK(quota_in("7:cpuset:/a/half\n8:memory:/a/half\n9:cpuacct:/a/half\n") == 64); // none is that of the quota
  snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", mount);
  put(path, "250000\n");
  snprintf(path, sizeof path, "%s/cpu.cfs_period_us", mount);
  put(path, "100000\n");
  CHECK(quota_in("7:cpu:/docker/0123456789abcdef\n") == 3); // in a container
}

TEST("a quota of a control group limits the processors, in version 1, at either mount") {
  make_mounts();
  check_version_1("cpu,cpuacct");
  remove_mounts();
  strcpy(mounts + sizeof mounts - 7, "XXXXXX");
  make_mounts();
  check_version_1("cpu");
  remove_mounts();
}

TEST("the processors are those of the affinity and the quota") { // CTEST_PROCESSORS: how many these are known to be
  const char *known = getenv("CTEST_PROCESSORS");
  unsigned count = csched_cpu_count_();
  CHECK(count >= 1 && count <= (unsigned)sysconf(_SC_NPROCESSORS_ONLN));
  if (known != NULL) CHECK_EQUAL(count, atoi(known));
}

TEST("a list of control groups with a very long line is read to its end") {
  char text[6000];
  make_mounts();
  put("half/cpu.max", "50000 100000\n");
  int length = snprintf(text, sizeof text, "5:name=");
  memset(text + length, 'x', 5000);
  snprintf(text + length + 5000, sizeof text - (size_t)length - 5000, ":/\n0::/half\n");
  CHECK(quota_in(text) == 1);
  char deep[900] = "0::";
  while (strlen(deep) < 700) strcat(deep, "/deep");
  CHECK(quota_in(strcat(deep, "\n0::/half\n")) == 1); // a group with a longer path than the buffer counts for nothing
  remove_mounts();
}
#endif
