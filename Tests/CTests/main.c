// Runs the tests of the C core, each in a process of its own, several at a time.
//
//   --list              prints the names of the tests, and runs none
//   --only TEXT         runs the tests whose names contain TEXT; may be repeated
//   --jobs N            so many at a time; two for each processor when left out
//   --scale X           multiplies the rounds of tests that repeat; SCHEDULER_TEST_SCALE or 0.4 when left out
//   --seed N            repeats the random choices of another run; SCHEDULER_TEST_SEED or the clock when left out
//   --under TOOL        memcheck, helgrind, drd or qemu: skips the tests that make no sense there, and prints why
//   --timeout SECONDS   ends a test that takes longer; 120 when left out
//
// For each test one line: "ok NAME (12 ms)", "FAILED NAME (12 ms): FILE:LINE: what did not hold", or "skipped NAME:
// why". The last line is
// "N passed, N failed". The exit status is 0 when all passed, 1 when not, and 64 for an argument that makes no sense.

#include "testing.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_JOBS 64
#define MOST_ONLY 64

static struct {
  bool lists;
  const char *only[MOST_ONLY];
  int only_count, jobs, timeout;
  double scale;
  uint64_t seed;
  unsigned under;
} options = {.timeout = 120, .scale = 0.4};

static test *first_test, **last_test = &first_test;

void test_register(test *test) {
  *last_test = test;
  last_test = &test->next;
}

void test_set_messages(test *test, const char **room, const char *const *messages) {
  if (messages == NULL) return;
  test->messages = room;
  while ((*room++ = *messages++) != NULL) {}
}

int times_least(int count, int least) {
  int scaled = (int)(count * options.scale);
  return scaled >= least ? scaled : count < least ? count : least;
}
int times(int count) { return times_least(count, 1); }
int few(int count) { return is_under(HELGRIND | DRD) ? (count + 7) / 8 : count; }
uint64_t seed(void) { return options.seed; }
bool is_under(unsigned tools) { return (options.under & tools) != 0; }

// MARK: one test, in its process

// Returns: a list of the test's leaked objects, as text; NULL: none.
static const char *find_left(void) {
  static char text[160];
  size_t threads = 0;
  int64_t jobs = 0;
  csched_time end = csched_now() + 10000 * MS; // threads end in their own time
  do {
    threads = csched_live_threads();
    jobs = csched_counted_sum_(CSCHED_COUNTED_JOBS_);
    if (threads == 0 && jobs == 0) return NULL;
    nap(MS / 5);
  } while (csched_now() < end);
  snprintf(text, sizeof text, "left behind: %zu threads, %lld jobs", threads, (long long)jobs);
  return text;
}

static void say(int to, const char *text) {
  ssize_t written = write(to, text, strlen(text));
  (void)written;
}

static CSCHED_NORETURN void run_in_child(const test *test, int findings, int output) {
  setpgid(0, 0);
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  // No crash handler of Swift's runtime, which SwiftPM links.
  for (int i = 0; i < 4; i++) signal((int[]){SIGABRT, SIGTRAP, SIGILL, SIGHUP}[i], SIG_DFL); // the last under nohup
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  test->body();
  fflush(NULL);
  if (test->messages == NULL) {
    const char *found = ctest_found();
    csched_shutdown(CSCHED_STOP_RUN); // so that a leak checker finds nothing
    if (found == NULL) found = find_left();
    say(findings, found != NULL ? found : "ok");
  }
  exit(0); // AddressSanitizer checks for leaks here
}

// MARK: all of them

typedef struct running {
  const test *test;
  pid_t process;
  int findings, output;
  csched_time since;
  bool is_late;
} running;

static running all_running[MOST_JOBS];
static int running_count, passed, failed;

static size_t read_all(int from, char *text, size_t room) {
  size_t length = 0;
  for (ssize_t count; length < room - 1; length += (size_t)count)
    if ((count = read(from, text + length, room - 1 - length)) <= 0) break;
  text[length] = 0;
  return length;
}

