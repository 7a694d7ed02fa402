#include "fork_testing.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NO_CHILD_WHY "tools do not follow a process with threads into its child"

static csched_loop *make_loop(void) {
  csched_loop *loop = NULL;
  if (csched_loop_create(&loop) != 0) abort();
  return loop;
}

// Runs the loop until `*word` is at least `expected`.
static void run_until(csched_loop *loop, const int *word, int expected) {
  csched_time end = csched_now() + 60000 * MS;
  while (*word < expected && csched_now() < end) csched_loop_run_once(loop, csched_now() + 10 * MS);
  CHECK(*word >= expected);
}

// MARK: signals

// The parent process may have blocked signals. Signals raised here would then wait for ever.
static void permit_signals(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigaddset(&set, SIGUSR2);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

typedef struct listener {
  csched_signal_source source; // first: a listener is its source
  csched_loop *loop;
  int reported, drops;
  bool removes;
} listener;

static void record(csched_signal_source *source, uint32_t count) {
  listener *listener = source->context;
  listener->reported += (int)count;
  if (listener->removes) CHECK_EQUAL(csched_loop_remove_signal(listener->loop, source), 0);
}

static void record_drop(csched_signal_source *source, int error) {
  CHECK_EQUAL(error, ECANCELED);
  ((listener *)source->context)->drops++;
}

static void listener_init(listener *listener, csched_loop *loop, int signal) {
  memset(listener, 0, sizeof *listener);
  listener->loop = loop;
  csched_signal_source_init(&listener->source, signal, record, listener);
  listener->source.dropped = record_drop;
}

static bool has_default(int signal) {
  struct sigaction now;
  sigaction(signal, NULL, &now);
  return now.sa_handler == SIG_DFL;
}

static void source_signal(void) {
  permit_signals();
  csched_loop *loop = make_loop();
  listener listener;
  listener_init(&listener, loop, SIGUSR1);
  CHECK_EQUAL(csched_loop_add_signal(loop, &listener.source), 0);
  CHECK_EQUAL(csched_loop_add_signal(loop, &listener.source), EEXIST);
  kill(getpid(), SIGUSR1);
  run_until(loop, &listener.reported, 1);
  raise(SIGUSR1);
  raise(SIGUSR1);
  run_until(loop, &listener.reported, 3);
  CHECK_EQUAL(csched_loop_run_ready(loop, SIZE_MAX), 0);
  listener.removes = true;
  raise(SIGUSR1);
  run_until(loop, &listener.reported, 4);
  CHECK(has_default(SIGUSR1));
  CHECK_EQUAL(csched_loop_remove_signal(loop, &listener.source), ENOENT);
  CHECK_EQUAL(csched_loop_add_signal(loop, &listener.source), 0); // again; the loop's close removes it
  csched_loop_destroy(loop);
  CHECK_EQUAL(listener.drops, 1);
  CHECK(has_default(SIGUSR1));
}

// SG1, SG3
TEST("a signal is reported to its loop, and its action put back") { source_signal(); }

static void source_signal_anew(void) {
  permit_signals();
  csched_loop *loop = make_loop();
  listener first, second;
  listener_init(&first, loop, SIGUSR1);
  listener_init(&second, loop, SIGUSR1);
  CHECK_EQUAL(csched_loop_add_signal(loop, &first.source), 0);
  raise(SIGUSR1);
  raise(SIGUSR1);
  CHECK_EQUAL(csched_loop_remove_signal(loop, &first.source), 0); // before the report
  CHECK_EQUAL(csched_loop_add_signal(loop, &second.source), 0);
  CHECK_EQUAL(csched_loop_run_ready(loop, SIZE_MAX), 0);
  raise(SIGUSR1);
  run_until(loop, &second.reported, 1);
  CHECK(second.reported == 1 && first.reported == 0);
  CHECK_EQUAL(csched_loop_remove_signal(loop, &second.source), 0);
  csched_loop_destroy(loop);
}

// SG3
TEST("signals for one source are not reported to the next one") { source_signal_anew(); }

typedef struct passing {
  csched_loop *from, *to;
  listener first, second;
} passing;

static void take_signal_over(int index, void *context) {
  passing *test = context;
  (void)index;
  csched_loop_unregister_signal_(test->from, &test->first.source);
  CHECK(has_default(SIGUSR1));
  CHECK_EQUAL(csched_loop_create(&test->to), 0);
  listener_init(&test->second, test->to, SIGUSR1);
  CHECK_EQUAL(csched_loop_add_signal(test->to, &test->second.source), 0);
  kill(getpid(), SIGUSR1);
  run_until(test->to, &test->second.reported, 1);
  CHECK_EQUAL(csched_loop_remove_signal(test->to, &test->second.source), 0);
  csched_loop_destroy(test->to);
}

static void source_signal_passes(void) {
  permit_signals();
  passing test;
  test.from = make_loop();
  listener_init(&test.first, test.from, SIGUSR1);
  CHECK_EQUAL(csched_loop_add_signal(test.from, &test.first.source), 0);
  crew_run(1, take_signal_over, &test);
  CHECK_EQUAL(csched_loop_run_ready(test.from, SIZE_MAX), 0);
  CHECK_EQUAL(test.first.reported, 0);
  CHECK_EQUAL(csched_loop_remove_signal(test.from, &test.first.source), 0);
  CHECK_EQUAL(csched_loop_add_signal(test.from, &test.first.source), ECANCELED); // until it is initialised anew
  csched_loop_destroy(test.from);
}

// SG3
TEST("a signal that another thread gives up can be taken by another loop at once") { source_signal_passes(); }

static void handle(int signal) { (void)signal; }

static void source_signal_refused(void) {
  permit_signals();
  csched_loop *loop = make_loop();
  listener listener, other;
  int wrong[] = {-1, 0, SIGKILL, SIGSTOP, SIGSEGV, 65, 1000000};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    listener_init(&listener, loop, wrong[i]);
    CHECK_EQUAL(csched_loop_add_signal(loop, &listener.source), EINVAL);
  }
  listener_init(&listener, loop, SIGUSR2);
  signal(SIGUSR2, handle);
  CHECK_EQUAL(csched_loop_add_signal(loop, &listener.source), EBUSY);
  signal(SIGUSR2, SIG_DFL);
  CHECK_EQUAL(csched_loop_add_signal(loop, &listener.source), 0);
  listener_init(&other, loop, SIGUSR2);
  CHECK_EQUAL(csched_loop_add_signal(loop, &other.source), EBUSY);
  signal(SIGUSR2, handle); // a handler of other code: it stays
  CHECK_EQUAL(csched_loop_remove_signal(loop, &listener.source), 0);
  CHECK(!has_default(SIGUSR2));
  signal(SIGUSR2, SIG_DFL);
  csched_loop_close(loop, CSCHED_STOP_DROP);
  csched_loop_run(loop);
  CHECK_EQUAL(csched_loop_add_signal(loop, &listener.source), ECANCELED);
  CHECK(has_default(SIGUSR2));
  csched_loop_destroy(loop);
}

