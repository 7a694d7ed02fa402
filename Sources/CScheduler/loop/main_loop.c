// The main loop: the one loop of the main thread, in static memory.
#include <CScheduler/main_loop.h>

#include <CScheduler/lock.h>

#include "../platform/platform.h"
#include "loop_internal.h"

static CSCHED_THREAD_LOCAL uint8_t cached_answer; // of csched_is_main_thread. 0: none yet; 1: false; 2: true
static csched_lock lock;                          // guards the variables below
static csched_loop *loop;                         // the main loop; NULL: not created yet
// is_bound: `loop` has the main thread. is_over: csched_main_loop_end_ was called there. is_hosted: a host drives
// `loop`. is_kept: no shutdown.
static bool is_bound, is_over, is_hosted, is_kept;

// Does: in a child of fork, makes the thread that forked the main thread. Empties an orphaned main loop, at the same
// address, which other code uses.
static void main_loop_life_at_fork(csched_atfork *atfork, csched_atfork_phase phase) {
  (void)atfork;
  if (phase != CSCHED_ATFORK_IN_CHILD_LAST) return;
  cached_answer = 0;                    // the thread that forked is the child's main thread
  lock = (csched_lock)CSCHED_LOCK_INIT; // a thread of the parent may have locked it
  is_hosted = false;                    // the host drives the parent's loop
  csched_main_loop_forget_watch_();
  if (loop == NULL || !csched_loop_is_orphaned_(loop)) return;
  csched_loop_renew_(loop);
  is_bound = false; // csched_main_loop binds it again, on the new main thread
}

static csched_atfork atfork; // entry in the fork list

bool csched_is_main_thread(void) {
  if (cached_answer == 0) {
    csched_os_atfork_(&atfork, main_loop_life_at_fork); // before the answer is cached: a child of fork must reset it
    cached_answer = csched_os_is_main_thread_() ? 2 : 1;
  }
  return cached_answer == 2;
}

csched_loop *csched_main_loop(void) { // the first call creates the loop; the main thread's first call binds it
  csched_lock_lock(&lock);
  if (loop == NULL) loop = csched_loop_make_static_();
  if (!is_bound && csched_is_main_thread()) {
    csched_loop_bind_(loop);
    is_bound = true;
  }
  csched_loop *found = loop;
  csched_lock_unlock(&lock);
  return found;
}

void csched_main_loop_set_hosted_(void) {
  csched_is_main_thread(); // called because it registers main_loop_life_at_fork, which resets `is_hosted` in a child
  csched_lock_lock(&lock);
  is_hosted = true;
  csched_lock_unlock(&lock);
}

bool csched_main_loop_is_hosted_(void) {
  csched_lock_lock(&lock);
  bool found = is_hosted;
  csched_lock_unlock(&lock);
  return found;
}

void csched_main_loop_keep_(void) {
  csched_lock_lock(&lock);
  is_kept = true;
  csched_lock_unlock(&lock);
}

bool csched_main_loop_is_kept_(void) {
  csched_lock_lock(&lock);
  bool found = is_kept;
  csched_lock_unlock(&lock);
  return found;
}

// Does: closes the main loop; on its thread, the first call also runs or drops outstanding work, and frees the loop's
// contents.
void csched_main_loop_end_(csched_stop_policy policy) {
  csched_loop *ending = csched_main_loop(); // created if necessary, so that later callers find it closed
  csched_loop_close(ending, policy);
  if (!csched_loop_is_on_thread(ending)) return;
  csched_lock_lock(&lock);
  bool was_over = is_over;
  is_over = true;
  csched_lock_unlock(&lock);
  if (was_over) return;
  csched_loop_run(ending); // the loop is closed: runs or drops outstanding work by the policy, and returns
  csched_loop_free_contents_(ending);
}
