// What targets do to be the current one, and to be waited for.
// Depends on: target.h.
#pragma once

#include <CScheduler/target.h>

/// Returns: whether waiting here for `target` would keep it from going on.
bool csched_target_is_held_here_(const csched_target *target);

/// Returns: whether it does one thing at a time.
bool csched_target_is_exclusive_(const csched_target *target);

/// Returns: whether `target`, or one of its bases, says that it takes no more.
bool csched_target_is_closed_(const csched_target *target);

/// Does: notes that this thread, with all that it holds, waits for `target`, until csched_wait_end_. Returns: false, and does nothing,
/// when the wait could never end, because it would close a circle of such waits.
bool csched_wait_begin_(csched_target *target);
void csched_wait_end_(void);

/// What the word of a sync that waits becomes at its end; 0 until then, or what woke it for a while.
enum { CSCHED_ENDED = 1 };

/// Does: stops the process, because `target` was orphaned by fork.
void csched_target_panic_orphaned_(const csched_target *target, const char *function) CSCHED_NORETURN;

/// In a child of fork, the type of what is orphaned.
extern const csched_target_type csched_target_orphaned_;

/// Returns: whether `target`, or one of its bases, is orphaned.
bool csched_target_is_orphaned_(const csched_target *target);

// What a thread notes of a follow-up of its present job: there is none; it is being submitted; it is kept, and runs next.
enum { CSCHED_FOLLOW_UP_NONE = 0, CSCHED_FOLLOW_UP_COMES = 1, CSCHED_FOLLOW_UP_KEPT = 2 };

/// Does: submits `job` to the pool `target`, to run on this thread as soon as its present job has returned, before any other. No thread is woken for that:
/// nothing of the user's may be called until then. On another thread than that pool's, and where one is kept already, it is submitted as any.
int csched_target_submit_follow_up_(csched_target *target, csched_job *job);

/// Returns: the first of `target` and its bases that is not the library's, and whose functions are the user's; NULL: there is none.
csched_target *csched_target_foreign_(csched_target *target);

/// Does: runs `timer`, whose time has come, at once as a job of its target, if that is an idle serial queue; else delivers it.
/// Returns: whether it has run.
bool csched_serial_run_timer_(csched_timer *timer);

/// Returns: whether it, or one of its bases, has a time of its own, which may be virtual.
bool csched_target_has_time_(const csched_target *target);

/// Returns: the last of `target`, its base, the base of that …
csched_target *csched_target_root_(csched_target *target);

/// The functions of the type, where it may have none.
csched_target *csched_target_base_(const csched_target *target);
bool csched_target_enter_inline_(csched_target *target);
void csched_target_leave_inline_(csched_target *target);
