// What targets do to be the current one, and to be waited for.
// Depends on: target.h.
#pragma once

#include <CScheduler/target.h>

/// Returns: the innermost target that the thread is inside of, NULL when there is none.
const csched_target_inside *csched_target_innermost_(void);

/// Does: forgets those that were entered since, because their frames are gone. NULL: all.
void csched_target_restore_(const csched_target_inside *inside);

/// Returns: whether waiting here for `target` would keep it from going on.
bool csched_target_is_held_here_(const csched_target *target);

/// The functions of the type, where it may have none.
csched_target *csched_target_base_(const csched_target *target);
bool csched_target_enter_inline_(csched_target *target);
void csched_target_leave_inline_(csched_target *target);
