#if defined(__linux__) // Platform layer for Linux: processors by affinity and quota; a thread's affinity and policy.
#define _GNU_SOURCE
#include "../platform.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

// MARK: whether two threads can run at once

uint32_t csched_processors_seen_; // 0: unknown; 1 + the number of the only one so far; MANY: several, for ever

// Returns: 1 + the number of the thread's only processor; MANY: it may use several, or this is unknown (a cpu_set_t may
// be too small).
static uint32_t own_processors(void) {
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof usable, &usable) != 0 || CPU_COUNT(&usable) != 1) return CSCHED_PROCESSORS_MANY_;
  uint32_t only = 0;
  while (!CPU_ISSET(only, &usable)) only++;
  return 1 + only;
}

void csched_processors_note_own_(void) { // adds the calling thread's processors to csched_processors_seen_
  uint32_t seen = csched_load_relaxed(&csched_processors_seen_); // Speed only
  if (CSCHED_LIKELY(seen == CSCHED_PROCESSORS_MANY_)) return;    // MANY is final
  int saved = errno;
  uint32_t here = own_processors(); // 0 becomes `here`; any other value becomes MANY
  while (seen != here && seen != CSCHED_PROCESSORS_MANY_ &&
         !csched_cas_relaxed(&csched_processors_seen_, &seen, seen == 0 ? here : CSCHED_PROCESSORS_MANY_)) {}
  errno = saved;
}

bool csched_processors_recheck_(void) { // adds them once in CALLS_PER_CHECK calls: affinities may change
  enum { CALLS_PER_CHECK = 64 };
  static uint32_t calls;
  uint32_t before = csched_load_relaxed(&calls); // Speed only: two accesses, so calls may be missed
  csched_store_relaxed(&calls, before + 1);      // Speed only
  if (before % CALLS_PER_CHECK == 0) csched_processors_note_own_();
  return csched_load_relaxed(&csched_processors_seen_) == CSCHED_PROCESSORS_MANY_; // Speed only
}

// MARK: affinity and policy

// Does: restricts the calling thread to `processors`. Returns: 0; EINVAL: one is not available. The kernel omits such
// processors without an error, so this compares the new affinity with `wanted`. After EINVAL the thread may already be
// restricted to the available ones: the caller ends the thread.
int csched_os_thread_set_affinity_(const unsigned *processors, size_t count) {
  cpu_set_t wanted, found;
  CPU_ZERO(&wanted);
  for (size_t i = 0; i < count; i++) {
    if (processors[i] >= CPU_SETSIZE) return EINVAL; // CPU_SET would ignore it
    CPU_SET(processors[i], &wanted);
  }
  int saved = errno;
  bool is_kept = sched_setaffinity(0, sizeof wanted, &wanted) == 0 && sched_getaffinity(0, sizeof found, &found) == 0 &&
                 CPU_EQUAL(&wanted, &found);
  errno = saved;
  return is_kept ? 0 : EINVAL;
}

// Does: gives the calling thread a policy. `priority`: with NICE a nice value, else a real-time priority. Returns: 0 or
// an errno value.
int csched_os_thread_set_policy_(unsigned policy, int priority) {
  int saved = errno, error = EINVAL; // EINVAL: an unknown policy, or a nice value outside -20 to 19
  struct sched_param real_time = {.sched_priority = priority}; // RESET_ON_FORK: not for threads that this one starts
  if (policy == CSCHED_OS_POLICY_NICE && priority >= -20 && priority <= 19)
    error = setpriority(PRIO_PROCESS, 0, priority) == 0 ? 0 : errno;
  else if (policy == CSCHED_OS_POLICY_FIFO || policy == CSCHED_OS_POLICY_ROUND_ROBIN)
    error = syscall(SYS_sched_setscheduler, 0, // raw: musl's function does nothing
                    (policy == CSCHED_OS_POLICY_FIFO ? SCHED_FIFO : SCHED_RR) | SCHED_RESET_ON_FORK, &real_time) == 0
                ? 0
                : errno;
  errno = saved;
  return error;
}

// MARK: quotas of control groups

// The buffers are small, because the thread that makes a pool may have the smallest permitted stack.

enum { PATH_SIZE = 640, NUMBERS_SIZE = 64 }; // bytes

// Does: reads the start of a file of one or two numbers into `text`. Returns: whether the file is readable and not
// empty.
static bool read_numbers(const char *path, char text[NUMBERS_SIZE]) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  ssize_t length = read(file, text, NUMBERS_SIZE - 1);
  csched_os_close_(file);
  text[length > 0 ? length : 0] = 0;
  return length > 0;
}

// Returns: quota / period, which is the number of processors, rounded up, at most `most`. A number that is not positive
// means no quota: `most`.
static unsigned quota_in_processors(long long quota, long long period, unsigned most) {
  if (quota <= 0 || period <= 0 || quota / period >= most) return most;
  return (unsigned)((quota + period - 1) / period);
}