// SG3
TEST("a signal that has a handler already is refused") { source_signal_refused(); }

enum { SENDERS = 3 };
static void send_signals(int index, void *context) {
  (void)index;
  for (int i = 0; i < *(int *)context; i++) raise(SIGUSR1); // to the thread itself, one by one
}

static void source_signals_beside(int rounds) {
  permit_signals();
  csched_loop *loop = make_loop();
  listener listener;
  crew crew;
  listener_init(&listener, loop, SIGUSR1);
  CHECK_EQUAL(csched_loop_add_signal(loop, &listener.source), 0);
  crew_start(&crew, SENDERS, send_signals, &rounds);
  run_until(loop, &listener.reported, SENDERS * rounds);
  crew_join(&crew);
  csched_loop_run_ready(loop, SIZE_MAX); // the signal handler may write after its count was reported
  CHECK_EQUAL(listener.reported, SENDERS * rounds);
  csched_loop_destroy(loop);
}

// SG1
TEST("signals during the loop's check are all reported") { source_signals_beside(times(10000)); }

static void in_child_of_signal(void *context) {
  listener *listener = context;
  int before = listener->reported;
  kill(getpid(), SIGUSR1);
  run_until(listener->loop, &listener->reported, before + 1);
  csched_loop_destroy(listener->loop);
  CHECK(has_default(SIGUSR1));
}

// A signal that came before the fork, and was not reported yet, is reported in both processes.
static void in_child_of_pending(void *context) {
  listener *listener = context;
  run_until(listener->loop, &listener->reported, 1);
}

static void in_child_of_other(void *context) {
  (void)context;
  CHECK(has_default(SIGUSR1));
}

static void add_ear(csched_job *job) {
  listener *listener = job->context;
  CHECK_EQUAL(csched_loop_add_signal(listener->loop, &listener->source), 0);
}
static void drop_nothing(csched_job *job) { (void)job; }

