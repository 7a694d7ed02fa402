// What the tests of pools share.
// Depends on: testing.h.
#pragma once

#include "testing.h"

#include <sys/resource.h>

csched_pool *make_pool(const csched_pool_options *options);
void end_pool(csched_pool *pool, csched_stop_policy policy); ///< stops, joins and destroys
void post(csched_pool *pool, csched_priority priority, probe *probe);

/// Jobs that keep so many workers busy, without processor time, until it is opened.
typedef struct pool_gate {
  probe probes[16];
  int count;
  atomic_int reached, open;
} pool_gate;
void pool_gate_close(pool_gate *gate, csched_pool *pool, int workers); ///< returns when they stand before it
void pool_gate_open(pool_gate *gate);