static void report(const running *each, const char *finding, const char *output) {
  unsigned long long ms = (csched_now() - each->since) / 1000000;
  if (finding == NULL) {
    passed++;
    printf("ok %s (%llu ms)\n", each->test->name, ms);
  } else {
    failed++;
    printf("FAILED %s (%llu ms): %s\n", each->test->name, ms, finding);
    if (output[0] != 0) fprintf(stderr, "%s\n", output);
  }
  fflush(stdout);
}

// Judges a process that has ended.
static void judge(const running *each, int status) {
  static char output[1 << 16], said[2048], finding[4096];
  lseek(each->output, 0, SEEK_SET);
  read_all(each->output, output, sizeof output);
  read_all(each->findings, said, sizeof said);
  const test *test = each->test;
  int length = 0;
  finding[0] = 0;
  if (strcmp(said, "ok") != 0 && said[0] != 0) length = snprintf(finding, sizeof finding, "%s", said);
  else length = snprintf(finding, sizeof finding, "%s:%d: ", test->file, test->line);
  char *rest = finding + length;
  size_t room = sizeof finding - (size_t)length;
  bool is_stopped =
      WIFSIGNALED(status) && (WTERMSIG(status) == SIGABRT || WTERMSIG(status) == SIGTRAP || WTERMSIG(status) == SIGILL);
  if (each->is_late) {
    snprintf(rest, room, "no end within %d s", options.timeout);
  } else if (test->messages != NULL) {
    if (!is_stopped) snprintf(rest, room, "the process was not stopped, but ended with status %#x", (unsigned)status);
    for (const char *const *part = test->messages; is_stopped && *part != NULL; part++) {
      if (strstr(output, *part) != NULL) continue;
      is_stopped = false;
      snprintf(rest, room, "the message lacks \"%s\"", *part);
    }
    if (is_stopped) finding[0] = 0;
  } else if (WIFSIGNALED(status)) {
    snprintf(rest, room, "stopped by signal %d, %s", WTERMSIG(status), strsignal(WTERMSIG(status)));
  } else if (WEXITSTATUS(status) != 0) {
    snprintf(rest, room, "ended with %d", WEXITSTATUS(status));
  } else if (strcmp(said, "ok") == 0) {
    finding[0] = 0;
  } else if (said[0] == 0) {
    snprintf(rest, room, "ended before its last line");
  }
  report(each, finding[0] != 0 ? finding : NULL, output);
}

static void start(const test *test) {
  int ends[2], output = -1;
  FILE *file = tmpfile();
  if (file == NULL || pipe(ends) != 0 || (output = dup(fileno(file))) < 0) abort();
  fclose(file);
  fflush(NULL);
  running *each = &all_running[running_count++];
  *each = (running){.test = test, .findings = ends[0], .output = output, .since = csched_now()};
  each->process = fork();
  if (each->process < 0) abort();
  if (each->process == 0) {
    close(ends[0]);
    run_in_child(test, ends[1], output);
  }
  close(ends[1]);
}

// Waits until one has ended, or is too late.
static void await_one(void) {
  for (;;) {
    for (int i = 0; i < running_count; i++) {
      running *each = &all_running[i];
      int status = 0;
      bool has_ended = waitpid(each->process, &status, WNOHANG) == each->process;
      if (!has_ended && csched_now() - each->since < (csched_time)options.timeout * 1000 * MS) continue;
      each->is_late = !has_ended;
      kill(-each->process, SIGKILL); // and its children
      if (!has_ended) waitpid(each->process, &status, 0);
      judge(each, status);
      close(each->findings);
      close(each->output);
      all_running[i] = all_running[--running_count];
      return;
    }
    nap(MS);
  }
}

static bool is_chosen(const test *test) {
  bool is = options.only_count == 0;
  for (int i = 0; i < options.only_count; i++) is |= strstr(test->name, options.only[i]) != NULL;
  return is;
}

