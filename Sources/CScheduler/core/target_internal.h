// What targets do to be the current one, and to be waited for.
// Depends on: target.h.
#pragma once

#include <CScheduler/target.h>

/// Returns: the innermost target that the thread is inside of, NULL when there is none.
const csched_target_inside *csched_target_innermost_(void);

/// Does: ends the jobs that this thread is in the middle of, and leaves all targets, because the thread ends and its frames are gone.
void csched_target_end_thread_(void);

/// Does: has that done when this thread ends. Returns: whether it will be; there may be no memory. Any number of times.
bool csched_target_expect_end_(void);

/// Returns: whether waiting here for `target` would keep it from going on.
bool csched_target_is_held_here_(const csched_target *target);

/// Does: stops the process, because `target` was left behind by fork.
void csched_target_panic_left_(const csched_target *target, const char *function) CSCHED_NORETURN;

/// In a child of fork, the type of what is left behind.
extern const csched_target_type csched_target_left_;

/// Returns: whether `target`, or what it stands on, is left behind.
bool csched_target_is_left_(const csched_target *target);

/// Returns: the first of `target` and what it stands on that is not the library's, and whose functions are the user's; NULL: there is none.
csched_target *csched_target_foreign_(csched_target *target);

/// The functions of the type, where it may have none.
csched_target *csched_target_base_(const csched_target *target);
bool csched_target_enter_inline_(csched_target *target);
void csched_target_leave_inline_(csched_target *target);