typedef unsigned quota_reader(const char *folder,
                              unsigned most); // Returns: the least of `most` and the group's quota, in processors

static unsigned quota_of_v2(const char *folder, unsigned most) { // the file cpu.max is "QUOTA PERIOD" or "max PERIOD"
  char path[PATH_SIZE + 16], text[NUMBERS_SIZE], *rest;
  snprintf(path, sizeof path, "%s/cpu.max", folder);
  if (!read_numbers(path, text)) return most;
  long long quota = strtoll(text, &rest, 10);
  return rest == text ? most
                      : quota_in_processors(quota, strtoll(rest, NULL, 10), most); // equal: "max", no number, no quota
}

static unsigned quota_of_v1(const char *folder, unsigned most) { // two files; a quota of -1 means no quota
  char path[PATH_SIZE + 32], quota[NUMBERS_SIZE], period[NUMBERS_SIZE];
  snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
  if (!read_numbers(path, quota) || atoll(quota) <= 0) return most;
  snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
  return read_numbers(path, period) ? quota_in_processors(atoll(quota), atoll(period), most) : most;
}

// Returns: the least of `most` and the quotas of the group and of all its parents, in processors. In a container the
// path may be one of the system outside, which is not there; the container's own group is then the root. Each file
// costs 15 us of a pool's start.
// Shortens the path `group` to each parent's path in turn.
static unsigned quota_of_parents(const char *mount, char *group, quota_reader *read_quota, unsigned most) {
  for (char *last = group;; *last = 0) { // *last = 0: cuts off the last component
    char folder[PATH_SIZE];
    if ((size_t)snprintf(folder, sizeof folder, "%s%s", mount, group) < sizeof folder) most = read_quota(folder, most);
    last = strrchr(group, '/');
    if (last == NULL) return most;
  }
}

// Returns: whether one of the comma-separated names is "cpu".
static bool includes_cpu(const char *controllers) {
  for (const char *at = controllers; (at = strstr(at, "cpu")) != NULL; at += 3)
    if ((at == controllers || at[-1] == ',') && (at[3] == 0 || at[3] == ',')) return true;
  return false;
}

// Returns: the least of `most` and the quota, in processors, of the control group in `line`: "number:controllers:path".
// v2 has no controllers.
static unsigned quota_of_line(char *line, const char *mounts, unsigned most) {
  char *controllers = strchr(line, ':'), *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
  if (group == NULL) return most;
  *controllers++ = 0;
  *group++ = 0;
  if (strcmp(group, "/") == 0) *group = 0; // the root group: an empty path
  if (*controllers == 0) return quota_of_parents(mounts, group, quota_of_v2, most);
  if (!includes_cpu(controllers)) return most;
  char mount[PATH_SIZE];
  snprintf(mount, sizeof mount, "%s/cpu", mounts);
  if (access(mount, F_OK) != 0) snprintf(mount, sizeof mount, "%s/cpu,cpuacct", mounts);
  return quota_of_parents(mount, group, quota_of_v1, most);
}

unsigned csched_os_quota_(const char *groups, const char *mounts, unsigned most) {
  char line[PATH_SIZE];
  size_t length = 0;
  bool is_cut = false; // the present line of the file is longer than the buffer `line`, and is skipped
  int file = open(groups, O_RDONLY | O_CLOEXEC);
  if (file < 0) return most;
  for (ssize_t count; (count = read(file, line + length, sizeof line - 1 - length)) > 0;) {
    line[length += (size_t)count] = 0;
    for (char *end; (end = strchr(line, '\n')) != NULL; is_cut = false) { // each complete line in the buffer
      *end = 0;
      if (!is_cut) most = quota_of_line(line, mounts, most);
      length -= (size_t)(end + 1 - line);
      memmove(line, end + 1, length + 1); // moves the rest, and its final 0, to the front
    }
    if (length < sizeof line - 1) continue; // room for the rest of a line
    is_cut = true;
    length = 0;
  }
  csched_os_close_(file);
  return most;
}

unsigned csched_cpu_count_(void) { // Returns: how many processors the process may use, by affinity and quota
  int saved = errno;
  cpu_set_t usable;
  unsigned count = 0;
  if (sched_getaffinity(0, sizeof usable, &usable) == 0) {
    count = (unsigned)CPU_COUNT(&usable);
  } else {
    long online = sysconf(_SC_NPROCESSORS_ONLN); // the machine has more processors than a cpu_set_t holds
    count = online > 0 ? (unsigned)online : 1;
  }
  int before; // quotas are read from files, and read() is a cancellation point
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  if (count > 1) count = csched_os_quota_("/proc/self/cgroup", "/sys/fs/cgroup", count);
  pthread_setcancelstate(before, &before);
  errno = saved;
  return count;
}
#endif
