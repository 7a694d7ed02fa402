// Shared by the tests of tasks and nodes: records of tasks' ends, and targets.
// Depends on: pool_testing.h.
#pragma once

#include "pool_testing.h"

typedef struct record {
  atomic_int runs, drops, reason;
  csched_time earliest; // it must not run before
} record;
void count_run(void *context);
void count_drop(void *context, csched_drop_reason reason);

/// Submits what counts in `record`, at `deadline`.
csched_task submit_at(csched_target *target, csched_time deadline, record *record);

// One of each kind that keeps real time.
typedef struct places {
  csched_thread *thread;
  csched_pool *pool;
  csched_serial *on_thread, *on_pool;
  csched_target *targets[4];
} places;
enum { PLACES = 4 };
places make_places(void);
void end_places(places *made, csched_stop_policy policy);
