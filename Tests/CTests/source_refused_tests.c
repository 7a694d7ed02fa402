// Sources when the system has no free descriptors, at each step of an addition; and a child of fork of a loop with a
// source of each kind.
#include "fork_testing.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KINDS = 4, MOST_STEPS = 10, MOST_DESCRIPTORS = 1024 };

// One source of each kind, on one loop, with their reported events.
typedef struct set {
  csched_loop *loop;
  csched_fd_source fd;
  csched_signal_source signal;
  csched_child_source child;
  csched_file_source file;
  int ends[2];
  char folder[32];
  int calls[KINDS], drops;
} set;
enum { FD, SIGNAL, CHILD, FILE_ };

static void fd_ready(csched_fd_source *source, unsigned events) {
  char byte;
  (void)events;
  if (read(source->fd, &byte, 1) == 1) ((set *)source->context)->calls[FD]++;
}
static void signal_came(csched_signal_source *source, uint32_t count) {
  ((set *)source->context)->calls[SIGNAL] += (int)count;
}
static void child_ended(csched_child_source *source, csched_child_end end, int status) {
  (void)end, (void)status;
  ((set *)source->context)->calls[CHILD]++;
}
static void file_changed(csched_file_source *source, unsigned changes, const char *name) {
  (void)changes, (void)name;
  ((set *)source->context)->calls[FILE_]++;
}

static void set_init(set *set) {
  memset(set, 0, sizeof *set);
  snprintf(set->folder, sizeof set->folder, "/tmp/csched-refused-XXXXXX");
  if (mkdtemp(set->folder) == NULL || pipe(set->ends) != 0 || csched_loop_create(&set->loop) != 0) abort();
  csched_fd_source_init(&set->fd, set->ends[0], CSCHED_FD_READ, fd_ready, set);
  csched_signal_source_init(&set->signal, SIGUSR2, signal_came, set);
  csched_child_source_init(&set->child, getpid(), child_ended, set); // which does not end meanwhile
  csched_file_source_init(&set->file, set->folder, CSCHED_FILE_CREATED, file_changed, set);
}

static void set_end(set *set) {
  csched_loop_destroy(set->loop);
  close(set->ends[0]);
  close(set->ends[1]);
  rmdir(set->folder);
}

static int add(set *set, int kind) {
  switch (kind) {
  case FD: return csched_loop_add_fd(set->loop, &set->fd);
  case SIGNAL: return csched_loop_add_signal(set->loop, &set->signal);
  case CHILD: return csched_loop_add_child(set->loop, &set->child);
  default: return csched_loop_add_file(set->loop, &set->file);
  }
}

static int take_away(set *set, int kind) {
  switch (kind) {
  case FD: return csched_loop_remove_fd(set->loop, &set->fd);
  case SIGNAL: return csched_loop_remove_signal(set->loop, &set->signal);
  case CHILD: return csched_loop_remove_child(set->loop, &set->child);
  default: return csched_loop_remove_file(set->loop, &set->file);
  }
}

// MARK: no descriptors

static int open_descriptors(void) {
  int count = 0;
  for (int fd = 0; fd < MOST_DESCRIPTORS; fd++) count += fcntl(fd, F_GETFD) >= 0;
  return count;
}

// Leaves the process `count` descriptors that it can open.
static void permit_descriptors(int count) {
  int limit = 0;
  for (; count > 0 || fcntl(limit, F_GETFD) >= 0; limit++) count -= fcntl(limit, F_GETFD) < 0;
  struct rlimit now;
  getrlimit(RLIMIT_NOFILE, &now);
  now.rlim_cur = (rlim_t)limit;
  if (setrlimit(RLIMIT_NOFILE, &now) != 0) abort();
}

static bool has_default(void) {
  struct sigaction now;
  sigaction(SIGUSR2, NULL, &now);
  return now.sa_handler == SIG_DFL;
}

static void refused_at_each_step(const int *kind) {
  set set;
  int refused = 0, error;
  set_init(&set);
  struct rlimit before;
  getrlimit(RLIMIT_NOFILE, &before);
  do {
    permit_descriptors(refused);
    error = add(&set, *kind);
    setrlimit(RLIMIT_NOFILE, &before);
    if (error == 0) break;
    CHECK_EQUAL(error, EMFILE);
    CHECK(has_default());
    CHECK_EQUAL(take_away(&set, *kind), ENOENT);
    csched_loop_destroy(set.loop); // and its own descriptors
    if (csched_loop_create(&set.loop) != 0) abort();
  } while (++refused < MOST_STEPS);
  CHECK_EQUAL(error, 0);
  CHECK_EQUAL(refused, *kind == FD || *kind == SIGNAL ? 3 : 4); // the loop's three; a bell stays when it is open
  CHECK_EQUAL(take_away(&set, *kind), 0);
  CHECK(has_default());
  set_end(&set);
}

// The second time no more is open than the first time: the bell of a signal stays.
static void leaves_no_descriptors(void *kind) {
  int first = 0;
  for (int i = 0; i < 2; i++) {
    refused_at_each_step(kind);
    if (i == 0) first = open_descriptors();
  }
  CHECK_EQUAL(open_descriptors(), first);
}

static void source_refused_at_each_step(void) {
  for (int kind = 0; kind < KINDS; kind++) CHECK_CHILD(leaves_no_descriptors, &kind);
}

