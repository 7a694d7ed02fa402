// How much work went through a target, how long it waited, and how long it ran.
// Depends on: target.h.
#ifndef CSCHED_STATISTICS_H
#define CSCHED_STATISTICS_H

#include <CScheduler/target.h>

CSCHED_BEGIN_DECLS

/// How long things took, in nanoseconds. The middle one and the 99th of a hundred are too large by an eighth at the most.
typedef struct csched_span_statistics {
  csched_time p50, p99, max;
} csched_span_statistics;

/// What has happened on a target while statistics were on.
typedef struct csched_statistics {
  uint64_t submitted; ///< jobs, delayed ones too; a repeating task's once for each call
  uint64_t run;       ///< to the end
  uint64_t cancelled, dropped;
  uint64_t waiting;               ///< now: submitted and not begun; delayed ones, too
  uint64_t wakes;                 ///< how many submissions found that a thread had to be woken
  uint64_t system_calls;          ///< to sleep or wake, by its jobs and by submissions to it
  csched_span_statistics latency; ///< from the submission, or the deadline, to the beginning
  csched_span_statistics run_time;
} csched_statistics;

/// Does: counts from now on, on all targets, about 200 ns for each job; what is submitted while it is on is counted to its end. The figures go on
/// from where they were when it was on before. Up to 4096 targets are told apart at a time, and up to 57344 jobs that wait; what is beyond that
/// is not counted. Returns: 0, or ENOMEM. Thread: any.
int csched_statistics_begin(void);
void csched_statistics_end(void);

/// Does: writes what was counted of `target`: what was submitted to it itself, and not to queues on it. All zero where nothing was. The figures
/// are read one after the other, while all goes on. In virtual time there is no latency. Returns: whether anything was. Requires: `target` is valid. Thread: any.
bool csched_target_statistics(const csched_target *target, csched_statistics *statistics);

CSCHED_END_DECLS

#endif
