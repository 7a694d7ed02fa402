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

uint32_t csched_processors_seen_;

// Returns: 1 + the calling thread's only processor; MANY: it has several, or the number is unknown (a cpu_set_t may be too small for the machine).
static uint32_t own_processors(void) {
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof usable, &usable) != 0 || CPU_COUNT(&usable) != 1) return CSCHED_PROCESSORS_MANY_;
  uint32_t only = 0;
  while (!CPU_ISSET(only, &usable)) only++;
  return 1 + only;
}

void csched_processors_look_(void) {
  uint32_t seen = csched_load_relaxed(&csched_processors_seen_); // Speed only
  if (CSCHED_LIKELY(seen == CSCHED_PROCESSORS_MANY_)) return;
  int saved = errno;
  uint32_t here = own_processors(); // a second processor, or MANY, makes the word MANY
  while (seen != here && seen != CSCHED_PROCESSORS_MANY_ &&
         !csched_cas_relaxed(&csched_processors_seen_, &seen, seen == 0 ? here : CSCHED_PROCESSORS_MANY_)) {}
  errno = saved;
}

bool csched_processors_look_again_(void) {
  enum { CALLS_PER_CHECK = 64 };
  static uint32_t calls;
  uint32_t before = csched_load_relaxed(&calls); // Speed only: not atomic, so counts may be lost
  csched_store_relaxed(&calls, before + 1);      // Speed only
  if (before % CALLS_PER_CHECK == 0) csched_processors_look_();
  return csched_load_relaxed(&csched_processors_seen_) == CSCHED_PROCESSORS_MANY_; // Speed only
}

// MARK: affinity and policy

// The kernel silently omits processors that do not exist, or that the process may not use. So the function compares the new affinity with `wanted`.
int csched_os_thread_keep_to_(const unsigned *processors, size_t count) {
  cpu_set_t wanted, found;
  CPU_ZERO(&wanted);
  for (size_t i = 0; i < count; i++) {
    if (processors[i] >= CPU_SETSIZE) return EINVAL;
    CPU_SET(processors[i], &wanted);
  }
  int saved = errno;
  bool is_kept = sched_setaffinity(0, sizeof wanted, &wanted) == 0 && sched_getaffinity(0, sizeof found, &found) == 0 &&
                 CPU_EQUAL(&wanted, &found);
  errno = saved;
  return is_kept ? 0 : EINVAL;
}

int csched_os_thread_set_policy_(unsigned policy, int priority) {
  int saved = errno, error = EINVAL; // raw system call below: musl's function does nothing
  struct sched_param real_time = {.sched_priority = priority};
  if (policy == CSCHED_OS_POLICY_NICE && priority >= -20 && priority <= 19)
    error = setpriority(PRIO_PROCESS, 0, priority) == 0 ? 0 : errno;
  else if (policy == CSCHED_OS_POLICY_FIFO || policy == CSCHED_OS_POLICY_ROUND_ROBIN)
    error = syscall(SYS_sched_setscheduler, 0,
                    (policy == CSCHED_OS_POLICY_FIFO ? SCHED_FIFO : SCHED_RR) | SCHED_RESET_ON_FORK, &real_time) == 0
                ? 0
                : errno;
  errno = saved;
  return error;
}

// MARK: quotas of control groups. The thread that makes a pool may have the smallest permitted stack, so the buffers are small.

enum { PATH_SIZE = 640, NUMBERS_SIZE = 64 };

// Does: reads the start of a file of one or two numbers into `text`. Returns: whether the file is readable and not empty.
static bool read_numbers(const char *path, char text[NUMBERS_SIZE]) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  ssize_t length = read(file, text, NUMBERS_SIZE - 1);
  csched_os_close_(file);
  text[length > 0 ? length : 0] = 0;
  return length > 0;
}

// Returns: quota / period, the quota in processors, rounded up, at most `most`; `most` if there is no quota (a number is not positive).
static unsigned rounded_up(long long quota, long long period, unsigned most) {
  if (quota <= 0 || period <= 0 || quota / period >= most) return most;
  return (unsigned)((quota + period - 1) / period);
}

