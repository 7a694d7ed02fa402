#if defined(__linux__) // How many processors this process may use: its affinity, and the quota of its control groups.
#define _GNU_SOURCE
#include "platform.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_SIZE = 4096, PATH_SIZE = 1200 };

static bool read_text(const char *path, char text[TEXT_SIZE]) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  ssize_t length = read(file, text, TEXT_SIZE - 1);
  close(file);
  text[length > 0 ? length : 0] = 0;
  return length > 0;
}

static unsigned rounded_up(long long quota, long long period, unsigned most) {
  if (quota <= 0 || period <= 0 || quota / period >= most) return most; // no quota, or one that does not matter
  return (unsigned)((quota + period - 1) / period);
}

// v2: "QUOTA PERIOD" or "max PERIOD", of the group and of those above it.
static unsigned quota_of_v2(const char *group, unsigned most) {
  char path[PATH_SIZE], text[TEXT_SIZE], above[PATH_SIZE / 2];
  snprintf(above, sizeof above, "%s", group);
  for (;;) {
    long long quota, period;
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", above);
    if (read_text(path, text) && sscanf(text, "%lld %lld", &quota, &period) == 2)
      most = rounded_up(quota, period, most);
    char *last = strrchr(above, '/');
    if (last == NULL) return most;
    *last = 0;
  }
}

// v1: two files, in the group or, inside of a container, in the root.
static unsigned quota_of_v1(const char *group, unsigned most) {
  static const char *const mounts[] = {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"};
  for (int i = 0; i < 4; i++) {
    char path[PATH_SIZE], quota[TEXT_SIZE], period[TEXT_SIZE];
    const char *below = i < 2 ? group : "";
    snprintf(path, sizeof path, "%s%s/cpu.cfs_quota_us", mounts[i % 2], below);
    if (!read_text(path, quota)) continue;
    snprintf(path, sizeof path, "%s%s/cpu.cfs_period_us", mounts[i % 2], below);
    if (read_text(path, period)) most = rounded_up(atoll(quota), atoll(period), most);
  }
  return most;
}

static bool names_cpu(const char *controllers) { // a list with commas
  for (const char *at = controllers; (at = strstr(at, "cpu")) != NULL; at += 3)
    if ((at == controllers || at[-1] == ',') && (at[3] == 0 || at[3] == ',')) return true;
  return false;
}

// Each line of /proc/self/cgroup is "number:controllers:path"; v2 has the number 0 and no controllers.
static unsigned quota(unsigned most) {
  char text[TEXT_SIZE], *rest = NULL;
  if (!read_text("/proc/self/cgroup", text)) return most;
  for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
    char *controllers = strchr(line, ':'), *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
    if (path == NULL || strlen(path) > PATH_SIZE / 2) continue;
    *controllers++ = 0;
    *path++ = 0;
    if (*controllers == 0) most = quota_of_v2(strcmp(path, "/") == 0 ? "" : path, most);
    else if (names_cpu(controllers)) most = quota_of_v1(strcmp(path, "/") == 0 ? "" : path, most);
  }
  return most;
}

unsigned csched_cpu_count_(void) {
  int saved = errno;
  cpu_set_t usable;
  unsigned count = 0;
  if (sched_getaffinity(0, sizeof usable, &usable) == 0) {
    count = (unsigned)CPU_COUNT(&usable);
  } else {
    long online = sysconf(_SC_NPROCESSORS_ONLN); // more processors than a cpu_set_t holds
    count = online > 0 ? (unsigned)online : 1;
  }
  int before; // reading is a point of cancellation, and a lock's wait asks
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  if (count > 1) count = quota(count);
  pthread_setcancelstate(before, &before);
  errno = saved;
  return count;
}
#endif
