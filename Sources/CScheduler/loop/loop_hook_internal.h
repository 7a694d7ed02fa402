// Internal operations on a loop's hooks. The public half is loop_hook.h.
// Depends on: loop_hook.h, bsd.h.
#pragma once

#include <CScheduler/loop_hook.h>

#include "../base/bsd.h"

TAILQ_HEAD(csched_hook_queue, csched_loop_hook);
/// The hooks of one loop. Thread: the loop's.
typedef struct csched_hooks {
  struct csched_hook_queue all; ///< in the order of addition
  csched_loop_hook *next; ///< while hooks are called: the next one to call; a removal of that hook advances `next`
  unsigned calls_at;      ///< depth of the run (number of runs in progress) that is calling hooks; 0: none is
  bool is_asleep;         ///< the most recent call was for a sleep, not for a wake
  bool is_closed;         ///< later hooks are refused
} csched_hooks;
/// Does: calls all hooks, for a sleep or for the wake after it, in a run of depth `depth`. Inside a hook it does
/// nothing. Thread: the loop's.
void csched_hooks_call_(csched_hooks *hooks, unsigned depth, bool is_sleep);
/// Does: removes all hooks, and refuses later ones. Thread: the loop's, any number of times.
void csched_hooks_close_(csched_hooks *hooks);
