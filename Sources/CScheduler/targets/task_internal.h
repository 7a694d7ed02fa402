// Internal types of the memory of tasks: see task_memory.c.
// Depends on: task_job.h.
#pragma once

#include <CScheduler/lock.h>
#include "task_job.h"

enum { CSCHED_TASK_UNITS = 64 };

/// An allocation from the system: CSCHED_TASK_UNITS units of CSCHED_TASK_UNIT bytes. This header is in unit 0; the
/// other units hold jobs of one size.
typedef struct csched_task_pages {
  struct csched_task_pages *next;  ///< the next older allocation; NULL: none
  uint64_t bare;                   ///< bit i: unit i is decommitted (returned to the system, or never used)
  uint64_t life;                   ///< first generation of a job made in a decommitted unit (task_memory.c, TM1)
  csched_task_size size;           ///< the size of all jobs in this allocation
  uint8_t free[CSCHED_TASK_UNITS]; ///< only during csched_trim: how many jobs of each unit are in the central cache
} csched_task_pages;

/// The central cache: free memory that all threads share.
typedef struct csched_task_central_cache {
  csched_lock lock;                       ///< guards both lists, and `bare`, `life` and `free` of `all`
  csched_job *batches[CSCHED_TASK_SIZES]; ///< for each size, a list of batches of free jobs
  csched_task_pages *all;                 ///< all allocations, newest first
} csched_task_central_cache;

extern CSCHED_HIDDEN csched_task_central_cache csched_task_central_;

/// Returns: the size with which `job` was made. Requires: csched_task_make_ made `job`.
csched_task_size csched_task_size_(const csched_job *job);

/// Does: moves all jobs in this thread's cache to the central cache.
void csched_tasks_flush_(void);
