// What the tests of forks share: children that are forked, and what becomes of them.
// Depends on: kernel.h.
#pragma once

#include "kernel.h"

/// After so many seconds an alarm ends a child that hangs. Many, because valgrind beside other work takes its time.
enum { CHILD_SECONDS = 120 };

/// Does: forks; the child calls `body(context)`, with an alarm against hangs, and ends. Checks that it ends by itself with `status`, or,
/// where `says` is not NULL, is stopped with a message that contains that.
void child_check_(check_place here, void (*body)(void *), void *context, int status, const char *says);
#define CHECK_CHILD(body, context)             child_check_(HERE, body, context, 0, NULL)
#define CHECK_CHILD_STOPS(body, context, says) child_check_(HERE, body, context, 0, says)

/// Does: ends the calling process, a child, with what its checks have found.
void child_end(void) CSCHED_NORETURN;
