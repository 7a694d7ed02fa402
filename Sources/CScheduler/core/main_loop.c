#include <CScheduler/main_loop.h>

#include <CScheduler/lock.h>

#include "../platform/platform.h"
#include "loop_internal.h"

bool csched_is_main_thread(void) {
  static CSCHED_THREAD_LOCAL uint8_t known; // 0 not yet, then 1 + the answer
  if (known == 0) known = csched_os_is_main_thread_() ? 2 : 1;
  return known == 2;
}

csched_loop *csched_main_loop(void) {
  static csched_lock lock;
  static csched_loop *loop;
  static bool is_bound;
  csched_lock_lock(&lock);
  if (loop == NULL) loop = csched_loop_create_unbound_();
  if (loop != NULL && !is_bound && csched_is_main_thread()) {
    csched_loop_bind_(loop);
    is_bound = true;
  }
  csched_loop *found = loop;
  csched_lock_unlock(&lock);
  return found;
}
