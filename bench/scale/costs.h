// What the files of the simulator share.
#pragma once

#include "../../Tests/Model/engine/internal.h"
#include "scale.h"

/// What operations cost, in ns. `NAME=VALUE` arguments of the program change them.
typedef struct scale_costs {
  uint64_t hit, atomic;         // an access to a line that the processor has; an atomic change of one that it owns
  uint64_t transfer, far;       // a line that another processor has, of the same socket or of another one
  uint64_t copy;                // how long a line is busy when a processor copies it that only has copies
  uint64_t fetch;               // a line that no processor has
  uint64_t relax, call, memory; // a pause; a function call; malloc or free
  uint64_t system, clock;       // a system call; a reading of the clock
  uint64_t wake, latency;       // of a waker, for each thread; from the wake until the thread runs
  uint64_t turn, slice;         // a processor's change of threads; how long a thread runs if another one waits
  uint64_t barrier, interrupt;  // membarrier: of the caller; of each processor that runs another thread
  uint64_t start;               // starting a thread
  uint64_t socket;              // processors of a socket
} scale_costs;
extern scale_costs scale_cost;

typedef struct scale_hot {
  const char *word, *file; // an atomic access: the word, as the source writes it, and the place
  int line;
  const void *where; // an access that is not atomic: its return address
  uint64_t transfers;
} scale_hot;

// lines.c
uint64_t scale_access(const void *address, bool writes, bool is_atomic, const char *word, const char *file, int line,
                      const void *where, int processor, uint64_t now);
extern bool scale_counts; ///< whether transfers are counted
void scale_lines_forget(void);
uint64_t scale_transfers(void);
int scale_hottest(scale_hot *hot, int most);
