#define _GNU_SOURCE
#include <CTestSupport.h>

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

ctest_sanitizer_kind ctest_sanitizer(void) {
#if defined(__SANITIZE_THREAD__)
  return CTEST_THREAD_SANITIZER;
#elif defined(__SANITIZE_ADDRESS__)
  return CTEST_ADDRESS_SANITIZER;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
  return CTEST_THREAD_SANITIZER;
#elif __has_feature(address_sanitizer)
  return CTEST_ADDRESS_SANITIZER;
#elif __has_feature(memory_sanitizer)
  return CTEST_MEMORY_SANITIZER;
#else
  return CTEST_NO_SANITIZER;
#endif
#else
  return CTEST_NO_SANITIZER;
#endif
}

uint32_t ctest_thread_id(void) {
  static CSCHED_THREAD_LOCAL uint32_t id;
  if (id == 0) id = (uint32_t)syscall(SYS_gettid);
  return id;
}

void ctest_thread_name(char *name) {
  if (pthread_getname_np(pthread_self(), name, 64) != 0) strcpy(name, "?");
}

static bool read_file(const char *path, char *text, size_t size) {
  FILE *file = fopen(path, "r");
  if (file == NULL) return false;
  size_t length = fread(text, 1, size - 1, file);
  fclose(file);
  text[length] = 0;
  return length > 0;
}

typedef struct process {
  int id, parent;
  int64_t ticks; // of processor time
  bool is_ours;
} process;

// Reads the system's line of the process `id`. Returns: false: it is gone.
static bool read_process(int id, process *process) {
  char path[64], line[1024];
  unsigned long user, system;
  snprintf(path, sizeof path, "/proc/%d/stat", id);
  const char *rest = read_file(path, line, sizeof line) ? strrchr(line, ')') : NULL; // behind the name
  if (rest == NULL ||
      sscanf(rest, ") %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &process->parent, &user, &system) != 3)
    return false;
  process->id = id;
  process->ticks = (int64_t)(user + system);
  process->is_ours = id == getpid();
  return true;
}

int64_t ctest_family_processor_time(void) {
  enum { MOST = 4096 };
  static process all[MOST]; // of one caller
  int count = 0;
  DIR *processes = opendir("/proc");
  for (struct dirent *each; count < MOST && processes != NULL && (each = readdir(processes)) != NULL;)
    if (atoi(each->d_name) > 0 && read_process(atoi(each->d_name), &all[count])) count++;
  if (processes != NULL) closedir(processes);
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (int i = 0; i < count; i++)
      for (int j = 0; !all[i].is_ours && j < count; j++)
        if (all[j].is_ours && all[j].id == all[i].parent) has_changed = all[i].is_ours = true;
  }
  int64_t ticks = 0;
  for (int i = 0; i < count; i++)
    if (all[i].is_ours) ticks += all[i].ticks;
  if (count > 0) return ticks * (1000000000 / sysconf(_SC_CLK_TCK));
  struct timespec own; // without /proc
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
  return (int64_t)own.tv_sec * 1000000000 + own.tv_nsec;
}

// Returns: the number of the next thread; 0 after the last one.
static uint32_t next_thread(DIR *tasks) {
  for (struct dirent *each; tasks != NULL && (each = readdir(tasks)) != NULL;)
    if (each->d_name[0] != '.') return (uint32_t)atoi(each->d_name);
  return 0;
}

// Writes the name of a thread that has not begun to exit. A thread that was joined stays listed for a moment, with the
// flag PF_EXITING.
// Returns: whether there is such a thread.
static bool name_of_live(uint32_t thread, char name[32]) {
  enum { PF_EXITING = 4 };
  char path[64], text[512];
  snprintf(path, sizeof path, "/proc/self/task/%u/stat", thread);
  if (!read_file(path, text, sizeof text)) return false;
  const char *start = strchr(text, '('), *end = strrchr(text, ')');
  unsigned flags;
  if (start == NULL || end == NULL || sscanf(end, ") %*c %*d %*d %*d %*d %*d %u", &flags) != 1) return false;
  snprintf(name, 32, "%.*s", (int)(end - start - 1), start + 1);
  return (flags & PF_EXITING) == 0;
}

// How many threads there are, or bear `name`, and the number of the last of them.
static size_t count_threads(const char *name, uint32_t *last) {
  DIR *tasks = opendir("/proc/self/task");
  size_t count = 0;
  for (uint32_t thread; (thread = next_thread(tasks)) != 0;) {
    char its_name[32];
    if (!name_of_live(thread, its_name) || (name != NULL && strcmp(its_name, name) != 0)) continue;
    if (last != NULL) *last = thread;
    count++;
  }
  if (tasks != NULL) closedir(tasks);
  return count;
}

size_t ctest_thread_count(void) { return count_threads(NULL, NULL); }

size_t ctest_threads_named(const char *name) { return count_threads(name, NULL); }

// Returns: what follows `key` in what the system says of a thread; NULL when it is gone.
static const char *status_text(uint32_t thread, const char *key, char (*text)[4096]) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%u/status", thread);
  char *line = read_file(path, *text, sizeof *text) ? strstr(*text, key) : NULL;
  return line == NULL ? NULL : line + strlen(key);
}