static CSCHED_NORETURN void refuse(const char *program) {
  fprintf(stderr,
          "%s [--list] [--only TEXT]... [--jobs 1-%d] [--scale X] [--seed N] [--under memcheck|helgrind|drd|qemu] "
          "[--timeout SECONDS]\n",
          program, MOST_JOBS);
  exit(64);
}

static double number(const char *program, const char *text, double least, double most) {
  char *end;
  double value = strtod(text, &end);
  if (*text == 0 || *end != 0 || !(value >= least && value <= most)) refuse(program);
  return value;
}

static void read_arguments(int count, char **arguments) {
  const char *program = arguments[0];
  const char *scale = getenv("SCHEDULER_TEST_SCALE"), *seed = getenv("SCHEDULER_TEST_SEED");
  if (scale != NULL) options.scale = number(program, scale, 0, 1e6);
  options.seed = seed != NULL ? strtoull(seed, NULL, 0) : csched_now();
  options.jobs = 2 * (int)sysconf(_SC_NPROCESSORS_ONLN);
  if (options.jobs > MOST_JOBS) options.jobs = MOST_JOBS;
  switch (ctest_sanitizer()) { // which makes each round slower
  case CTEST_NO_SANITIZER: break;
  case CTEST_ADDRESS_SANITIZER: options.under = ADDRESS_SANITIZER, options.scale *= 0.5; break;
  case CTEST_THREAD_SANITIZER: options.under = THREAD_SANITIZER, options.scale *= 0.3; break;
  case CTEST_MEMORY_SANITIZER: options.under = MEMORY_SANITIZER, options.scale *= 0.3; break;
  }
  for (int i = 1; i < count; i++) {
    const char *each = arguments[i];
    if (strcmp(each, "--list") == 0) {
      options.lists = true;
      continue;
    }
    if (++i >= count) refuse(program);
    const char *value = arguments[i];
    if (strcmp(each, "--only") == 0 && options.only_count < MOST_ONLY) options.only[options.only_count++] = value;
    else if (strcmp(each, "--jobs") == 0) options.jobs = (int)number(program, value, 1, MOST_JOBS);
    else if (strcmp(each, "--scale") == 0) options.scale = number(program, value, 0, 1e6);
    else if (strcmp(each, "--seed") == 0) options.seed = strtoull(value, NULL, 0);
    else if (strcmp(each, "--timeout") == 0) options.timeout = (int)number(program, value, 1, 1e6);
    else if (strcmp(each, "--under") == 0 && strcmp(value, "memcheck") == 0) options.under |= MEMCHECK;
    else if (strcmp(each, "--under") == 0 && strcmp(value, "helgrind") == 0) options.under |= HELGRIND;
    else if (strcmp(each, "--under") == 0 && strcmp(value, "drd") == 0) options.under |= DRD;
    else if (strcmp(each, "--under") == 0 && strcmp(value, "qemu") == 0) options.under |= QEMU;
    else refuse(program);
  }
}

static bool has_pidfd(void) {
#ifdef SYS_pidfd_open
  int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
  if (fd < 0) return errno != ENOSYS;
  close(fd);
#endif
  return true;
}

int main(int count, char **arguments) {
  read_arguments(count, arguments);
  if (!is_under(VALGRIND | QEMU) && !has_pidfd()) options.under |= NO_PIDFD;
  if (!options.lists) printf("seed %llu\n", (unsigned long long)options.seed);
  for (const test *each = first_test; each != NULL; each = each->next) {
    if (!is_chosen(each)) continue;
    if (options.lists) {
      printf("%s\n", each->name);
    } else if (is_under(each->skipped_under)) {
      printf("skipped %s: %s\n", each->name, each->why);
    } else {
      while (running_count == options.jobs) await_one();
      start(each);
    }
  }
  while (running_count > 0) await_one();
  if (options.lists) return 0;
  printf("%d passed, %d failed\n", passed, failed);
  return failed > 0 || passed == 0;
}
