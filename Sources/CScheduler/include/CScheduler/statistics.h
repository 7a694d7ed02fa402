// Statistics: how many jobs a target ran, how long they waited, and how long they ran.
// Depends on: target.h.
#ifndef CSCHED_STATISTICS_H
#define CSCHED_STATISTICS_H

#include <CScheduler/target.h>

CSCHED_BEGIN_DECLS

/// Durations, in nanoseconds: the median, the 99th percentile and the maximum. `p50` and `p99` are too large by an
/// eighth at most.
typedef struct csched_span_statistics {
  csched_time p50, p99, max;
} csched_span_statistics;

/// What happened on a target while statistics were on.
typedef struct csched_statistics {
  uint64_t submitted;              ///< jobs, including delayed ones; a repeating task counts once for each call
  uint64_t run;                    ///< jobs that ran to their end
  uint64_t cancelled, dropped;     ///< jobs that did not run: because of a cancel; because the target dropped them
  uint64_t waiting;                ///< jobs that are submitted and not started now, delayed ones included
  uint64_t wakes;                  ///< submissions that had to wake a thread
  uint64_t steals;                 ///< jobs that the target's jobs spawned (csched_pool_fork) and another thread ran
  uint64_t system_calls;           ///< system calls to sleep or wake, in the target's jobs and in submissions to it
  csched_span_statistics latency;  ///< from a job's submission or deadline to its start
  csched_span_statistics run_time; ///< from a job's start to its end
} csched_statistics;

/// Does: csched_statistics_begin turns counting on for all targets, at about 200 ns per job; csched_statistics_end
/// turns it off. Jobs that were submitted while counting was on are counted to their end. Turning it on again continues
/// the earlier figures. At most 4096 targets, and 57344 waiting jobs at a time, are counted. Returns: 0, or ENOMEM.
/// Thread: any.
int csched_statistics_begin(void);
void csched_statistics_end(void);

/// Does: writes to `statistics` the figures of jobs submitted directly to `target`, not to queues on it. All are zero
/// if no job was counted. The figures are read one after the other while work continues. In virtual time the latency is
/// not measured. Returns: whether any job was counted.
/// Requires: `target` is valid. Thread: any.
bool csched_target_statistics(const csched_target *target, csched_statistics *statistics);

CSCHED_END_DECLS

#endif