static void source_signal_forks(void) {
  permit_signals();
  csched_loop *loop = make_loop();
  listener listener;
  listener_init(&listener, loop, SIGUSR1);
  CHECK_EQUAL(csched_loop_add_signal(loop, &listener.source), 0);
  CHECK_CHILD(in_child_of_signal, &listener);
  CHECK_EQUAL(csched_loop_run_ready(loop, SIZE_MAX), 0); // the child's was the child's
  CHECK_EQUAL(listener.reported, 0);
  raise(SIGUSR1);
  CHECK_CHILD(in_child_of_pending, &listener);
  run_until(loop, &listener.reported, 1);
  csched_loop_destroy(loop);

  csched_thread *thread = start_thread("other"); // whose loop is not in the child
  listener_init(&listener, csched_thread_loop(thread), SIGUSR1);
  static const csched_job_type type = {add_ear, drop_nothing, NULL};
  csched_job job;
  csched_job_init(&job, &type, &listener);
  csched_target_submit(csched_thread_target(thread), &job);
  wait_until_run(thread);
  CHECK(!has_default(SIGUSR1));
  CHECK_CHILD(in_child_of_other, NULL);
  CHECK(!has_default(SIGUSR1));
  stop_and_join(thread, CSCHED_STOP_RUN);
  CHECK(has_default(SIGUSR1));
}

// SG3, SG4
TEST_UNLESS(VALGRIND | QEMU, NO_CHILD_WHY, "a signal in a child of fork is the child's") { source_signal_forks(); }

// MARK: children

typedef struct nurse {
  csched_child_source source;
  int ends, status, drops;
  csched_child_end end;
} nurse;

static void child_ends(csched_child_source *source, csched_child_end end, int status) {
  nurse *nurse = source->context;
  nurse->ends++;
  nurse->end = end;
  nurse->status = status;
}
static void child_drops(csched_child_source *source, int error) {
  CHECK_EQUAL(error, ECANCELED);
  ((nurse *)source->context)->drops++;
}

static pid_t nurse_child(nurse *nurse, csched_loop *loop, int status) {
  memset(nurse, 0, sizeof *nurse);
  pid_t pid = fork();
  if (pid == 0) {
    if (status < 0) pause();
    _exit(status);
  }
  csched_child_source_init(&nurse->source, pid, child_ends, nurse);
  nurse->source.dropped = child_drops;
  CHECK_EQUAL(csched_loop_add_child(loop, &nurse->source), 0);
  return pid;
}

// The child ends by a signal, and leaves a core where the system is set up for that.
static void source_child_with_core(void) {
  char folder[] = "/tmp/cscheduler-core-XXXXXX", core[64];
  nurse nurse = {.ends = 0};
  csched_loop *loop = make_loop();
  CHECK(mkdtemp(folder) != NULL);
  pid_t pid = fork();
  if (pid == 0) {
    struct rlimit limit;
    if (chdir(folder) != 0 || getrlimit(RLIMIT_CORE, &limit) != 0) _exit(1);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_CORE, &limit);
    signal(SIGQUIT, SIG_DFL);
    raise(SIGQUIT);
    _exit(2);
  }
  csched_child_source_init(&nurse.source, pid, child_ends, &nurse);
  nurse.source.dropped = child_drops;
  CHECK_EQUAL(csched_loop_add_child(loop, &nurse.source), 0);
  run_until(loop, &nurse.ends, 1);
  CHECK_EQUAL(nurse.end, CSCHED_CHILD_SIGNALED);
  CHECK_EQUAL(nurse.status, SIGQUIT);
  csched_loop_destroy(loop);
  snprintf(core, sizeof core, "%s/core", folder);
  unlink(core);
  snprintf(core, sizeof core, "%s/core.%ld", folder, (long)pid);
  unlink(core);
  rmdir(folder);
}

static void source_child(void) {
  csched_loop *loop = make_loop();
  nurse nurse;
  pid_t pid = nurse_child(&nurse, loop, 7);
  run_until(loop, &nurse.ends, 1);
  CHECK_EQUAL(nurse.end, CSCHED_CHILD_EXITED);
  CHECK_EQUAL(nurse.status, 7);
  CHECK_EQUAL(waitpid(pid, NULL, 0), -1); // it is reaped
  CHECK_EQUAL(csched_loop_remove_child(loop, &nurse.source), ENOENT);

  pid = nurse_child(&nurse, loop, -1);
  CHECK_EQUAL(csched_loop_add_child(loop, &nurse.source), EEXIST);
  kill(pid, SIGKILL);
  run_until(loop, &nurse.ends, 1);
  CHECK_EQUAL(nurse.end, CSCHED_CHILD_SIGNALED);
  CHECK_EQUAL(nurse.status, SIGKILL);

  pid = nurse_child(&nurse, loop, -1);
  kill(pid, SIGKILL);
  CHECK_EQUAL(waitpid(pid, NULL, 0), pid); // before the loop's check
  run_until(loop, &nurse.ends, 1);
  CHECK_EQUAL(nurse.end, CSCHED_CHILD_REAPED_ELSEWHERE);

  csched_child_source_init(&nurse.source, pid, child_ends, &nurse);
  CHECK_EQUAL(csched_loop_add_child(loop, &nurse.source), ESRCH);
  csched_child_source_init(&nurse.source, 0, child_ends, &nurse);
  CHECK_EQUAL(csched_loop_add_child(loop, &nurse.source), EINVAL);

  pid = nurse_child(&nurse, loop, -1);
  CHECK_EQUAL(csched_loop_remove_child(loop, &nurse.source), 0);
  CHECK_EQUAL(csched_loop_add_child(loop, &nurse.source), 0);
  csched_loop_destroy(loop);
  CHECK_EQUAL(nurse.drops, 1);
  CHECK_EQUAL(nurse.ends, 0);
  kill(pid, SIGKILL);
  CHECK_EQUAL(waitpid(pid, NULL, 0), pid); // the loop has not reaped it
}

