// What a loop does with its hooks: the other half of loop_hook.h.
// Depends on: loop_hook.h, bsd.h.
#pragma once

#include <CScheduler/loop_hook.h>

#include "bsd.h"

TAILQ_HEAD(csched_hook_queue, csched_loop_hook);

/// The hooks of one loop. All is the loop's own.
typedef struct csched_hooks {
  struct csched_hook_queue all;
  csched_loop_hook *next; ///< to be called, while they are; a removal moves it on
  unsigned calls_at;      ///< the depth of the run that calls them, or 0
  bool is_asleep;         ///< they have been told of a sleep, and of no wake since
  bool is_closed;
} csched_hooks;

/// Does: tells all of a sleep, or of the wake that ends one, in a run of this depth; nothing if a run outside is doing so. Thread: the loop's.
void csched_hooks_tell_(csched_hooks *hooks, unsigned depth, bool is_sleep);

/// Does: removes all, and refuses later ones. Thread: the loop's, any number of times.
void csched_hooks_close_(csched_hooks *hooks);
