// The calls of another thread, for reports of the watchdog: see stack.c.
// Depends on: text.h.
#pragma once

#include "../base/text.h"

/// Does: adds a line for each call that `thread` is in, the innermost first; nothing unless csched_watch_stacks is on, or if the thread does not answer
/// within 100 ms. Thread: the watchdog's. Requires: the caller holds no lock.
void csched_stack_add_(csched_text *text, uint32_t thread);
