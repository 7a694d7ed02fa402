// What a loop calls before it sleeps, and when it has woken.
// Depends on: loop.h.
//
// For what is collected while there is work, and done at its end: answers that are written together, a transaction that is ended. (libuv's
// prepare and check, Linux's idle notifiers.)
#ifndef CSCHED_LOOP_HOOK_H
#define CSCHED_LOOP_HOOK_H

#include <CScheduler/loop.h>

CSCHED_BEGIN_DECLS

typedef struct csched_loop_hook csched_loop_hook;

/// Two functions; either may be NULL. The caller owns the memory; set the first four fields, the others to zero. What ends in `_` is private.
///
/// `before_sleep` is called when nothing is left to do, before the loop looks for work or sleeps, or leaves that to a host: what it submits,
/// ends or closes is found, and the loop does not sleep. `after_wake` is called once after each of these, before any job. Both are called inside
/// of the loop's run, and may be left as a job may (job.h). A run inside of a hook calls none.
///
/// `dropped` is told on the loop's thread that the hook was removed because the loop was closed (ECANCELED), and is the caller's again.
struct csched_loop_hook {
  void (*before_sleep)(csched_loop_hook *hook);
  void (*after_wake)(csched_loop_hook *hook);
  void (*dropped)(csched_loop_hook *hook, int error);
  void *context;
  struct csched_hooks *owner_;
  struct { // libbsd's TAILQ_ENTRY
    csched_loop_hook *tqe_next, **tqe_prev;
  } node_;
};

/// Does: has the loop call the hook, after those that were added before. Returns: 0; EEXIST when it is added to a loop; ECANCELED when the loop is
/// closed. Requires: `hook` stays valid until it is removed. Thread: the loop's, hooks included.
int csched_loop_add_hook(csched_loop *loop, csched_loop_hook *hook);

/// Does: ends that; the hook can be freed at once, also inside of its own functions. Returns: 0; ENOENT when it is not added to this loop.
/// Thread: the loop's, hooks included.
int csched_loop_remove_hook(csched_loop *loop, csched_loop_hook *hook);

CSCHED_END_DECLS

#endif