TEST_UNLESS(VALGRIND | QEMU | NO_PIDFD, "it may lack pidfd_open",
            "the end of a child is reported, also when other code has reaped it") {
  source_child();
  source_child_with_core();
}

// MARK: children with several sources

enum { WAITS = 3 };

static void check_ends(const nurse *nurses, int count, csched_child_end end, int status) {
  for (int i = 0; i < count; i++) {
    CHECK_EQUAL(nurses[i].ends, 1);
    CHECK_EQUAL(nurses[i].end, end);
    CHECK_EQUAL(nurses[i].status, status);
  }
}

static void wait_also(nurse *nurse, csched_loop *loop, pid_t pid) {
  memset(nurse, 0, sizeof *nurse);
  csched_child_source_init(&nurse->source, pid, child_ends, nurse);
  nurse->source.dropped = child_drops;
  CHECK_EQUAL(csched_loop_add_child(loop, &nurse->source), 0);
}

static void in_child_of_recent(void *pid) {
  csched_loop *loop = make_loop();
  csched_child_source source;
  csched_child_source_init(&source, *(pid_t *)pid, child_ends, NULL);
  CHECK_EQUAL(csched_loop_add_child(loop, &source), ESRCH);
  csched_loop_destroy(loop);
}

static void child_with_sources(int status) { // -1: ended by a signal
  csched_loop *loop = make_loop(), *other = make_loop();
  nurse nurses[WAITS], removed, late;
  pid_t pid = nurse_child(&nurses[0], loop, status);
  wait_also(&removed, loop, pid);
  wait_also(&nurses[1], loop, pid);
  wait_also(&nurses[2], other, pid);
  CHECK_EQUAL(csched_loop_remove_child(loop, &removed.source), 0);
  if (status < 0) kill(pid, SIGTERM);
  csched_child_end end = status < 0 ? CSCHED_CHILD_SIGNALED : CSCHED_CHILD_EXITED;
  int number = status < 0 ? SIGTERM : status;
  run_until(loop, &nurses[0].ends, 1);
  run_until(loop, &nurses[1].ends, 1);
  CHECK_EQUAL(waitpid(pid, NULL, 0), -1); // it is reaped
  run_until(other, &nurses[2].ends, 1);
  check_ends(nurses, WAITS, end, number);
  CHECK_EQUAL(removed.ends, 0);
  for (int i = 0; i < 2; i++) { // after all have ended, any number of times
    wait_also(&late, other, pid);
    run_until(other, &late.ends, 1);
    check_ends(&late, 1, end, number);
  }
  wait_also(&late, other, pid); // a close drops it like others
  CHECK_CHILD(in_child_of_recent, &pid);
  csched_loop_destroy(loop);
  csched_loop_destroy(other);
  CHECK_EQUAL(late.ends, 0);
  CHECK_EQUAL(late.drops, 1);
}

static void child_reaped_elsewhere_with_sources(void) {
  csched_loop *loop = make_loop();
  nurse nurses[WAITS];
  pid_t pid = nurse_child(&nurses[0], loop, -1);
  for (int i = 1; i < WAITS; i++) wait_also(&nurses[i], loop, pid);
  kill(pid, SIGKILL);
  CHECK_EQUAL(waitpid(pid, NULL, 0), pid);
  for (int i = 0; i < WAITS; i++) run_until(loop, &nurses[i].ends, 1);
  check_ends(nurses, WAITS, CSCHED_CHILD_REAPED_ELSEWHERE, 0);
  csched_child_source_init(&nurses[0].source, pid, child_ends, &nurses[0]);
  CHECK_EQUAL(csched_loop_add_child(loop, &nurses[0].source), ESRCH); // waitpid has taken its status
  csched_loop_destroy(loop);
}

TEST_UNLESS(VALGRIND | QEMU | NO_PIDFD, "it may lack pidfd_open",
            "each source of a child gets its status, one that is added later, too") {
  child_with_sources(7);
  child_with_sources(0);
  child_with_sources(-1);
  child_reaped_elsewhere_with_sources();
}

