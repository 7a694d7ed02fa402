// A pool of worker threads: runs jobs in parallel, by four priorities.
// Depends on: loop.h.
//
// By default the pool runs as many jobs at a time as there are processors that it may use. A job of lower priority may wait, but it never starves. An
// idle pool sleeps, without wakeups. When all workers are blocked, the pool starts another one.
//
// A job may end its thread (pthread_exit, cancellation) after it has waited for its own forks. The job has then ended, and another worker replaces
// the thread. A C++ exception that escapes a job ends the process (std::terminate), as in thread.h. A forked job must not be unwound by an exception
// or longjmp: it may be running inside another job.
//
// In a child of fork the pool is orphaned: its threads do not exist there. Submitting to it or joining it stops the process with a message. Stopping
// or destroying it does nothing. A job that called fork must end the child, by _exit or exec.
#ifndef CSCHED_POOL_H
#define CSCHED_POOL_H

#include <CScheduler/loop.h>

CSCHED_BEGIN_DECLS

typedef struct csched_pool csched_pool;

/// How soon a job runs compared with other ready jobs. Any other value stops the process.
typedef enum csched_priority {
  CSCHED_PRIORITY_HIGH,
  CSCHED_PRIORITY_DEFAULT,
  CSCHED_PRIORITY_LOW,        ///< at nice 5, if the thread may lower it again: see csched_pool_has_nice
  CSCHED_PRIORITY_BACKGROUND, ///< at nice 10, under the same condition
} csched_priority;

/// How to create a pool. All zero is the default.
typedef struct csched_pool_options {
  const char *name; ///< the workers are named "name-1", "name-2" …; cut so that all fits into 15 bytes; NULL: unnamed
  size_t
      workers; ///< how many run at a time; 0: as many as there are processors that this process may use. To find that
               ///< number the pool reads system files (quotas); pass a number where that is forbidden
  size_t
      most_threads; ///< upper limit of threads, however many block; 0: 64 more than workers. If all these threads block, the
                    ///< pool prints one message, unless the limit is not above `workers`
  size_t stack_size;     ///< bytes, as in thread.h
  csched_time idle_exit; ///< nanoseconds after which an idle worker ends; the last one stays; 0: 10 s
} csched_pool_options;

/// Does: creates a pool, its monitor thread, which delivers delayed jobs, and its first worker. `options` may be NULL. Returns: 0; EAGAIN or ENOMEM
/// when the system has no thread or memory left, with nothing allocated. If a thread cannot be started later, the pool continues with the threads
/// that it has, and tries again while work waits. Thread: any.
int csched_pool_create(csched_pool **pool, const csched_pool_options *options);

/// Returns: the target of this priority, to submit to (target.h). Valid as long as the pool. Thread: any.
csched_target *csched_pool_target(csched_pool *pool, csched_priority priority);

/// Does: submits `count` jobs in this order; the pool takes all of them or none. It wakes as many workers as there is work for, which single
/// submissions do not. Returns, requires, thread: as csched_target_submit.
int csched_pool_submit_batch(csched_pool *pool, csched_priority priority, csched_job *const *jobs, size_t count);

/// Does: stops the pool (target.h): its threads end after the outstanding work was run or dropped, as `policy` says. Thread: any, workers included.
void csched_pool_stop(csched_pool *pool, csched_stop_policy policy);

/// Does: waits until all threads of a stopped pool have ended. Several threads may wait, also when the pool has already ended. Returns: 0; EDEADLK at
/// once on a thread of the pool. Thread: any; it blocks.
int csched_pool_join(csched_pool *pool);

/// Does: stops the pool with CSCHED_STOP_RUN unless it was stopped before, joins it and frees it. Requires: no thread is in a call on the pool, and
/// none makes one later. Thread: any but the pool's own; it blocks.
void csched_pool_destroy(csched_pool *pool);

/// Does: announces that this worker is about to block. Another worker may replace it until csched_pool_blocking_end. Calls may nest. Outside a worker
/// both functions do nothing. Thread: any.
void csched_pool_blocking_begin(void);
void csched_pool_blocking_end(void);

/// Does: donates `priority` to `target`: a waiter of that priority waits for work that was submitted to `target`. Until csched_target_take_back, jobs
/// that are not more urgent than the waiter may overtake the target's pool priority at most once in a row. csched_serial_sync does this by itself.
/// Returns: whether there is a donation to end: the target is on a pool, with a lower priority. Thread: any.
bool csched_target_lend(csched_target *target, csched_priority priority);

/// Does: ends a donation by csched_target_lend. Requires: csched_target_lend returned true for these two arguments; the target is valid. Thread: any.
void csched_target_take_back(csched_target *target, csched_priority priority);

/// A forked job; it lives in the caller's stack frame. Private.
typedef struct csched_fork {
  csched_job *job;
  csched_target *target;
  uint32_t phase;
} csched_fork;

/// Does: offers `job` to other workers, at the current job's priority, while this thread continues. Outside a worker, or when too many jobs are
/// forked already, it runs `job` at once. Requires: the job is idle; `fork` and `job` stay at their addresses until csched_pool_wait(fork), which
/// must come before the current job ends. Thread: any.
void csched_pool_fork(csched_fork *fork, csched_job *job);

/// Does: waits until the forked job has run; the caller then sees what it wrote. Call it in the reverse order of the forks: then this thread runs the
/// job itself, unless another worker has started it. While it waits, this thread may run other forked jobs. Thread: the one that forked.
void csched_pool_wait(csched_fork *fork);

/// Returns: whether the pool was created in the parent process, before fork, and cannot be used here; create another one. Thread: any.
bool csched_pool_is_orphaned(const csched_pool *pool);

/// Returns: how many workers run at a time. Thread: any.
size_t csched_pool_worker_count(const csched_pool *pool);

/// Returns: how many worker threads exist now, idle and blocked ones included. For tests and diagnostics. Thread: any.
size_t csched_pool_thread_count(const csched_pool *pool);

/// Returns: the pool's delivery worker, which delivers timers for a thread that keeps the time. Private.
struct csched_delivery *csched_pool_delivery_(csched_pool *pool);

/// Returns: how many threads the pool has, including the monitor thread. Thread: any. Private.
size_t csched_pool_live_threads_(csched_pool *pool);

/// Returns: whether low priorities run at a higher nice value. They do only where a thread may lower its nice value again. If the process gives up
/// that right (root), each thread keeps its current value, and no job changes it from then on. Thread: any.
bool csched_pool_has_nice(const csched_pool *pool);

CSCHED_END_DECLS

#endif
