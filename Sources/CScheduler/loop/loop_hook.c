// Hooks of a loop (loop_hook.h): calls them before a sleep and after the wake. All functions run on the loop's thread.
#include "loop_hook_internal.h"

#include "loop_internal.h"

#include <errno.h>

// Does: calls all hooks, before a sleep (`is_sleep`) or after its wake. `depth`: the number of runs in progress.
void csched_hooks_call_(csched_hooks *hooks, unsigned depth, bool is_sleep) {
  if (hooks->calls_at >= depth) hooks->calls_at = 0;                // the run that was calling hooks was unwound
  if (hooks->calls_at != 0 || hooks->is_asleep == is_sleep) return; // inside a hook, or already called
  hooks->is_asleep = is_sleep;
  hooks->calls_at = depth;
  for (csched_loop_hook *hook = TAILQ_FIRST(&hooks->all); hook != NULL; hook = hooks->next) {
    hooks->next = TAILQ_NEXT(hook, node_); // before the call, which may remove hooks: remove_hook then advances `next`
    void (*function)(csched_loop_hook *) = is_sleep ? hook->before_sleep : hook->after_wake;
    if (function != NULL) function(hook); // it may free the hook
  }
  hooks->calls_at = 0;
}

int csched_loop_add_hook(csched_loop *loop, csched_loop_hook *hook) { // Returns: 0, EEXIST or ECANCELED
  csched_hooks *hooks = csched_loop_hooks_(loop, "csched_loop_add_hook");
  if (hook->owner_ != NULL) return EEXIST;
  if (hooks->is_closed) return ECANCELED;
  TAILQ_INSERT_TAIL(&hooks->all, hook, node_);
  hook->owner_ = hooks;
  return 0;
}

static void remove_hook(csched_hooks *hooks, csched_loop_hook *hook) {
  if (hooks->next == hook) hooks->next = TAILQ_NEXT(hook, node_); // csched_hooks_call_ skips the removed hook
  TAILQ_REMOVE(&hooks->all, hook, node_);
  hook->owner_ = NULL;
}

int csched_loop_remove_hook(csched_loop *loop, csched_loop_hook *hook) {
  csched_hooks *hooks = csched_loop_hooks_(loop, "csched_loop_remove_hook");
  if (hook->owner_ != hooks) return ENOENT;
  remove_hook(hooks, hook);
  return 0;
}

void csched_hooks_close_(csched_hooks *hooks) {
  hooks->is_closed = true;
  for (csched_loop_hook *hook; (hook = TAILQ_FIRST(&hooks->all)) != NULL;) {
    remove_hook(hooks, hook);
    if (hook->dropped != NULL) hook->dropped(hook, ECANCELED); // it may free the hook
  }
}
