// What loading the library costs: system calls, files, time; and that locks work before its constructors have run.
// Linked before the library, so that the first constructor comes before the library's; main comes after all of them.
#define _GNU_SOURCE
#include <CScheduler/CScheduler.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// So that all of the library is linked, with its constructors.
int (*volatile all_of_it[])(csched_pool **, const csched_pool_options *) = {csched_pool_create};
int (*volatile clocks)(csched_target *, csched_clock, csched_timer *, csched_time,
                       csched_time) = csched_target_submit_at_clock;

enum { MARK = 0x7A57, MOST_CALLS = 4, MOST_TIME = 50000, THREADS = 4, RUNS = 20 };

static uint64_t began; // ns

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

// MARK: locks before the constructors

static csched_lock lock;
static long guarded, rounds[THREADS];
static uint32_t is_over;
static pthread_t threads[THREADS];

static void *use_lock(void *index) {
  long *mine = &rounds[(intptr_t)index];
  while (csched_load_acquire(&is_over) == 0) {
    csched_lock_lock(&lock);
    guarded++;
    for (volatile int i = 0; i < 200; i++) {}
    csched_lock_unlock(&lock);
    if (++*mine % 16 == 0) usleep(100); // so that others sleep for it, and are woken
  }
  return NULL;
}

static void start_early(void) {
  csched_lock_lock(&lock);
  for (intptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, use_lock, (void *)i);
  usleep(5000); // until they sleep
  csched_lock_unlock(&lock);
}

static int end_early(void) {
  long sum = 0;
  usleep(50000);
  csched_store_release(&is_over, 1u);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; i++) sum += rounds[i];
  return sum == guarded && sum > THREADS ? 0 : 1;
}

__attribute__((constructor(101))) static void begin(void) {
  const char *early = getenv("EARLY");
  if (early != NULL && strcmp(early, "1") == 0) start_early();
  began = now();
  syscall(SYS_getpgid, MARK);
}

// MARK: counting

static const char *name_of_file_call(long number) {
#ifdef SYS_open
  if (number == SYS_open) return "open";
#endif
  return number == SYS_openat ? "openat" : number == SYS_openat2 ? "openat2" : NULL;
}

static long number_of_call(pid_t child, bool *is_mark) {
  struct __ptrace_syscall_info info;
  if (ptrace(PTRACE_GET_SYSCALL_INFO, child, (void *)sizeof info, &info) <= 0 || info.op != PTRACE_SYSCALL_INFO_ENTRY)
    return -1;
  *is_mark = info.entry.nr == SYS_getpgid && info.entry.args[0] == MARK;
  return (long)info.entry.nr;
}

// Runs this program anew under our eyes. Returns: the calls between its marks; -1 when a file was opened.
static int count_calls(char **arguments) {
  pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    execl("/proc/self/exe", arguments[0], "traced", (char *)NULL);
    _exit(127);
  }
  int status, marks = 0, count = 0;
  waitpid(child, &status, 0);
  ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL));
  for (; !WIFEXITED(status) && !WIFSIGNALED(status); waitpid(child, &status, 0)) {
    bool is_mark = false;
    long number = number_of_call(child, &is_mark);
    const char *file = number >= 0 && marks == 1 && !is_mark ? name_of_file_call(number) : NULL;
    if (file != NULL) fprintf(stderr, "load: calls %s\n", file);
    if (file != NULL) return -1;
    count += number >= 0 && marks == 1 && !is_mark;
    marks += is_mark;
    ptrace(PTRACE_SYSCALL, child, NULL, NULL);
  }
  return marks == 2 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? count : -1;
}

static int run(char **arguments, const char *as, const char *early) {
  pid_t child = fork();
  if (child == 0) {
    setenv("EARLY", early, 1);
    alarm(20);
    execl("/proc/self/exe", arguments[0], as, (char *)NULL);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

int main(int count, char **arguments) {
  syscall(SYS_getpgid, MARK);
  uint64_t took = now() - began;
  if (count > 1 && strcmp(arguments[1], "traced") == 0) return 0;
  if (count > 1 && strcmp(arguments[1], "timed") == 0) return took <= MOST_TIME ? 0 : 1;
  if (count > 1 && strcmp(arguments[1], "early") == 0) return end_early();

  int calls = count_calls(arguments), in_time = 0;
  for (int i = 0; i < RUNS; i++) in_time += run(arguments, "timed", "0") == 0;
  if (calls < 0 || calls > MOST_CALLS || in_time == 0) { // the machine may be busy, but not always
    fprintf(stderr, "load: %d system calls, in time %d times of %d\n", calls, in_time, (int)RUNS);
    return 1;
  }
  for (int i = 0; i < RUNS; i++) {
    int status = run(arguments, "early", "1");
    if (status == 0) continue;
    fprintf(stderr, "load: a lock that is used before the constructors: status %d\n", status);
    return 1;
  }
  printf("loading takes %d system calls, no file, and no more than %d us; locks work before it\n", calls,
         MOST_TIME / 1000);
  return 0;
}
