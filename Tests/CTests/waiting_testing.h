// Shared by the tests of conditions, semaphores and latches.
// Depends on: testing.h.
#pragma once

#include "testing.h"

#include "../../Sources/CScheduler/sync/waiting_internal.h"

/// Returns: how many threads sleep in the bucket for `address`.
int waiters_of(const void *address);
