// Counts the library's live threads and objects, to find leaks in tests and programs.
// Depends on: base.h.
//
// Threads are always counted. Jobs of C programs are not: a program can count its jobs where their `release` is called.
// Objects of the Swift module are counted if `csched_counting_` is set.
#ifndef CSCHED_DIAGNOSTICS_H
#define CSCHED_DIAGNOSTICS_H

#include <CScheduler/base.h>

CSCHED_BEGIN_DECLS

/// Returns: how many of the library's threads are alive: threads with a loop (thread.h), pool workers and pool
/// monitors, but not threads of observers, such as a trace's. A joined thread is not counted. A thread whose handle was
/// destroyed is counted until it ends. Thread: any.
size_t csched_live_threads(void);

/// What the Swift module counts. Private.
typedef enum csched_counted_ {
  CSCHED_COUNTED_JOBS_,
  CSCHED_COUNTED_CLOSURES_,
  CSCHED_COUNTED_DISPOSABLES_,
  CSCHED_COUNTED_KINDS_,
} csched_counted_;

/// Whether the environment variable SCHEDULER_DIAGNOSTICS is 1. Set when the library is loaded, and constant from then
/// on. Private.
extern bool csched_counting_;
CSCHED_INLINE bool csched_is_counting_(void) {
  CSCHED_NEEDS_ABI();
  return csched_counting_;
}

/// Does: adds `change` to the count of live objects of `kind`. Thread: any; up to 64 threads do not contend. Private.
void csched_count_(csched_counted_ kind, int64_t change);

/// Returns: the count of live objects of `kind`: the sum of all changes. Exact while no other thread changes it.
/// Thread: any. Private.
int64_t csched_counted_sum_(csched_counted_ kind);

CSCHED_END_DECLS

#endif
