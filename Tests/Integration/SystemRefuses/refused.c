// 300 lines: one table of failures, and a little of everything that they may hit.
// The system refuses a call, or a resource: in a process of its own for each row, the library does its work, answers
// with an error, or stops with a message. It never hangs, spins, crashes, or is killed for a call that it did not need.
#define _GNU_SOURCE
#include <CScheduler/CScheduler.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// SECONDS: how long a row may take. It takes some; longer, it hangs.
enum { DONE = 0, WRONG = 1, AN_ERROR = 2, SPINS = 4, KILL = 999, SECONDS = 60 };

// MARK: a little of everything

static const csched_time MS = 1000000;
static csched_lock lock;
static long guarded;
static uint32_t released;

static void run(csched_job *job) { (void)job; }
static void block(csched_job *job) {
  (void)job;
  usleep(12000);
}
static void release(csched_job *job) {
  (void)job;
  csched_fetch_add_relaxed(&released, 1u);
}
static const csched_job_type type = {run, run, release}, blocking = {block, run, release};

static void wait_for(uint32_t count) {
  while (csched_load_relaxed(&released) < count) usleep(200);
  csched_store_relaxed(&released, 0u);
}

static void *contend(void *unused) {
  for (int i = 0; i < 400; i++) {
    csched_lock_lock(&lock);
    guarded++;
    for (volatile int k = 0; k < 2000; k++) {}
    csched_lock_unlock(&lock);
    if (i % 16 == 0) usleep(10);
  }
  return unused;
}

static int use_lock(void) {
  pthread_t threads[6];
  int count = 0;
  while (count < 6 && pthread_create(&threads[count], NULL, contend, NULL) == 0) count++;
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
  if (guarded != 400L * count) return WRONG;
  csched_lock_lock(&lock);
  csched_lock_unlock(&lock);
  return DONE;
}

static int use_thread(void) {
  static csched_job jobs[200];
  static csched_timer timers[30];
  csched_thread *thread;
  if (csched_thread_start(&thread, &(csched_thread_options){.name = "refused"}) != 0) return AN_ERROR;
  for (int i = 0; i < 200; i++) {
    csched_job_init(&jobs[i], &type, NULL);
    if (csched_target_submit(csched_thread_target(thread), &jobs[i]) != 0) return WRONG;
    if (i % 50 == 0) usleep(500);
  }
  for (int i = 0; i < 30; i++) {
    csched_timer_init(&timers[i], &type, NULL);
    if (csched_target_submit_at(csched_thread_target(thread), &timers[i], csched_now() + (csched_time)(i % 5) * MS,
                                0) != 0)
      return WRONG;
    if (i % 3 == 0) csched_timer_cancel(&timers[i]);
  }
  wait_for(230);
  csched_thread_stop(thread, CSCHED_STOP_RUN);
  csched_thread_join(thread);
  csched_thread_destroy(thread);
  return DONE;
}

// The C library opens a file when so many threads have taken memory from it.
static int use_many_threads(void) {
  enum { MANY = 12 };
  static csched_job jobs[MANY];
  csched_thread *threads[MANY];
  int count = 0;
  while (count < MANY && csched_thread_start(&threads[count], NULL) == 0) count++;
  for (int i = 0; i < count; i++) csched_job_init(&jobs[i], &type, NULL);
  for (int i = 0; i < count; i++)
    if (csched_target_submit(csched_thread_target(threads[i]), &jobs[i]) != 0) return WRONG;
  wait_for((uint32_t)count);
  for (int i = 0; i < count; i++) csched_thread_stop(threads[i], CSCHED_STOP_RUN);
  for (int i = 0; i < count; i++) csched_thread_join(threads[i]);
  for (int i = 0; i < count; i++) csched_thread_destroy(threads[i]);
  return count == MANY ? DONE : AN_ERROR;
}

static csched_time processor_time(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return (csched_time)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 * MS +
         (csched_time)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000;
}

static int reads;
static void take(csched_fd_source *source, unsigned events) {
  char byte;
  (void)events;
  if (read(source->fd, &byte, 1) == 1) reads++;
  else csched_loop_remove_fd(source->context, source); // without a read, the source would be reported for ever
}

static void *submit_late(void *loop) {
  static csched_job job;
  usleep(10000);
  csched_job_init(&job, &type, NULL);
  csched_target_submit(csched_loop_target(loop), &job);
  return NULL;
}

