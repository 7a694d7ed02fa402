// Helpers: threads that wait for a queue on a pool, and run the work before their own while they wait. So their waits
// need no thread of the pool.
// Depends on: target_internal.h, frames_internal.h.
#pragma once

#include <CScheduler/lock.h>
#include "../base/bsd.h"
#include "../job/frames_internal.h"
#include "../targets/target_internal.h"

/// The value of a sync's futex word that tells its thread to look for work, see CSCHED_ENDED.
enum { CSCHED_OFFER = 2 };

/// A thread that waits in a sync. It lies on the thread's stack.
typedef struct csched_helper {
  TAILQ_ENTRY(csched_helper) link; ///< in a csched_helper_list
  uint32_t ended;                  ///< futex of the sync: 0; CSCHED_ENDED; CSCHED_OFFER
  csched_frame *frame;             ///< while the thread runs other work: the context frame around that work
  int cancellation;                ///< with `frame`: the thread's cancellation state before
  const char *function;            ///< what the thread waits in, for dumps
} csched_helper;

/// The helpers of one queue or limit, the longest waiting first. A lock of the queue or limit guards the list.
typedef TAILQ_HEAD(csched_helper_list, csched_helper) csched_helper_list;

/// What a call of `help` has done.
typedef enum csched_help_result {
  CSCHED_HELPED_NOTHING,       ///< there was nothing that this thread may run: it sleeps
  CSCHED_HELPED,               ///< it has run something: it checks `ended`, and helps again
  CSCHED_HELP_REACHED_OWN_JOB, ///< the next job is the thread's own sync, which is dequeued; the thread owns the queue
} csched_help_result;

/// The functions of a target that can be helped: a serial queue, or a limit. Thread: the helper's.
struct csched_helping {
  void (*add)(csched_target *target,
              csched_helper *helper); ///< lists `helper`: from now on each offer of work finds it
  /// Does: runs work of `target`, until `helper` has ended, or `own` is next, or none is left. `waited`: what the
  /// thread waits for.
  csched_help_result (*help)(csched_target *target, csched_helper *helper, const csched_job *own,
                             csched_target *waited);
  void (*remove)(csched_target *target, csched_helper *helper); ///< undoes `add`; other helpers continue
};

/// Returns: the target that a thread which waits for `target` may help: the one in its chain of bases that is directly
/// on a pool. NULL: none.
csched_target *csched_helped_target_(csched_target *target);
/// Returns: whether a helper may still run work of `target`, which csched_helped_target_ has returned. A pool that
/// drops its work permits none.
bool csched_may_help_(const csched_target *target);

void csched_helper_wake_locked_(csched_helper *helper);            ///< tells the helper to look for work
void csched_helpers_wake_all_locked_(csched_helper_list *helpers); ///< tells all helpers

/// Does: begins to run other work on the thread of `helper`, which waits no more for `waited` in the sense of waits.c.
/// Until csched_helper_end_, the targets that the thread is inside are hidden from csched_target_is_inside. Requires:
/// `spare` is valid until then.
void csched_helper_begin_(csched_helper *helper, csched_frame *spare);
/// Does: ends that. The thread waits for `waited` again; NULL: it does not. Requires: the helper still owns what it has
/// helped, so that no other thread can have closed a cycle of waits.
void csched_helper_end_(csched_helper *helper, csched_target *waited);
/// Does: while the thread helps, shows the hidden targets again: the thread's own body begins.
void csched_helper_shows_outer_(csched_helper *helper);
