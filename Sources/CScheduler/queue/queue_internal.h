// For dumps: finds serial queues and limits in the list of atfork handlers (the fork list).
// Depends on: target.h, platform.h.
#pragma once

#include <CScheduler/target.h>
#include "../platform/platform.h"

/// Returns: the queue or limit whose entry in the fork list is `atfork`; NULL: the entry is of another kind. Thread:
/// inside csched_os_atfork_visit_.
const csched_target *csched_serial_of_atfork_(const csched_atfork *atfork);
const csched_target *csched_limit_of_atfork_(const csched_atfork *atfork);
