// A loop whose iterations run side by side, on this thread and on others.
// Depends on: target.h.
//
//   static void brighten(void *image, size_t from, size_t to) { for (size_t row = from; row < to; row++) … }
//   csched_apply(csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT), csched_pool_worker_count(pool), rows, 16, brighten, &image);
//
// The calling thread takes part, and others join it as they come: so it ends on one processor, inside of a job of any target, nested, and when the
// target does not come to it at all. On a worker of the target's own pool the others take forked jobs (pool.h); elsewhere they are jobs of
// the target. In a child of fork a call of the parent's goes on alone, or stops the process where others had joined it.
#ifndef CSCHED_APPLY_H
#define CSCHED_APPLY_H

#include <CScheduler/target.h>

CSCHED_BEGIN_DECLS

/// More threads than these are taken for these.
#define CSCHED_APPLY_THREADS_MOST 64

/// Does: calls `body(context, from, to)` for parts of the numbers from 0 to `count`, each number in one part, and returns when all calls have: what
/// they did is seen. Parts are large at first and become smaller, down to `grain` (0 counts as 1), so that a call pays for its own cost and
/// all threads end together. At most `threads` at a time (0 counts as 1), this one included; the others are jobs of `target`, and have it as the
/// current one, while this thread keeps its own. Without memory, and where the target takes no more, this thread does all. Requires: `body` may
/// be called on several threads at a time, and is not left by an exception, longjmp or the end of its thread. Thread: any; it blocks, for calls that
/// others have begun.
void csched_apply(csched_target *target, size_t threads, size_t count, size_t grain,
                  void (*body)(void *context, size_t from, size_t to), void *context);

CSCHED_END_DECLS

#endif
