// Stops the process on misuse, with a message that says what to do.
// Depends on: base.h.
#pragma once

#include <CScheduler/base.h>

/// Does: writes a message in the form of csched_panic_ to standard error, and returns.
void csched_say_(const char *function, const char *format, ...) CSCHED_PRINTF(2, 3);

/// Called by csched_panic_ to write its message to standard error. Loading the library sets it to csched_recorder_say_,
/// which adds the recorder.
extern CSCHED_HIDDEN void (*csched_panic_say_)(const char *message);

/// Returns: what a user of Swift has called, if a message names the C function `function`; NULL: no other name. NULL
/// itself: a program without Swift.
extern CSCHED_HIDDEN const char *(*csched_panic_swift_name_)(const char *function);

/// Does: writes "Scheduler: <function>: <what happened; what to do>" by csched_panic_say_, without allocation or lock,
/// and aborts.
void csched_panic_(const char *function, const char *format, ...) CSCHED_PRINTF(2, 3) CSCHED_NORETURN;

/// Does: stops the process if `pointer`, an argument of `function`, is NULL.
#define CSCHED_NEEDS_FUNCTION_(pointer, function)                                                                      \
  do {                                                                                                                 \
    if (CSCHED_UNLIKELY((pointer) == NULL)) csched_panic_(function, "`%s` is NULL. Give a function.", #pointer);       \
  } while (0)