TEST_UNLESS(SANITIZERS | VALGRIND | QEMU | NO_PIDFD, "they keep descriptors of their own, or lack pidfd_open",
            "a source that is refused a descriptor, whichever, leaves nothing and can be added later") { // SG2
  source_refused_at_each_step();
}

// MARK: fork

typedef struct forking {
  set set; // first
  csched_loop_hook hook;
  csched_event event;
  csched_timer timer;
  uint64_t merged;
  int sleeps, wakes, hook_drops, ticks;
  int changes; // in the folder, by the child, too, which the parent sees
  bool forks;
} forking;

static void tick(csched_job *job) { ((forking *)job->context)->ticks++; }
static void tick_not(csched_job *job) { (void)job; }
static const csched_job_type ticking = {tick, tick_not, NULL};

static void add_value(csched_event *event, uint64_t value) { ((forking *)event->context)->merged += value; }

// Causes one event of each source, and one tick of the timer.
static void provoke_all(forking *test) {
  char path[64];
  snprintf(path, sizeof path, "%s/%d", test->set.folder, (int)getpid());
  if (mkdir(path, 0700) != 0 || rmdir(path) != 0 || write(test->set.ends[1], "x", 1) != 1) abort();
  test->changes++;
  raise(SIGUSR2);
  CHECK_EQUAL(csched_event_merge(&test->event, 3), 0);
  csched_timer_init(&test->timer, &ticking, test);
  CHECK_EQUAL(csched_target_submit_at(csched_loop_target(test->set.loop), &test->timer, csched_now() + MS, 0), 0);
}

static bool have_all_calls(const forking *test, int times) {
  return test->set.calls[FD] == times && test->set.calls[SIGNAL] == times && test->set.calls[FILE_] == test->changes &&
         test->ticks == times && test->merged == 3 * (uint64_t)times;
}

static void check_all_calls(forking *test, int times) {
  provoke_all(test);
  csched_time end = csched_now() + 60000 * MS;
  while (!have_all_calls(test, times) && csched_now() < end)
    csched_loop_run_once(test->set.loop, csched_now() + 10 * MS);
  CHECK(have_all_calls(test, times));
  CHECK_EQUAL(csched_loop_run_ready(test->set.loop, SIZE_MAX), 0);
  CHECK(have_all_calls(test, times));
  CHECK_EQUAL(test->set.calls[CHILD], 0);
}

static void in_child_between_runs(void *context) {
  forking *test = context;
  int sleeps = test->sleeps;
  check_all_calls(test, test->ticks + 1);
  // On a busy machine all is ready before the loop could sleep.
  while (test->sleeps == sleeps) csched_loop_run_once(test->set.loop, csched_now() + MS);
  CHECK_EQUAL(test->sleeps, test->wakes);
  csched_loop_destroy(test->set.loop);
  CHECK_EQUAL(test->hook_drops, 1);
  CHECK(has_default());
}

static void in_child_of_hook(void *context) {
  forking *test = context;
  int sleeps = test->sleeps;
  check_all_calls(test, test->ticks + 1);
  CHECK_EQUAL(test->sleeps, sleeps); // a run inside of a hook calls none
}

static void forking_sleeps(csched_loop_hook *hook) {
  forking *test = hook->context;
  CHECK_EQUAL(++test->sleeps, test->wakes + 1);
  if (!test->forks) return;
  test->forks = false;
  CHECK_CHILD(in_child_of_hook, test);
  test->changes++;
}
static void forking_wakes(csched_loop_hook *hook) {
  forking *test = hook->context;
  CHECK_EQUAL(++test->wakes, test->sleeps);
}
static void forking_drops(csched_loop_hook *hook, int error) {
  CHECK_EQUAL(error, ECANCELED);
  ((forking *)hook->context)->hook_drops++;
}

static void source_forks_with_hooks(void) {
  sigset_t usr2; // the parent process may have blocked signals
  sigemptyset(&usr2);
  sigaddset(&usr2, SIGUSR2);
  pthread_sigmask(SIG_UNBLOCK, &usr2, NULL);
  forking test = {0};
  set_init(&test.set);
  csched_event_init(&test.event, csched_loop_target(test.set.loop), CSCHED_MERGE_ADD, add_value, &test);
  test.hook = (csched_loop_hook){forking_sleeps, forking_wakes, forking_drops, &test, NULL, {NULL, NULL}};
  CHECK_EQUAL(csched_loop_add_hook(test.set.loop, &test.hook), 0);
  for (int kind = 0; kind < KINDS; kind++) CHECK_EQUAL(add(&test.set, kind), 0);
  check_all_calls(&test, 1);
  CHECK_CHILD(in_child_between_runs, &test);
  test.changes++;
  CHECK_EQUAL(csched_loop_run_ready(test.set.loop, SIZE_MAX), 1); // the change: all else was the child's
  CHECK(have_all_calls(&test, 1));
  test.forks = true;
  while (test.forks) csched_loop_run_once(test.set.loop, csched_now() + MS);
  check_all_calls(&test, 2);
  CHECK_EQUAL(test.hook_drops, 0);
  set_end(&test.set);
  CHECK_EQUAL(test.hook_drops, 1);
  CHECK(has_default());
}

TEST_UNLESS(THREAD_SANITIZER | VALGRIND | QEMU | NO_PIDFD,
            "tools do not follow a process with threads into its child, and may lack pidfd_open",
            "in a child of fork sources of all kinds, and hooks, continue") {
  source_forks_with_hooks();
}
