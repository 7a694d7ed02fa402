// Statistics: how many jobs a target ran, how long they waited, and how long they ran.
// Depends on: target.h.
#ifndef CSCHED_STATISTICS_H
#define CSCHED_STATISTICS_H

#include <CScheduler/target.h>

CSCHED_BEGIN_DECLS

/// Durations, in nanoseconds: the median, the 99th percentile and the maximum. `p50` and `p99` are too large by an eighth at most.
typedef struct csched_span_statistics {
  csched_time p50, p99, max;
} csched_span_statistics;

/// What happened on a target while statistics were on.
typedef struct csched_statistics {
  uint64_t submitted; ///< jobs, including delayed ones; a repeating task counts once for each call
  uint64_t run;       ///< to the end
  uint64_t cancelled, dropped;
  uint64_t waiting;               ///< now: submitted and not started, including delayed jobs
  uint64_t wakes;                 ///< submissions that had to wake a thread
  uint64_t steals;                ///< forks of its jobs (csched_pool_fork) that another thread took
  uint64_t system_calls;          ///< to sleep or wake, by its jobs and by submissions to it
  csched_span_statistics latency; ///< from the submission, or the deadline, to the start
  csched_span_statistics run_time;
} csched_statistics;

/// Does: csched_statistics_begin turns counting on for all targets, at about 200 ns per job; csched_statistics_end turns it off. Jobs that were
/// submitted while it was on are counted to their end. Turning it on again continues the earlier figures. It counts up to 4096 targets and 57344
/// waiting jobs at a time; further ones are not counted. Returns: 0, or ENOMEM. Thread: any.
int csched_statistics_begin(void);
void csched_statistics_end(void);

/// Does: writes the figures of `target`: of jobs submitted to it directly, without those of queues on it. All are zero if nothing was counted. The
/// figures are read one after the other while work continues. Virtual time has no latency. Returns: whether anything was counted. Requires: `target`
/// is valid. Thread: any.
bool csched_target_statistics(const csched_target *target, csched_statistics *statistics);

CSCHED_END_DECLS

#endif
