// Shared by the tests of forks: children, and checks of their ends.
// Depends on: testing.h.
#pragma once

#include "testing.h"

void child_check_(check_place here, void (*body)(void *), void *context, int status, const char *says);
/// Forks, and checks that the child, which calls `body(context)`, ends well.
#define CHECK_CHILD(body, context) child_check_(HERE, body, context, 0, NULL)
/// As CHECK_CHILD, but the child must be stopped, with a message that contains `says`.
#define CHECK_CHILD_STOPS(body, context, says) child_check_(HERE, body, context, 0, says)
