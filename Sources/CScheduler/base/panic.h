// Stops the process on misuse, with a message that says what to do.
// Depends on: base.h.
#pragma once

#include <CScheduler/base.h>

/// Does: writes a message in the form of csched_panic_, and returns.
void csched_say_(const char *function, const char *format, ...) CSCHED_PRINTF(2, 3);

/// Writes the message of csched_panic_ to standard error; after the library is loaded, with the flight recorder (csched_recorder_say_).
extern CSCHED_HIDDEN void (*csched_panic_say_)(const char *message);

/// Does: writes "Scheduler: <function>: <what happened; what to do>" by csched_panic_say_, without allocation or lock, and aborts.
void csched_panic_(const char *function, const char *format, ...) CSCHED_PRINTF(2, 3) CSCHED_NORETURN;
