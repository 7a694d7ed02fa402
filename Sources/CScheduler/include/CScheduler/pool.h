// A pool of worker threads: runs jobs in parallel, by four priorities.
// Depends on: loop.h.
//
// By default the pool runs as many jobs at a time as there are processors that it may use. A job of lower priority may
// wait, but it never starves. An idle pool sleeps, without wakeups. When all workers are blocked, the pool starts
// another worker.
//
// A job may end its thread (pthread_exit, cancellation), once it has waited for the jobs that it spawned
// (csched_pool_fork). The library then ends the job, and another worker replaces the thread. A C++ exception that
// escapes a job ends the process (std::terminate), as in thread.h. No exception or longjmp may unwind a job started by
// csched_pool_fork, because it may be running inside another job.
//
// In a child process of fork the pool is orphaned: its threads do not exist there. Submitting to it or joining it stops
// the process with a message. Stopping or destroying it does nothing. A job that calls fork must end the child process,
// by _exit or exec.
#ifndef CSCHED_POOL_H
#define CSCHED_POOL_H

#include <CScheduler/loop.h>

CSCHED_BEGIN_DECLS

typedef struct csched_pool csched_pool;

/// How soon a job runs compared with other ready jobs. A value outside this enum stops the process.
typedef enum csched_priority {
  CSCHED_PRIORITY_HIGH,
  CSCHED_PRIORITY_DEFAULT,
  CSCHED_PRIORITY_LOW,        ///< runs at nice 5, if a thread may lower its nice value afterwards: csched_pool_has_nice
  CSCHED_PRIORITY_BACKGROUND, ///< runs at nice 10, under the same condition
} csched_priority;

/// How to create a pool. All zero is the default.
typedef struct csched_pool_options {
  const char *name; ///< threads are "name-1", "name-2" …, cut to 15 bytes with the number; NULL: unnamed
  /// How many workers run jobs at a time. 0: one for each processor that this process may use, which the pool reads
  /// from system files (quotas): pass a number where reading them is forbidden.
  size_t workers;
  /// The limit of worker threads, blocked ones included. 0: `workers` + 64, and while all of these are blocked and work
  /// waits, one more every 5 ms, up to 16384. If all block at a limit above `workers`, the pool prints one message.
  size_t most_threads;
  size_t stack_size;     ///< bytes for each thread; 0: the system's default; see thread.h
  csched_time idle_exit; ///< nanoseconds after which an idle worker ends; one worker stays; 0: 10 s
} csched_pool_options;

/// Does: creates a pool, its monitor thread, which delivers delayed jobs, and its first worker. `options` may be NULL.
/// Returns: 0; EAGAIN or ENOMEM when the system has no thread or memory left; nothing is then allocated. If a thread
/// cannot be started later, the pool continues with its existing threads, and tries again while work waits. Thread:
/// any.
int csched_pool_create(csched_pool **pool, const csched_pool_options *options);

/// Returns: the target of this priority, to submit to (target.h). Valid as long as the pool. Thread: any.
csched_target *csched_pool_target(csched_pool *pool, csched_priority priority);

/// Does: submits `count` jobs in the order of `jobs`; the pool accepts all of them or none. It wakes as many workers as
/// there are jobs for; that many single submissions may wake fewer. Returns: 0; ECANCELED when the pool accepts no more
/// work, after all jobs were dropped and released. Requires: the jobs are idle. Thread: any.
int csched_pool_submit_batch(csched_pool *pool, csched_priority priority, csched_job *const *jobs, size_t count);

/// Does: stops the pool: it refuses later work, runs or drops outstanding work as `policy` says (loop.h), and then its
/// threads end. This does not wait for them. Thread: any, workers included.
void csched_pool_stop(csched_pool *pool, csched_stop_policy policy);