static int use_loop(bool is_sound) {
  int ends[2];
  csched_loop *loop;
  csched_fd_source source;
  csched_timer timer;
  pthread_t submitter;
  if (csched_loop_create(&loop) != 0 || pipe(ends) != 0) return AN_ERROR;
  csched_fd_source_init(&source, ends[0], CSCHED_FD_READ, take, loop);
  if (csched_loop_add_fd(loop, &source) != 0) return AN_ERROR;
  bool is_written = write(ends[1], "x", 1) == 1;
  csched_timer_init(&timer, &type, NULL);
  if (csched_target_submit_at(csched_loop_target(loop), &timer, csched_now() + MS, 0) != 0) return WRONG;
  csched_loop_run_until(loop, csched_now() + 5 * MS);
  if (is_sound && is_written && reads != 1) return WRONG;
  bool submits = pthread_create(&submitter, NULL, submit_late, loop) == 0;
  csched_time start = csched_now(), used = processor_time();
  csched_loop_run_until(loop, start + 60 * MS);
  if (csched_now() < start + 60 * MS) return WRONG;
  if (processor_time() - used > 40 * MS) return SPINS;
  if (submits) pthread_join(submitter, NULL);
  while (csched_load_relaxed(&released) < 1 + (uint32_t)submits) csched_loop_run_until(loop, csched_now() + MS);
  wait_for(1 + (uint32_t)submits);
  csched_loop_remove_fd(loop, &source);
  csched_loop_destroy(loop);
  close(ends[0]);
  close(ends[1]);
  return DONE;
}

static void note(void *context) { ++*(int *)context; }

static int use_pool(void) {
  static csched_job jobs[100];
  static csched_timer timer;
  csched_pool *pool;
  csched_serial *queue;
  int synced = 0;
  if (csched_pool_create(&pool, &(csched_pool_options){.name = "refused", .workers = 2}) != 0) return AN_ERROR;
  for (int i = 0; i < 100; i++) {
    csched_job_init(&jobs[i], i % 10 == 0 ? &blocking : &type, NULL);
    if (csched_target_submit(csched_pool_target(pool, (csched_priority)(i % 4)), &jobs[i]) != 0) return WRONG;
  }
  wait_for(100);
  csched_timer_init(&timer, &type, NULL);
  csched_target_submit_at(csched_pool_target(pool, CSCHED_PRIORITY_LOW), &timer, csched_now() + MS,
                          0); // run, or dropped with an error
  wait_for(1);
  if (csched_serial_create(&queue, csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT)) != 0) return AN_ERROR;
  if (csched_serial_sync(queue, note, &synced) != 0 || synced != 1) return WRONG;
  csched_serial_destroy(queue);
  csched_pool_destroy(pool);
  return DONE;
}

static int perform_at_once(csched_target *target, csched_job *job) {
  csched_target_perform(target, job);
  return 0;
}
static const csched_target_type user_type = {.deliver = perform_at_once};

static int use_clock(void) {
  static csched_timer timer, other;
  static csched_target user = {.type = &user_type};
  csched_thread *thread;
  if (csched_thread_start(&thread, NULL) != 0) return AN_ERROR;
  csched_timer_init(&timer, &type, NULL);
  csched_target_submit_at_clock(csched_loop_target(csched_thread_loop(thread)), CSCHED_CLOCK_WALL, &timer,
                                csched_clock_now(CSCHED_CLOCK_WALL) + 2 * MS, 0);
  csched_timer_init(&other, &type, NULL); // which the clocks' thread has delivered
  csched_target_submit_at_clock(&user, CSCHED_CLOCK_WALL, &other, csched_clock_now(CSCHED_CLOCK_WALL) + 2 * MS, 0);
  wait_for(2);
  csched_thread_destroy(thread);
  csched_shutdown(CSCHED_STOP_DROP);
  return DONE;
}

// MARK: sources

static int signals;
static void count_signals(csched_signal_source *source, uint32_t count) { (void)source, signals += (int)count; }
static void see_end(csched_child_source *source, csched_child_end end, int status) {
  (void)source, (void)end, (void)status;
}
static void see_change(csched_file_source *source, unsigned changes, const char *name) {
  (void)source, (void)changes, (void)name;
}

