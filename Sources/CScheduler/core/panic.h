// Stops the process on misuse, with a message that says what to do.
// Depends on: base.h.
#pragma once

#include <CScheduler/base.h>

/// Does: writes a message in the form of csched_panic_, and returns.
void csched_say_(const char *function, const char *format, ...) CSCHED_PRINTF(2, 3);

/// Does: writes "Scheduler: <function>: <what happened; what to do>" to standard error, without allocation or lock; then the flight recorder
/// (csched_recorder_say_); and aborts.
void csched_panic_(const char *function, const char *format, ...) CSCHED_PRINTF(2, 3) CSCHED_NORETURN;