enum { LOOPS = 3, CHILDREN = 40 };
typedef struct nursery {
  pid_t pids[CHILDREN];
  _Atomic int added;
} nursery;

static void nurse_all(int index, void *context) {
  (void)index;
  nursery *nursery = context;
  csched_loop *loop = make_loop();
  static _Thread_local nurse nurses[CHILDREN];
  for (int i = 0; i < CHILDREN; i++) wait_also(&nurses[i], loop, nursery->pids[i]);
  if (++nursery->added == LOOPS)
    for (int i = 0; i < CHILDREN; i++) kill(nursery->pids[i], SIGCONT);
  for (int i = 0; i < CHILDREN; i++) run_until(loop, &nurses[i].ends, 1);
  for (int i = 0; i < CHILDREN; i++) check_ends(&nurses[i], 1, CSCHED_CHILD_EXITED, i);
  csched_loop_destroy(loop);
}

static void children_of_loops(void) {
  nursery nursery = {.added = 0};
  for (int i = 0; i < CHILDREN; i++) {
    nursery.pids[i] = fork();
    if (nursery.pids[i] == 0) {
      raise(SIGSTOP);
      _exit(i);
    }
  }
  for (int i = 0; i < CHILDREN; i++) {
    int status;
    CHECK_EQUAL(waitpid(nursery.pids[i], &status, WUNTRACED), nursery.pids[i]);
    CHECK(WIFSTOPPED(status));
  }
  crew_run(LOOPS, nurse_all, &nursery);
}

TEST_UNLESS(VALGRIND | QEMU | NO_PIDFD, "it may lack pidfd_open",
            "loops that wait for the same children at once each get every status") {
  children_of_loops();
}

// MARK: files

typedef struct eye {
  csched_file_source source;
  csched_loop *loop;
  int calls, drops;
  unsigned seen;
  char name[64];
  bool removes;
} eye;

static void see(csched_file_source *source, unsigned changes, const char *name) {
  eye *eye = source->context;
  eye->calls++;
  eye->seen |= changes;
  snprintf(eye->name, sizeof eye->name, "%s", name != NULL ? name : "");
  if (eye->removes) CHECK_EQUAL(csched_loop_remove_file(eye->loop, source), 0);
}
static void see_drop(csched_file_source *source, int error) {
  CHECK_EQUAL(error, ECANCELED);
  ((eye *)source->context)->drops++;
}

static void eye_init(eye *eye, csched_loop *loop, const char *path, unsigned changes) {
  memset(eye, 0, sizeof *eye);
  eye->loop = loop;
  csched_file_source_init(&eye->source, path, changes, see, eye);
  eye->source.dropped = see_drop;
}

static void touch(const char *folder, const char *name) {
  char path[128];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  CHECK_EQUAL(write(fd, "x", 1), 1);
  close(fd);
}

static void delete (const char *folder, const char *name) {
  char path[128];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  CHECK_EQUAL(unlink(path), 0);
}

static char folder[64];
static void make_folder(void) {
  snprintf(folder, sizeof folder, "/tmp/csched-source-XXXXXX");
  if (mkdtemp(folder) == NULL) abort();
}

static void in_child_of_file(void *context) {
  eye *eye = context;
  int before = eye->calls;
  touch(folder, "b");
  run_until(eye->loop, &eye->calls, before + 1);
  CHECK(strcmp(eye->name, "b") == 0);
  csched_loop_destroy(eye->loop);
}

