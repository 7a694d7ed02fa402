// The loads, and what they run on: simulated processors (engine.c) or the processors of this machine (native.c).
#pragma once

#include <CScheduler/CScheduler.h>

/// Does: starts a thread.
void scale_spawn(void (*body)(void *), void *context);
/// Does: spends `ns` of the calling thread's processor on work that touches no shared memory.
void scale_work(uint64_t ns);
/// Does: waits, without using the processor.
void scale_nap(uint64_t ns);
uint64_t scale_now(void);
/// Does: counts one unit of work of the calling thread as done.
void scale_done(void);
/// Does: begins the measurement: forgets what was counted.
void scale_begin(void);
/// Does: says how many units come. The simulator then counts the second and third quarter of them only: all processors
/// work meanwhile.
void scale_expect(uint64_t count);
/// Does: ends the measurement: all units are done.
void scale_end(void);

/// How many times more units a load does than in the simulator, whose measurement ends with the last unit.
extern const int scale_repeats;

/// A load. `prepare` runs on a thread of its own, and returns when all threads that it has started have ended.
typedef struct scale_load {
  const char *name, *unit; // what one unit of work is
  void (*prepare)(int processors, uint64_t ns);
} scale_load;
extern const scale_load scale_loads[]; // a load without a name ends the list
