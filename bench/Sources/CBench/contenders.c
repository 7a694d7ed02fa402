// Who takes part: this package's own, the system's libraries, and those in Peers/ that have been built.
#define _GNU_SOURCE
#include "kit.h"

#include <dlfcn.h>
#include <string.h>

enum { MOST = 32 };

static struct {
  const void *entries[MOST];
  int count;
} lists[CBENCH_KINDS];

static const char *missing[8];
static int missing_count;

// Each kind's entries begin with their name.
static const char *name_of(const void *entry) { return *(const char *const *)entry; }

static void add_list(cbench_kind kind, const void *entries, size_t size) {
  if (entries == NULL) return;
  for (const char *entry = entries; name_of(entry) != NULL; entry += size)
    if (lists[kind].count < MOST) lists[kind].entries[lists[kind].count++] = entry;
}

static void add_library(const peer_library *library) {
  add_list(CBENCH_LOCKS, library->locks, sizeof(peer_lock));
  add_list(CBENCH_QUEUES, library->queues, sizeof(peer_queue));
  add_list(CBENCH_SLEEPING_QUEUES, library->sleeping_queues, sizeof(peer_queue));
  add_list(CBENCH_POOLS, library->pools, sizeof(peer_pool));
  add_list(CBENCH_TIMERS, library->timers, sizeof(peer_timers));
  add_list(CBENCH_TRIPS, library->trips, sizeof(peer_trip));
  add_list(CBENCH_HOSTED_TRIPS, library->hosted_trips, sizeof(peer_trip));
}

static void add_system(const peer_library *library, const char *package) {
  if (library != NULL) add_library(library);
  else missing[missing_count++] = package;
}

extern const peer_lock ours_locks[], plain_locks[];
extern const peer_queue ours_queues[], ours_sleeping_queues[], plain_queues[];
extern const peer_pool ours_pools[];
extern const peer_timers ours_timers[];
extern const peer_trip ours_trips[], plain_trips[], ours_hosted_trips[];

void cbench_load_system(void) {
  add_library(&(peer_library){.locks = ours_locks,
                              .queues = ours_queues,
                              .sleeping_queues = ours_sleeping_queues,
                              .pools = ours_pools,
                              .timers = ours_timers,
                              .trips = ours_trips,
                              .hosted_trips = ours_hosted_trips});
  add_library(&dispatch_library);
  add_library(&(peer_library){.locks = plain_locks, .queues = plain_queues, .trips = plain_trips});
  add_system(nsync_library(), "nsync (libnsync1)");
  add_system(uv_library(), "libuv (libuv1)");
  add_system(event_library(), "libevent (libevent-dev)");
  add_system(glib_library(), "GLib (libglib2.0-0)");
}

const char *cbench_missing(int index) { return index < missing_count ? missing[index] : NULL; }

const char *cbench_load(const char *path) {
  static const peer_harness harness = {cbench_work, csched_now, cbench_fib, 0};
  static peer_harness lent;
  lent = harness;
  lent.processors = cbench_processors();
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return dlerror();
  peer_open_function open = (peer_open_function)dlsym(library, "peer_open");
  if (open == NULL) return "it has no function peer_open";
  add_library(open(&lent));
  return NULL;
}

int cbench_count(cbench_kind kind) { return lists[kind].count; }

const void *contender(cbench_kind kind, int index) {
  if (index < 0 || index >= lists[kind].count) abort();
  return lists[kind].entries[index];
}

const char *cbench_name(cbench_kind kind, int index) { return name_of(contender(kind, index)); }

bool find_functions(const char *const libraries[], const char *const names[], void **const places[]) {
  void *library = NULL;
  for (size_t i = 0; library == NULL && libraries[i] != NULL; i++) library = dlopen(libraries[i], RTLD_NOW);
  if (library == NULL) return false;
  for (size_t i = 0; names[i] != NULL; i++)
    if ((*places[i] = dlsym(library, names[i])) == NULL) return false;
  return true;
}

bool cbench_is_interposed(void) {
  const char *names[] = {"malloc", "free", "syscall"};
  for (int i = 0; i < 3; i++) {
    Dl_info found;
    void *function = dlsym(RTLD_DEFAULT, names[i]);
    if (function == NULL || dladdr(function, &found) == 0 || strstr(found.dli_fname, "libc.") == NULL) return true;
  }
  return false;
}

static long counted(const char *name) {
  long (*count)(void) = (long (*)(void))dlsym(RTLD_DEFAULT, name);
  return count != NULL ? count() : -1;
}

long cbench_counted_allocations(void) { return counted("ccounts_allocations"); }
long cbench_counted_futexes(void) { return counted("ccounts_futexes"); }
