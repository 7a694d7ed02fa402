// Internal operations on a loop's hooks: the other half of loop_hook.h.
// Depends on: loop_hook.h, bsd.h.
#pragma once

#include <CScheduler/loop_hook.h>

#include "../base/bsd.h"

TAILQ_HEAD(csched_hook_queue, csched_loop_hook);

/// The hooks of one loop. Thread: the loop's.
typedef struct csched_hooks {
  struct csched_hook_queue all;
  csched_loop_hook *next; ///< during calls, the next hook to call; removing that hook advances it
  unsigned calls_at;      ///< the depth of the run that is calling hooks, or 0
  bool is_asleep;         ///< the hooks were notified of a sleep, and of no wake since
  bool is_closed;
} csched_hooks;

/// Does: notifies all hooks of a sleep, or of the wake that ends one, from a run of this depth. Inside of a hook it does nothing.
/// Thread: the loop's.
void csched_hooks_tell_(csched_hooks *hooks, unsigned depth, bool is_sleep);

/// Does: removes all hooks, and refuses later ones. Thread: the loop's, any number of times.
void csched_hooks_close_(csched_hooks *hooks);
