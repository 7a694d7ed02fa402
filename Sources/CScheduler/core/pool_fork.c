// What becomes of a pool in a child of fork. Its threads are not there; a worker that has forked is no worker any more, but a thread
// that can run to the end of its job. No lock is taken: another thread may have had it.

#include "pool_internal.h"

#include "panic.h"
#include "target_internal.h"

void csched_pool_require_not_orphaned_(const csched_pool *pool, const char *function) {
  if (CSCHED_UNLIKELY(csched_pool_is_orphaned(pool))) csched_target_panic_orphaned_(&pool->classes[0].target, function);
}

void csched_pool_panic_worker_(const csched_pool *pool) {
  csched_panic_("fork",
                "a job of pool %p forked, and returns in the child, which has no workers. End the child inside of the "
                "job: by _exit, or by exec.",
                (const void *)pool);
}

static void told(csched_fork_watch *watch, csched_fork_phase phase) {
  csched_pool *pool = (csched_pool *)((char *)watch - offsetof(csched_pool, forks));
  if (phase != CSCHED_FORK_IN_CHILD) return;
  csched_pool_leave_in_child_(pool);
  csched_pool_close_orphaned_(pool);
  for (int i = 0; i < CSCHED_CLASSES; i++) {
    csched_mpsc_close(&pool->classes[i].inbox);
    pool->classes[i].target.type = &csched_target_orphaned_;
  }
}

void csched_pool_watch_forks_(csched_pool *pool) {
  pool->forks.told = told;
  csched_os_watch_forks_(&pool->forks);
}