static void source_file(bool forks) {
  csched_loop *loop = make_loop();
  eye eye;
  make_folder();
  eye_init(&eye, loop, folder, CSCHED_FILE_CREATED | CSCHED_FILE_DELETED);
  CHECK_EQUAL(csched_loop_add_file(loop, &eye.source), 0);
  touch(folder, "a name that is longer than sixteen bytes");
  touch(folder, "a");
  run_until(loop, &eye.calls, 2); // one after the other
  CHECK_EQUAL(csched_loop_run_ready(loop, SIZE_MAX), 0);
  CHECK_EQUAL(eye.calls, 2);
  CHECK_EQUAL(eye.seen, CSCHED_FILE_CREATED);
  CHECK(strcmp(eye.name, "a") == 0);
  if (forks) CHECK_CHILD(in_child_of_file, &eye);
  else touch(folder, "b");
  run_until(loop, &eye.calls, 3);
  CHECK(strcmp(eye.name, "b") == 0);
  eye.removes = true;
  delete (folder, "a");
  delete (folder, "b");
  run_until(loop, &eye.calls, 4);
  CHECK_EQUAL(csched_loop_run_ready(loop, SIZE_MAX), 0);
  CHECK_EQUAL(eye.calls, 4); // removed in the handler of the first
  delete (folder, "a name that is longer than sixteen bytes");
  eye.removes = false;
  eye.seen = 0;
  CHECK_EQUAL(csched_loop_add_file(loop, &eye.source), 0);
  CHECK_EQUAL(rmdir(folder), 0);
  while (!(eye.seen & CSCHED_FILE_GONE)) csched_loop_run_once(loop, csched_now() + 10 * MS);
  CHECK_EQUAL(csched_loop_run_until_done(loop), CSCHED_RUN_DONE); // the source has ended
  CHECK_EQUAL(csched_loop_remove_file(loop, &eye.source), 0);

  CHECK_EQUAL(csched_loop_add_file(loop, &eye.source), ENOENT);
  eye_init(&eye, loop, "/tmp", 0);
  CHECK_EQUAL(csched_loop_add_file(loop, &eye.source), EINVAL);
  eye_init(&eye, loop, "/tmp", CSCHED_FILE_LOST);
  CHECK_EQUAL(csched_loop_add_file(loop, &eye.source), EINVAL);
  eye_init(&eye, loop, "/tmp", CSCHED_FILE_ATTRIBUTES);
  CHECK_EQUAL(csched_loop_add_file(loop, &eye.source), 0);
  csched_loop_destroy(loop);
  CHECK_EQUAL(eye.drops, 1);
}

static void see_again(csched_file_source *source, unsigned changes, const char *name) {
  eye *eye = source->context;
  (void)name;
  eye->calls++;
  eye->seen = changes;
  if (!(changes & CSCHED_FILE_GONE)) return;
  if (eye->removes) {
    memset(source, 0xAA, sizeof *source); // as if freed and used again
    return;
  }
  CHECK_EQUAL(mkdir(folder, 0700), 0);
  CHECK_EQUAL(csched_loop_add_file(eye->loop, source), 0);
}

static void source_file_gone(void) {
  csched_loop *loop = make_loop();
  eye eye;
  make_folder();
  eye_init(&eye, loop, folder, CSCHED_FILE_CREATED);
  eye.source.handler = see_again;
  CHECK_EQUAL(csched_loop_add_file(loop, &eye.source), 0);
  int number = eye.source.fd.fd;
  CHECK_EQUAL(rmdir(folder), 0);
  run_until(loop, &eye.calls, 1);
  CHECK_EQUAL(eye.seen, CSCHED_FILE_GONE);
  touch(folder, "a"); // in the new folder of that name, for which the handler has added the source
  run_until(loop, &eye.calls, 2);
  CHECK_EQUAL(eye.seen, CSCHED_FILE_CREATED);
  CHECK_EQUAL(eye.source.fd.fd, number);
  delete (folder, "a");
  eye.removes = true;
  CHECK_EQUAL(rmdir(folder), 0);
  run_until(loop, &eye.calls, 3);
  CHECK_EQUAL(csched_loop_run_until_done(loop), CSCHED_RUN_DONE);
  CHECK_EQUAL(fcntl(number, F_GETFD), -1); // the library has closed its descriptor
  csched_loop_destroy(loop);
  CHECK_EQUAL(eye.drops, 0);
}

TEST("a source ends when its file is deleted, and its handler may free it or add it again") { source_file_gone(); }

TEST("changes of files are reported one by one, and not after the removal") {
  source_file(false);
  if (!is_under(THREAD_SANITIZER | MEMORY_SANITIZER | VALGRIND)) source_file(true);
}

// MARK: refusals of the system

static void without_descriptors(void *context) {
  (void)context;
  csched_loop *loop = make_loop();
  listener listener;
  nurse nurse;
  eye eye;
  struct rlimit none = {0, 0};
  CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &none), 0);
  listener_init(&listener, loop, SIGHUP);
  CHECK_EQUAL(csched_loop_add_signal(loop, &listener.source), EMFILE);
  CHECK(has_default(SIGHUP));
  csched_child_source_init(&nurse.source, getppid(), child_ends, &nurse);
  CHECK_EQUAL(csched_loop_add_child(loop, &nurse.source), is_under(NO_PIDFD) ? ENOTSUP : EMFILE);
  eye_init(&eye, loop, "/tmp", CSCHED_FILE_CREATED);
  CHECK_EQUAL(csched_loop_add_file(loop, &eye.source), EMFILE);
  csched_loop_destroy(loop);
}

static void source_without_descriptors(void) { CHECK_CHILD(without_descriptors, NULL); }

TEST_UNLESS(VALGRIND | QEMU, "it keeps descriptors of its own", "without descriptors each source is an error") {
  source_without_descriptors();
}

