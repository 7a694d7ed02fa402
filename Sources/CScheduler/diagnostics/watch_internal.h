// The call stack of another thread, for reports of the watchdog: see stack.c.
// Depends on: text.h.
#pragma once

#include "../base/text.h"

/// Does: adds a line for each call on the stack of `thread`, the innermost first. Adds nothing if csched_watch_stacks
/// is off, or if the thread does not answer within 100 ms. Thread: the watchdog's. Requires: the caller holds no lock.
void csched_stack_add_(csched_text *text, uint32_t thread);
