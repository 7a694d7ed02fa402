// Hooks that a loop calls before it sleeps, and after it has woken.
// Depends on: loop.h.
//
// Use them to do collected work at the end of a burst: write replies together, or end a transaction. They correspond to
// libuv's prepare and check handles, and Linux's idle notifiers.
#ifndef CSCHED_LOOP_HOOK_H
#define CSCHED_LOOP_HOOK_H

#include <CScheduler/loop.h>

CSCHED_BEGIN_DECLS

typedef struct csched_loop_hook csched_loop_hook;

/// Two functions; either may be NULL. The caller owns the memory, sets the first four fields, and zeroes the others,
/// which are private.
///
/// `before_sleep` is called when no work remains, before the loop polls for work, sleeps, or returns to a host. If the
/// hook submits work, ends the run or closes the loop, the loop does not sleep. `after_wake` is called once after each
/// `before_sleep`, before any job. Both are called inside the loop's run. An exception or longjmp may unwind them, as a
/// job (job.h). A nested run inside a hook calls no hooks.
///
/// `dropped` is called with ECANCELED on the loop's thread when a close of the loop has removed the hook. The caller
/// then owns the hook again.
struct csched_loop_hook {
  void (*before_sleep)(csched_loop_hook *hook);
  void (*after_wake)(csched_loop_hook *hook);
  void (*dropped)(csched_loop_hook *hook, int error);
  void *context;
  struct csched_hooks *owner_; // while added: the list of the loop's hooks; otherwise NULL
  struct {                     // libbsd's TAILQ_ENTRY
    csched_loop_hook *tqe_next, **tqe_prev;
  } node_;
};

/// Does: makes the loop call the hook, after the hooks that were added before. Returns: 0; EEXIST if it is added to a
/// loop; ECANCELED if the loop is closed. Requires: `hook` stays valid until it is removed. Thread: the loop's, hooks
/// included.
int csched_loop_add_hook(csched_loop *loop, csched_loop_hook *hook);

/// Does: removes the hook, which can then be freed, even inside its functions. Returns: 0; ENOENT if not added to this
/// loop. Thread: the loop's.
int csched_loop_remove_hook(csched_loop *loop, csched_loop_hook *hook);

CSCHED_END_DECLS

#endif