static void store_error(csched_fd_source *source, int error) { *(int *)source->context = error; }
static void ignore_events(csched_fd_source *source, unsigned events) { (void)source, (void)events; }

static void use_closed_descriptor(void *is_in_child) {
  csched_loop *loop = make_loop();
  int ends[2], reported = 0;
  csched_fd_source first, second;
  CHECK_EQUAL(pipe(ends), 0);
  csched_fd_source_init(&first, ends[0], CSCHED_FD_READ, ignore_events, &reported);
  if (is_in_child == NULL) first.dropped = store_error;
  CHECK_EQUAL(csched_loop_add_fd(loop, &first), 0);
  close(ends[0]);
  CHECK_EQUAL(csched_loop_modify_fd(loop, &first, CSCHED_FD_READ | CSCHED_FD_EDGE), EBADF);
  CHECK_EQUAL(dup2(ends[1], ends[0]), ends[0]);
  csched_fd_source_init(&second, ends[0], CSCHED_FD_WRITE, ignore_events, NULL);
  CHECK_EQUAL(csched_loop_add_fd(loop, &second), 0);
  CHECK_EQUAL(reported, is_in_child == NULL ? EBADF : 0);
  CHECK_EQUAL(csched_loop_remove_fd(loop, &first), ENOENT);
  close(ends[0]);
  CHECK_EQUAL(csched_loop_remove_fd(loop, &second), EBADF);
  csched_fd_source_init(&second, ends[1], CSCHED_FD_WRITE, ignore_events, NULL);
  CHECK_EQUAL(csched_loop_add_fd(loop, &second), 0);
  int folder = open("/", O_RDONLY | O_CLOEXEC);
  CHECK_EQUAL(dup2(folder, ends[1]), ends[1]); // the number now belongs to a file that no poller accepts
  CHECK_EQUAL(csched_loop_remove_fd(loop, &second), EBADF);
  close(folder);
  close(ends[1]);
  csched_loop_destroy(loop);
  if (is_in_child != NULL) abort(); // so that its message is checked
}

static void source_closed_by_other_code(void) {
  use_closed_descriptor(NULL);
  CHECK_CHILD_STOPS(use_closed_descriptor, "child", "was closed while source");
}

TEST_UNLESS(HELGRIND, NO_CHILD_WHY, "a descriptor that other code closes is reported") {
  source_closed_by_other_code();
}

// Other code, such as a daemon that closes all descriptors, gives the number of a source's own descriptor to another
// file.
static void own_number_taken(bool is_silent, bool closes_loop) {
  csched_loop *loop = make_loop();
  nurse nurse;
  eye eye;
  pid_t pid = nurse_child(&nurse, loop, -1);
  eye_init(&eye, loop, "/tmp", CSCHED_FILE_ATTRIBUTES);
  CHECK_EQUAL(csched_loop_add_file(loop, &eye.source), 0);
  int null = open("/dev/null", O_RDWR | O_CLOEXEC), numbers[] = {nurse.source.fd.fd, eye.source.fd.fd};
  for (int i = 0; i < 2; i++) CHECK_EQUAL(dup2(null, numbers[i]), numbers[i]);
  if (is_silent) {
    csched_loop_unregister_fd_(loop, &nurse.source.fd);
    csched_loop_unregister_fd_(loop, &eye.source.fd);
  }
  if (!closes_loop) {
    CHECK_EQUAL(csched_loop_remove_child(loop, &nurse.source), EBADF);
    CHECK_EQUAL(csched_loop_remove_file(loop, &eye.source), EBADF);
  }
  csched_loop_destroy(loop);
  CHECK_EQUAL(nurse.drops + eye.drops, closes_loop ? 2 : 0);
  for (int i = 0; i < 2; i++) {
    CHECK(fcntl(numbers[i], F_GETFD) >= 0);
    close(numbers[i]);
  }
  close(null);
  kill(pid, SIGKILL);
  CHECK_EQUAL(waitpid(pid, NULL, 0), pid);
}

TEST_UNLESS(VALGRIND | QEMU | NO_PIDFD, "it may lack pidfd_open",
            "a source does not close a descriptor that other code has given the source's number") {
  for (int i = 0; i < 4; i++) own_number_taken(i & 1, i & 2);
}

// MARK: events

typedef struct meter {
  csched_event event;
  uint64_t sum;
  atomic_int calls, inside;
  uint64_t next; // merged by the handler itself
} meter;

static void measure(csched_event *event, uint64_t value) {
  meter *meter = event->context;
  CHECK_EQUAL(atomic_fetch_add(&meter->inside, 1), 0);
  meter->sum = event->merge == CSCHED_MERGE_ADD ? meter->sum + value : meter->sum | value;
  uint64_t next = meter->next;
  meter->next = 0;
  if (next != 0) CHECK_EQUAL(csched_event_merge(event, next), 0);
  atomic_fetch_sub(&meter->inside, 1);
  atomic_fetch_add(&meter->calls, 1);
}