static int open_descriptors(void) {
  int count = 0;
  for (int fd = 0; fd < 256; fd++) count += fcntl(fd, F_GETFD) >= 0;
  return count;
}

// Each source is added, or refused without a leak. Runs before there are threads, which may open or close descriptors
// meanwhile.
static int use_sources(void) {
  csched_loop *loop;
  csched_fd_source fd;
  csched_signal_source signal_source;
  csched_child_source child;
  csched_file_source file;
  struct sigaction now;
  int worst = DONE, ends[2];
  if (csched_loop_create(&loop) != 0 || pipe(ends) != 0) return AN_ERROR;
  csched_fd_source_init(&fd, ends[0], CSCHED_FD_READ, take, loop);
  if (csched_loop_add_fd(loop, &fd) != 0) return AN_ERROR; // which has opened the loop's own descriptors
  csched_signal_source_init(&signal_source, SIGUSR1, count_signals, NULL);
  csched_child_source_init(&child, getpid(), see_end, NULL);
  csched_file_source_init(&file, "/tmp", CSCHED_FILE_CREATED, see_change, NULL);
  for (int i = 0; i < 2; i++) { // the first time a bell is opened for the signal, and kept
    int before = open_descriptors(), bell = i == 0;
    int error = csched_loop_add_signal(loop, &signal_source);
    if (error == 0) csched_loop_remove_signal(loop, &signal_source);
    else if (csched_loop_remove_signal(loop, &signal_source) != ENOENT) return WRONG;
    if (open_descriptors() > before + bell) return WRONG;
    if (sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler != SIG_DFL) return WRONG;
    if (error != 0) worst = AN_ERROR;
  }
  int before = open_descriptors();
  int errors[] = {csched_loop_add_child(loop, &child), csched_loop_add_file(loop, &file)};
  if (open_descriptors() != before + (errors[0] == 0) + (errors[1] == 0)) return WRONG;
  if (csched_loop_remove_child(loop, &child) != (errors[0] == 0 ? 0 : ENOENT)) return WRONG;
  if (csched_loop_remove_file(loop, &file) != (errors[1] == 0 ? 0 : ENOENT)) return WRONG;
  if (open_descriptors() != before) return WRONG;
  if (errors[0] != 0 || errors[1] != 0) worst = AN_ERROR;
  csched_loop_destroy(loop);
  close(ends[0]);
  close(ends[1]);
  return worst;
}

// MARK: rows

static const struct {
  const char *name;
  long number;
  bool before; // also before the program is loaded, which has to get by without it
} calls[] = {
    {"membarrier", SYS_membarrier, true},
    {"timerfd_settime", SYS_timerfd_settime, true},
    {"timerfd_create", SYS_timerfd_create, true},
    {"epoll_pwait", SYS_epoll_pwait, true},
    {"epoll_ctl", SYS_epoll_ctl, true},
    {"epoll_create1", SYS_epoll_create1, true},
    {"eventfd2", SYS_eventfd2, true},
    {"write", SYS_write, false},
    {"gettid", SYS_gettid, true},
    {"openat", SYS_openat, false},
    {"read", SYS_read, false},
    {"futex", SYS_futex, true},
    {"clock_gettime", SYS_clock_gettime, true},
    {"sched_getaffinity", SYS_sched_getaffinity, true},
    {"prctl", SYS_prctl, true},
    {"setpriority", SYS_setpriority, true},
    {"getpriority", SYS_getpriority, true},
    {"tgkill", SYS_tgkill, true},
    {"mprotect", SYS_mprotect, false},
    {"clone3", SYS_clone3, true},
    {"rt_sigprocmask", SYS_rt_sigprocmask, true},
    {"sched_yield", SYS_sched_yield, true},
    {"pidfd_open", SYS_pidfd_open, true},
    {"inotify_init1", SYS_inotify_init1, true},
    {"inotify_add_watch", SYS_inotify_add_watch, true},
    {"rt_sigaction", SYS_rt_sigaction, false},
};
enum { CALLS = sizeof calls / sizeof calls[0] };
static const int errors[] = {EPERM, ENOSYS, EINVAL, ENOMEM, EMFILE};

static void refuse(long number, int error) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, error == KILL ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | (uint32_t)error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
    _exit(77);
}

static void limit(int resource, rlim_t most) {
  if (setrlimit(resource, &(struct rlimit){most, most}) != 0) _exit(77);
}

