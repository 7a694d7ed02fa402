// Runs the iterations of a loop in parallel, on the calling thread and on others.
// Depends on: target.h.
//
//   static void brighten(void *image, size_t from, size_t to) { for (size_t row = from; row < to; row++) … }
//   csched_apply(csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), csched_pool_worker_count(pool), rows, 16, brighten, &image);
//
// The calling thread takes part, and other threads join when they are free. So the call returns on one processor, inside a job of any target, when
// nested, and when the target never runs the helper jobs. On a worker of the target's own pool the helpers are forked jobs (pool.h); elsewhere they
// are jobs of the target. In a child of fork, a call that the parent was inside continues alone; if other threads had joined it, the process stops.
#ifndef CSCHED_APPLY_H
#define CSCHED_APPLY_H

#include <CScheduler/target.h>

CSCHED_BEGIN_DECLS

/// The largest number of threads of one call. A larger argument counts as this.
#define CSCHED_APPLY_THREADS_MOST 64

/// Does: calls `body(context, from, to)` for ranges of the numbers from 0 to `count`, each number in one range. Returns when all calls have returned;
/// their effects are then visible. Ranges are large at first and shrink to `grain` (0 counts as 1). So the overhead stays small and all threads end
/// together. At most `threads` threads run `body` at a time (0 counts as 1), the caller included. The others are jobs of `target`, which is their
/// current target; the calling thread keeps its own. Without memory, or if the target refuses jobs, the caller does all the work. Requires: `body`
/// may run on several threads at a time. It is not unwound by an exception, longjmp or the end of its thread. Thread: any; it blocks until calls that
/// other threads have started return.
void csched_apply(csched_target *target, size_t threads, size_t count, size_t grain,
                  void (*body)(void *context, size_t from, size_t to), void *context);

CSCHED_END_DECLS

#endif