bool ctest_thread_mask(const char *name, unsigned long long *mask) {
  char text[4096];
  uint32_t thread = 0;
  if (count_threads(name, &thread) == 0) return false;
  const char *blocked = status_text(thread, "\nSigBlk:", &text);
  return blocked != NULL && sscanf(blocked, " %llx", mask) == 1;
}

int ctest_nice_of_thread(const char *name) {
  uint32_t thread = 0;
  count_threads(name, &thread);
  return getpriority(PRIO_PROCESS, thread);
}

uint32_t ctest_thread_named_so(const char *name) {
  uint32_t thread = 0;
  count_threads(name, &thread);
  return thread;
}

static int64_t status_of(uint32_t thread, const char *key) {
  char text[4096];
  const char *number = status_text(thread, key, &text);
  return number == NULL ? -1 : atoll(number);
}

bool ctest_thread_sleeps(uint32_t thread) {
  char text[4096];
  const char *state = status_text(thread, "\nState:\t", &text);
  return state != NULL && *state == 'S';
}

bool ctest_other_threads_sleep(void) {
  DIR *tasks = opendir("/proc/self/task");
  bool sleep = tasks != NULL;
  for (uint32_t thread; sleep && (thread = next_thread(tasks)) != 0;)
    sleep = thread == ctest_thread_id() || ctest_thread_sleeps(thread);
  if (tasks != NULL) closedir(tasks);
  return sleep;
}

int64_t ctest_thread_voluntary_switches(uint32_t thread) { return status_of(thread, "\nvoluntary_ctxt_switches:"); }

int64_t ctest_thread_switches(uint32_t thread) {
  int64_t voluntary = ctest_thread_voluntary_switches(thread);
  return voluntary < 0 ? -1 : voluntary + status_of(thread, "\nnonvoluntary_ctxt_switches:");
}

// Writes what the system's scheduler counts for a thread, in nanoseconds. Returns: whether it does.
static bool times_of(uint32_t thread, long long *running, long long *delayed) {
  char path[64], text[128];
  snprintf(path, sizeof path, "/proc/self/task/%u/schedstat", thread);
  return read_file(path, text, sizeof text) && sscanf(text, "%lld %lld", running, delayed) == 2;
}

int64_t ctest_thread_processor_time(uint32_t thread) {
  long long running, delayed;
  return times_of(thread, &running, &delayed) ? running : -1;
}

int64_t ctest_thread_run_delay(uint32_t thread) {
  long long running, delayed;
  return times_of(thread, &running, &delayed) ? delayed : 0;
}

int64_t ctest_resident_bytes(void) {
  char text[128];
  long total, resident;
  if (!read_file("/proc/self/statm", text, sizeof text) || sscanf(text, "%ld %ld", &total, &resident) != 2) return -1;
  return resident * sysconf(_SC_PAGESIZE);
}

void ctest_on_one_processor(void (*body)(void *), void *context) {
  cpu_set_t usable, one;
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) abort();
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
    if (CPU_ISSET(i, &usable)) CPU_SET(i, &one);
  sched_setaffinity(0, sizeof one, &one);
  body(context);
  sched_setaffinity(0, sizeof usable, &usable);
}

void ctest_end_thread(void) { pthread_exit(NULL); }

bool ctest_forbid_threads(bool forbids) {
  static bool is_user;
  static struct rlimit before;
  if (!is_user) is_user = getuid() != 0 || (setgid(65534) == 0 && setuid(65534) == 0); // root is not limited
  if (!is_user || (forbids && getrlimit(RLIMIT_NPROC, &before) != 0)) return false;
  struct rlimit limit = {forbids ? 0 : before.rlim_cur, before.rlim_max};
  return setrlimit(RLIMIT_NPROC, &limit) == 0;
}