static void be_on_one_processor(void) {
  cpu_set_t set;
  int first = 0;
  if (sched_getaffinity(0, sizeof set, &set) != 0) _exit(77);
  while (!CPU_ISSET(first, &set)) first++;
  CPU_ZERO(&set);
  CPU_SET(first, &set);
  sched_setaffinity(0, sizeof set, &set);
}

// Limits that are set before the program is loaded.
static const char *const narrow[] = {"few descriptors", "little memory", "small stacks", "one processor",
                                     "no more threads"};
enum { NARROW = sizeof narrow / sizeof narrow[0] };

static void make_narrow(int which) {
  switch (which) {
  case 0: limit(RLIMIT_NOFILE, 7); break;
  case 1: limit(RLIMIT_AS, 64 << 20); break;
  case 2: limit(RLIMIT_STACK, 64 << 10); break;
  case 3: be_on_one_processor(); break;
  default: // root is not limited
    if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(77);
    limit(RLIMIT_NPROC, 1);
  }
}

// "after CALL ERRNO", "before CALL ERRNO" (the exec has come), "narrow".
static int be_row(char **arguments) {
  alarm(SECONDS);
  bool is_sound = true;
  if (strcmp(arguments[1], "after") == 0) {
    csched_lock_lock(&lock);
    csched_lock_unlock(&lock);
    long number = atol(arguments[2]);
    refuse(number, atoi(arguments[3]));
    is_sound = number != SYS_read && number != SYS_write;
  }
  int (*const parts[])(void) = {use_sources, use_lock, use_thread, use_many_threads, use_pool, use_clock};
  enum { PARTS = sizeof parts / sizeof parts[0] };
  int result = use_loop(is_sound), worst = result;
  for (int i = 0; i < PARTS && result != WRONG && result != SPINS; i++)
    if ((result = parts[i]()) != DONE) worst = result;
  return worst;
}

static pid_t start(int said, const char *kind, int row, int error) {
  char number[24], with[24];
  pid_t child = fork();
  if (child != 0) return child;
  dup2(said, STDERR_FILENO);
  limit(RLIMIT_CORE, 0);
  long call = strcmp(kind, "narrow") == 0 ? row : calls[row].number;
  snprintf(number, sizeof number, "%ld", call);
  snprintf(with, sizeof with, "%d", error);
  if (strcmp(kind, "before") == 0) refuse(call, error);
  if (strcmp(kind, "narrow") == 0) make_narrow(row);
  execl("/proc/self/exe", "refused", kind, number, with, (char *)NULL);
  _exit(78);
}

// Returns: whether the row ends as it may.
static bool try(const char *kind, const char *name, int row, int error) {
  int ends[2], status = 0;
  char text[1000];
  size_t length = 0;
  if (pipe(ends) != 0) return false;
  pid_t child = start(ends[1], kind, row, error);
  close(ends[1]);
  for (ssize_t count; length < sizeof text - 1 && (count = read(ends[0], text + length, sizeof text - 1 - length)) > 0;)
    length += (size_t)count;
  text[length] = 0;
  close(ends[0]);
  waitpid(child, &status, 0);
  if (WIFEXITED(status) &&
      (WEXITSTATUS(status) == DONE || WEXITSTATUS(status) == AN_ERROR || WEXITSTATUS(status) == 77))
    return true;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && length > 0) return true; // the C library has messages, too
  fprintf(stderr, "refused: %s %s, errno %d: %s %d: %s\n", kind, name, error, WIFSIGNALED(status) ? "signal" : "status",
          WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), text);
  return false;
}

int main(int count, char **arguments) {
  if (count == 4) return be_row(arguments);
  int rows = 0, wrong = 0;
  for (int call = 0; call < CALLS; call++) {
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++, rows++)
      wrong += !try("after", calls[call].name, call, errors[i]);
    for (size_t i = 0; i < 2 && calls[call].before; i++, rows++)
      wrong += !try("before", calls[call].name, call, errors[i]);
    if (calls[call].number == SYS_openat) rows++, wrong += !try("after", "openat", call, KILL);
  }
  for (int i = 0; i < NARROW; i++, rows++) wrong += !try("narrow", narrow[i], i, 0);
  printf("%d refusals, %d without a message, an error or the work done\n", rows, wrong);
  return wrong == 0 ? 0 : 1;
}
