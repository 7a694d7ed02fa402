// nsync's lock. Its size and its zero value are promises of its interface; found when the program runs.
#include "kit.h"
#include "lock_loop.h"

static void (*nsync_lock)(void *), (*nsync_unlock)(void *);

static struct { _Alignas(64) void *words[8]; } mutex;

// Called through pointers, as a shared library's functions are.
static void use(peer_task *task) {
  void (*lock)(void *) = nsync_lock, (*unlock)(void *) = nsync_unlock;
  lock_loop(task, lock, unlock, &mutex);
}

static const peer_lock locks[] = {{"nsync", use}, {0}};
static const peer_library library = {.locks = locks};

const peer_library *nsync_library(void) {
  const char *libraries[] = {"libnsync.so.1", NULL}, *names[] = {"nsync_mu_lock", "nsync_mu_unlock", NULL};
  void **places[] = {(void **)&nsync_lock, (void **)&nsync_unlock};
  return find_functions(libraries, names, places) ? &library : NULL;
}
