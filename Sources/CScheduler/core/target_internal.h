// What targets do to be the current one.
// Depends on: target.h.
#pragma once

#include <CScheduler/target.h>

/// Does: makes `target` the current one of this thread. Returns: the one before, for csched_target_leave_.
csched_target *csched_target_enter_(csched_target *target);
void csched_target_leave_(csched_target *before);
