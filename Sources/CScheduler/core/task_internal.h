// Where the memory of tasks comes from: task_memory.c.
// Depends on: task_job.h.
#pragma once

#include <CScheduler/lock.h>
#include <CScheduler/task_job.h>

enum { CSCHED_TASK_UNITS = 64 };

/// What is taken of the system at a time is so many units. This is the first of them.
typedef struct csched_task_pages {
  struct csched_task_pages *next;
  uint64_t bare; ///< which units
  uint64_t life;
  csched_task_size size;           ///< of all jobs in it
  uint8_t free[CSCHED_TASK_UNITS]; ///< of csched_trim: how many jobs of a unit
} csched_task_pages;

/// What all threads have together.
typedef struct csched_task_depot {
  csched_lock lock;
  csched_job *batches[CSCHED_TASK_SIZES]; ///< of free jobs
  csched_task_pages *all;                 ///< newest first
} csched_task_depot;

extern CSCHED_HIDDEN csched_task_depot csched_task_depot_;

/// Returns: of which size `job` was made. Requires: it is a task's.
csched_task_size csched_task_size_(const csched_job *job);

/// Does: gives what this thread keeps to the depot.
void csched_tasks_flush_(void);
