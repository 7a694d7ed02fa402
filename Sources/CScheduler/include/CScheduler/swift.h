// What the Swift module needs of C besides: a word of its own for each thread, which the language has no way to declare.
// Depends on: base.h. Private.
#ifndef CSCHED_SWIFT_H
#define CSCHED_SWIFT_H

#include <CScheduler/base.h>

CSCHED_BEGIN_DECLS

/// Returns: the calling thread's slot, NULL at first. It lives as long as the thread. Thread: any.
void **csched_swift_drain_slot_(void);

CSCHED_END_DECLS

#endif
