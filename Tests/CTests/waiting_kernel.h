// What the kernels of conditions, semaphores and latches share.
// Depends on: kernel.h.
#pragma once

#include "kernel.h"

#include "../../Sources/CScheduler/core/waiting_internal.h"

/// Returns: how many threads sleep for what is at `address`.
int waiters_of(const void *address);
