// Runs the iterations of a loop in parallel, on the calling thread and on others.
// Depends on: target.h.
//
//   static void brighten(void *image, size_t from, size_t to) { for (size_t row = from; row < to; row++) … }
//   csched_apply(csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), csched_pool_worker_count(pool), rows, 16, brighten,
//   &image);
//
// The calling thread runs iterations, and helper jobs on other threads run iterations when these threads are free. So
// the call returns even on one processor, inside a job of any target, when nested, and when the target never runs the
// helper jobs. The calling thread runs no other jobs meanwhile, except those that `body` spawns (csched_pool_fork). So
// the call may be made under a lock that other jobs ask for. Of the threads that run `body`, only the calling one
// counts as inside of the queue whose job made the call. On a worker of the target's own pool the helpers are spawned
// by csched_pool_fork; elsewhere they are submitted to the target. If `body` calls fork on the calling thread, this
// thread completes the call alone in the child process; if helpers had started, the child stops with a message.
#ifndef CSCHED_APPLY_H
#define CSCHED_APPLY_H

#include <CScheduler/target.h>

CSCHED_BEGIN_DECLS

/// The largest number of threads of one call. A larger argument counts as this value.
#define CSCHED_APPLY_THREADS_MOST 64

/// Does: calls `body(context, from, to)` for ranges that cover 0 to `count`, `to` excluded, each number once. Returns
/// when all these calls have returned; their writes are then visible. Ranges are large at first and shrink to `grain`
/// numbers (0 counts as 1), so the overhead is small and all threads finish together. At most `threads` threads run
/// `body` at a time (0 counts as 1), the caller included. The current target of helpers is `target`; the calling thread
/// keeps its own. Without memory, or if the target refuses jobs, the caller runs all iterations. Requires: `body` may
/// run on several threads at a time; no exception, longjmp or thread exit unwinds it. Thread: any; it blocks until all
/// calls have returned.
void csched_apply(csched_target *target, size_t threads, size_t count, size_t grain,
                  void (*body)(void *context, size_t from, size_t to), void *context);

CSCHED_END_DECLS

#endif