// cgroup v2: the file cpu.max is "QUOTA PERIOD" or "max PERIOD". Returns: the least quota of the group and all its
// parents, at most `most`. Shortens the path `group` to each parent's path in turn.
static unsigned quota_of_v2(char *group, unsigned most) {
  for (char *last = group;; *last = 0) {
    char path[PATH_SIZE + 32], text[NUMBERS_SIZE], *rest;
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group);
    if (read_numbers(path, text)) {
      long long quota = strtoll(text, &rest, 10);
      if (rest != text) most = rounded_up(quota, strtoll(rest, NULL, 10), most);
    }
    last = strrchr(group, '/');
    if (last == NULL) return most;
  }
}

// cgroup v1: quota and period are two files, in the group's directory or, inside a container, in the root directory of one of two usual mounts.
static unsigned quota_of_v1(const char *group, unsigned most) {
  static const char *const mounts[] = {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"};
  for (int i = 0; i < 4; i++) {
    char path[PATH_SIZE + 64], quota[NUMBERS_SIZE], period[NUMBERS_SIZE];
    const char *below = i < 2 ? group : "";
    snprintf(path, sizeof path, "%s%s/cpu.cfs_quota_us", mounts[i % 2], below);
    if (!read_numbers(path, quota)) continue;
    snprintf(path, sizeof path, "%s%s/cpu.cfs_period_us", mounts[i % 2], below);
    if (read_numbers(path, period)) most = rounded_up(atoll(quota), atoll(period), most);
  }
  return most;
}

// Returns: whether the comma-separated names contain "cpu".
static bool names_cpu(const char *controllers) {
  for (const char *at = controllers; (at = strstr(at, "cpu")) != NULL; at += 3)
    if ((at == controllers || at[-1] == ',') && (at[3] == 0 || at[3] == ',')) return true;
  return false;
}

// Returns: the quota of the control group in `line`, which is "number:controllers:path". cgroup v2 has the number 0 and no controllers.
static unsigned quota_of_line(char *line, unsigned most) {
  char *controllers = strchr(line, ':'), *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
  if (group == NULL) return most;
  *controllers++ = 0;
  *group++ = 0;
  if (strcmp(group, "/") == 0) *group = 0;
  if (*controllers == 0) return quota_of_v2(group, most);
  return names_cpu(controllers) ? quota_of_v1(group, most) : most;
}

// Returns: the least quota in processors of this process's control groups, at most `most`.
static unsigned quota(unsigned most) {
  char line[PATH_SIZE];
  size_t length = 0;
  bool is_cut = false; // the present line of the file is longer than `line`, and is skipped
  int file = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
  if (file < 0) return most;
  for (ssize_t count; (count = read(file, line + length, sizeof line - 1 - length)) > 0;) {
    line[length += (size_t)count] = 0;
    for (char *end; (end = strchr(line, '\n')) != NULL; is_cut = false) {
      *end = 0;
      if (!is_cut) most = quota_of_line(line, most);
      length -= (size_t)(end + 1 - line);
      memmove(line, end + 1, length + 1);
    }
    if (length < sizeof line - 1) continue;
    is_cut = true;
    length = 0;
  }
  csched_os_close_(file);
  return most;
}

unsigned csched_cpu_count_(void) {
  int saved = errno;
  cpu_set_t usable;
  unsigned count = 0;
  if (sched_getaffinity(0, sizeof usable, &usable) == 0) {
    count = (unsigned)CPU_COUNT(&usable);
  } else {
    long online = sysconf(_SC_NPROCESSORS_ONLN); // the machine has more processors than a cpu_set_t
    count = online > 0 ? (unsigned)online : 1;
  }
  int before; // reading is a cancellation point
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  if (count > 1) count = quota(count);
  pthread_setcancelstate(before, &before);
  errno = saved;
  return count;
}
#endif
