#include <CScheduler/swift.h>

static CSCHED_THREAD_LOCAL void *slot;

void **csched_swift_drain_slot_(void) { return &slot; }