static void meter_init(meter *meter, csched_target *target, csched_merge merge) {
  memset(meter, 0, sizeof *meter);
  csched_event_init(&meter->event, target, merge, measure, meter);
}

typedef struct feed {
  meter *meter;
  int rounds;
} feed;
static void merge_ones(int index, void *context) {
  (void)index;
  const feed *feed = context;
  for (int i = 0; i < feed->rounds; i++) CHECK_EQUAL(csched_event_merge(&feed->meter->event, 1), 0);
}

static void event_merges(int threads, int rounds) {
  csched_thread *thread = start_thread("meter");
  meter meter;
  meter_init(&meter, csched_thread_target(thread), CSCHED_MERGE_ADD);
  gate gate;
  gate_close(&gate, thread);
  for (int i = 0; i < 10; i++) CHECK_EQUAL(csched_event_merge(&meter.event, 2), 0);
  CHECK_EQUAL(csched_event_merge(&meter.event, 0), 0);
  meter.next = 5;
  gate_open(&gate);
  CHECK_SOON(csched_event_is_idle(&meter.event));
  CHECK_EQUAL(meter.calls, 2); // ten merges are one call, and the handler's merge is another
  CHECK_EQUAL(meter.sum, 25);
  feed feed = {&meter, rounds};
  crew_run(threads, merge_ones, &feed);
  CHECK_SOON(csched_event_is_idle(&meter.event));
  CHECK_EQUAL(meter.sum, 25 + (uint64_t)threads * (uint64_t)rounds);

  gate_close(&gate, thread);
  meter.sum = 0;
  csched_event_merge(&meter.event, CSCHED_EVENT_MOST);
  csched_event_merge(&meter.event, UINT64_MAX);
  gate_open(&gate);
  CHECK_SOON(csched_event_is_idle(&meter.event));
  CHECK(meter.sum == CSCHED_EVENT_MOST); // no more than that
  meter_init(&meter, csched_thread_target(thread), CSCHED_MERGE_OR);
  csched_event_merge(&meter.event, UINT64_MAX);
  CHECK_SOON(csched_event_is_idle(&meter.event));
  CHECK(meter.sum == CSCHED_EVENT_MOST); // without the two uppermost bits
  meter.sum = 0;
  csched_event_merge(&meter.event, 5);
  csched_event_merge(&meter.event, 6);
  CHECK_SOON(csched_event_is_idle(&meter.event));
  CHECK_EQUAL(meter.sum, 7);
  csched_thread_stop(thread, CSCHED_STOP_RUN);
  CHECK_EQUAL(csched_event_merge(&meter.event, 1), ECANCELED); // its target is closed
  CHECK(csched_event_is_idle(&meter.event));
  stop_and_join(thread, CSCHED_STOP_RUN);
}

// EV1, EV2, EV3
TEST("merged values are reported once, and in sum") { event_merges(3, times(100000)); }

static void merge_until_cancelled(int index, void *context) {
  meter *meter = context;
  if (index == 0) {
    nap(100 * US);
    csched_event_cancel_and_wait(&meter->event);
    meter->next = (uint64_t)meter->calls; // no race: the handler has ended, and none begins
    nap(100 * US);
    CHECK_EQUAL(meter->calls, meter->next);
  } else {
    while (csched_event_merge(&meter->event, 1) == 0) {}
  }
}

static void event_cancelled(int rounds) {
  csched_thread *thread = start_thread("meter");
  for (int i = 0; i < rounds; i++) {
    meter meter;
    meter_init(&meter, csched_thread_target(thread), CSCHED_MERGE_ADD);
    crew_run(3, merge_until_cancelled, &meter);
    CHECK_EQUAL(csched_event_merge(&meter.event, 1), ECANCELED);
    CHECK_SOON(csched_event_is_idle(&meter.event));
  }
  gate gate;
  meter meter;
  meter_init(&meter, csched_thread_target(thread), CSCHED_MERGE_ADD);
  gate_close(&gate, thread);
  csched_event_merge(&meter.event, 1);
  CHECK_EQUAL(csched_event_cancel(&meter.event), CSCHED_CANCEL_DROPPED);
  gate_open(&gate);
  CHECK_SOON(csched_event_is_idle(&meter.event));
  CHECK_EQUAL(meter.calls, 0);
  stop_and_join(thread, CSCHED_STOP_RUN);
}

// EV4, EV5
TEST("a cancelled event calls its handler no more") { event_cancelled(few(times(1000))); }