/// Does: waits until all threads of a stopped pool have ended. Several threads may join, also after the threads have
/// ended. Returns: 0; EDEADLK at once, if the caller is a thread of the pool. Thread: any; it blocks.
int csched_pool_join(csched_pool *pool);

/// Does: stops the pool with CSCHED_STOP_RUN unless it was stopped before, joins it and frees it. Requires: no thread
/// is in a call on the pool, and none makes one later. Thread: any but the pool's own; it blocks.
void csched_pool_destroy(csched_pool *pool);

/// Does: csched_pool_blocking_begin announces that the calling worker is about to block. Until
/// csched_pool_blocking_end, another worker may run jobs in its place. Calls may nest. On a thread that is not a
/// worker, both functions do nothing. Thread: any.
void csched_pool_blocking_begin(void);
void csched_pool_blocking_end(void);

/// Does: donates `priority` to `target`, because a thread of that priority waits for work submitted to `target`. Until
/// csched_target_take_back, jobs of `priority` or a lower one overtake jobs of the target's own pool priority at most
/// once in a row. csched_serial_sync does this itself. Returns: true if `target` is on a pool, at a lower priority than
/// `priority`: csched_target_take_back must end the donation; else false. Thread: any.
bool csched_target_lend(csched_target *target, csched_priority priority);

/// Does: ends a donation by csched_target_lend. Requires: csched_target_lend returned true for these two arguments; the
/// target is valid. Thread: any.
void csched_target_take_back(csched_target *target, csched_priority priority);

/// The state of one csched_pool_fork, which is fork-join's spawn, and no fork of a process. It lives in the caller's
/// stack frame. Private.
typedef struct csched_fork {
  csched_job *job;
  csched_target *target;
  uint32_t phase; // whether the job has ended, and whether csched_pool_wait sleeps for it: values in fork_join.c
  uint32_t thief; // 0, or the number of the worker that has stolen the job
} csched_fork;

/// Does: spawns `job` (fork-join's spawn): offers it to other workers, at the current job's priority, while this thread
/// continues. On a thread that is not a worker, or when too many spawned jobs wait already, it runs `job` at once.
/// Requires: the job is idle; `spawn` and `job` stay at their addresses until csched_pool_wait(spawn). The current job
/// must call that before it ends. Thread: any.
void csched_pool_fork(csched_fork *spawn, csched_job *job);

/// Does: joins: waits until the job of csched_pool_fork(spawn, job) has run; the caller then sees what the job wrote.
/// With several spawned jobs, wait for the newest first: then this thread runs the job itself, unless another worker
/// has started it. During the wait, this thread runs jobs that the current job has spawned, and jobs that these have
/// spawned, but no others. So the caller may hold locks that jobs of other origin ask for. Thread: the thread that
/// called csched_pool_fork.
void csched_pool_wait(csched_fork *spawn);

/// Returns: whether the pool was created in a parent process, before fork. Such a pool cannot be used here: create
/// another one. Thread: any.
bool csched_pool_is_orphaned(const csched_pool *pool);

/// Returns: how many workers run jobs at a time. Thread: any.
size_t csched_pool_worker_count(const csched_pool *pool);

/// Returns: how many worker threads exist now, idle and blocked ones included. For tests and diagnostics. Thread: any.
size_t csched_pool_thread_count(const csched_pool *pool);

/// Returns: the pool's delivery worker, which delivers due timers to targets whose `deliver` may block, in place of a
/// timer thread. Private.
struct csched_delivery *csched_pool_delivery_(csched_pool *pool);

/// Returns: how many threads the pool has, including the monitor thread. Thread: any. Private.
size_t csched_pool_live_threads_(csched_pool *pool);

/// Returns: whether LOW and BACKGROUND run at a higher nice value: only where a thread may lower its nice value again.
/// If the process gives up that right (root), each thread keeps its current nice value from then on. Thread: any.
bool csched_pool_has_nice(const csched_pool *pool);

CSCHED_END_DECLS

#endif
