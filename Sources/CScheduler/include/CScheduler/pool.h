// A pool of worker threads.
// Depends on: loop.h.
//
// Jobs run side by side on as many threads as there are processors to use. Four priorities; a lower one may wait, but never
// for ever. A pool with nothing to do sleeps, with no wakeups; one whose workers are all blocked starts another.
//
// A job that ends its thread (pthread_exit, cancellation) has ended, and another worker takes the place; it must first wait for its
// own forks. An exception of C++ that leaves a job ends the process (std::terminate), as in thread.h; nor may a forked job be left by
// one, or by longjmp, because it may run in the middle of another. In a child of fork the pool is orphaned: to submit to it or join
// it stops the process with a message; to stop or destroy it does nothing. A job that forked must end the child: by _exit, or by exec.
#ifndef CSCHED_POOL_H
#define CSCHED_POOL_H

#include <CScheduler/loop.h>

CSCHED_BEGIN_DECLS

typedef struct csched_pool csched_pool;

/// How soon a job runs, beside others that are ready. What is none of these stops the process.
typedef enum csched_priority {
  CSCHED_PRIORITY_HIGH,
  CSCHED_PRIORITY_DEFAULT,
  CSCHED_PRIORITY_LOW,        ///< at nice 5, where the system permits to come back: see csched_pool_has_nice
  CSCHED_PRIORITY_BACKGROUND, ///< at nice 10, the same
} csched_priority;

/// How to make a pool. All zero is the default.
typedef struct csched_pool_options {
  const char *name; ///< the workers are "name-1", "name-2" …; cut so that the number fits into 15 bytes; NULL: unnamed
  size_t
      workers; ///< how many run at a time; 0: as many as there are processors that this process may use, for which files of the
               ///< system are read (quotas): give a number where that is forbidden
  size_t
      most_threads; ///< never more threads than these, whatever is blocked; 0: 64 more than workers. When all of these are not
                    ///< enough, because jobs block, the pool says so once, unless it was given no more than `workers`
  size_t stack_size;     ///< bytes, as in thread.h
  csched_time idle_exit; ///< a worker with nothing to do ends after so long, all but one; 0: 10 s
} csched_pool_options;

/// Does: makes a pool, and starts its monitor thread, which delivers delayed jobs, and its first worker. `options` may be NULL. Returns: 0; EAGAIN or
/// ENOMEM when the system has no thread or memory to give, with nothing left behind. Later the pool goes on with the threads that it
/// has, and tries again while work waits. Thread: any.
int csched_pool_create(csched_pool **pool, const csched_pool_options *options);

/// Returns: this priority of the pool as a target, to submit to (target.h). Valid as long as the pool. Thread: any.
csched_target *csched_pool_target(csched_pool *pool, csched_priority priority);

/// Does: submits `count` jobs at once: all or none of them are taken, in this order, and as many workers wake as have work, which
/// no number of single submissions does. Returns, requires, thread: as csched_target_submit.
int csched_pool_submit_batch(csched_pool *pool, csched_priority priority, csched_job *const *jobs, size_t count);

/// Does: stops the pool (target.h): its threads end after the outstanding work has got what `policy` says. Thread: any, workers included.
void csched_pool_stop(csched_pool *pool, csched_stop_policy policy);

/// Does: waits until a stopped pool has ended: all its threads are gone. Several may wait, and again afterwards.
/// Returns: 0; EDEADLK at once on a thread of the pool. Thread: any; it blocks.
int csched_pool_join(csched_pool *pool);

/// Does: stops the pool with CSCHED_STOP_RUN unless it has been stopped, joins it, frees it. Requires: no thread is in a call
/// on the pool, and none makes one later. Thread: any but the pool's own; it blocks.
void csched_pool_destroy(csched_pool *pool);

/// Does: says that this worker is about to block, so that another may take its place until csched_pool_blocking_end. May nest.
/// Outside of a worker it does nothing. Thread: any.
void csched_pool_blocking_begin(void);
void csched_pool_blocking_end(void);

/// Does: says that somebody of `priority` waits for what was submitted to `target`: until csched_target_take_back, at most one job of
/// those that are not above the waiter goes before each of the priority of the pool that the target is on. A thread that waits by
/// csched_serial_sync does so by itself. Returns: whether there is something to take back: the target is on a pool, with a lower priority.
/// Thread: any.
bool csched_target_lend(csched_target *target, csched_priority priority);

/// Does: takes back what csched_target_lend has lent. Requires: that returned true for these two; the target is valid. Thread: any.
void csched_target_take_back(csched_target *target, csched_priority priority);

/// One job that was forked, in the frame of whoever forked it. Private.
typedef struct csched_fork {
  csched_job *job;
  csched_target *target;
  uint32_t phase;
} csched_fork;

/// Does: lets another worker run `job`, with the priority of the present one, while this thread goes on. Outside of a worker, or when
/// too many are forked already, it runs the job at once. Requires: the job is idle; `fork` and `job` stay where they are until
/// csched_pool_wait(fork), which must come before the present job ends. Thread: any.
void csched_pool_fork(csched_fork *fork, csched_job *job);

/// Does: waits until the forked job has been run; what it did is then seen. Best called in the reverse order of the forks: the
/// job is then run here, unless another worker has begun it. Meanwhile this thread may run other forked jobs. Thread: the one that forked.
void csched_pool_wait(csched_fork *fork);

/// Returns: whether the pool belongs to the parent of this process, from before fork: make another one. Thread: any.
bool csched_pool_is_orphaned(const csched_pool *pool);

/// Returns: how many workers run at a time. Thread: any.
size_t csched_pool_worker_count(const csched_pool *pool);

/// Returns: how many threads the workers have now, idle and blocked ones included. For tests and diagnostics. Thread: any.
size_t csched_pool_thread_count(const csched_pool *pool);

/// Returns: who delivers in place of a thread that keeps the time. Private.
struct csched_courier *csched_pool_courier_(csched_pool *pool);

/// Returns: how many threads the pool has in all, the monitor thread included. Thread: any. Private.
size_t csched_pool_live_threads_(csched_pool *pool);

/// Returns: whether low priorities run at a higher nice value: only where a thread may lower its value again. A process that gives up
/// the right to that (root) keeps the values that it has, and no job has another from then on. Thread: any.
bool csched_pool_has_nice(const csched_pool *pool);

CSCHED_END_DECLS

#endif
