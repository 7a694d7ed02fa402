// Leak accounting: how many threads and objects of ours are alive, for tests and for a program that looks at itself.
// Depends on: base.h.
//
// Threads are counted always. Jobs are the caller's memory, and each ends in its `release`: a program in C counts them there. The
// Swift module's objects are counted when `csched_counting_` says so.
#ifndef CSCHED_DIAGNOSTICS_H
#define CSCHED_DIAGNOSTICS_H

#include <CScheduler/base.h>

CSCHED_BEGIN_DECLS

/// Returns: how many threads of ours there are: keep-alive threads, workers of pools, their monitor threads; not those of observers, as a
/// trace's. One that was joined is not among them; one that was let go of is until it has done with its work. Thread: any.
size_t csched_live_threads(void);

/// What the Swift module counts. Private.
typedef enum csched_counted_ {
  CSCHED_COUNTED_JOBS_,
  CSCHED_COUNTED_CLOSURES_,
  CSCHED_COUNTED_DISPOSABLES_,
  CSCHED_COUNTED_KINDS_,
} csched_counted_;

/// Whether SCHEDULER_DIAGNOSTICS is 1: set when the library is loaded, never changed later. Private.
extern bool csched_counting_;
CSCHED_INLINE bool csched_is_counting_(void) {
  CSCHED_NEEDS_ABI();
  return csched_counting_;
}

/// Does: adds `change` to how many there are. Thread: any; threads do not contend unless there are more than 64. Private.
void csched_count_(csched_counted_ kind, int64_t change);

/// Returns: the sum of all changes; it is exact when none happens meanwhile. Thread: any. Private.
int64_t csched_counted_sum_(csched_counted_ kind);

CSCHED_END_DECLS

#endif
