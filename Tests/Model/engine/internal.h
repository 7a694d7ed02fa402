// What the parts of the checker share.
#pragma once

#include "model.h"

#include <semaphore.h>

enum { MODEL_THREADS = 8, MODEL_LOCATIONS = 96, MODEL_MESSAGES = 512, MODEL_LOG = 4096 };

/// For each location the oldest message that may still be read; then for each thread how far it has been seen.
typedef struct model_view {
  unsigned short at[MODEL_LOCATIONS];
  unsigned epoch[MODEL_THREADS];
} model_view;

typedef enum model_status { MODEL_UNUSED, MODEL_READY, MODEL_BLOCKED, MODEL_ENDED } model_status;

typedef struct model_thread {
  model_status status;
  model_view view, acquired, released; // now; what an acquire fence would add; as of the last release fence
  const void *waits_for;               // a futex word, or a thread to be joined
  csched_time deadline;
  bool was_woken;
  unsigned priority;
  void (*body)(void *);
  void *context;
  struct {
    void *value;
    void (*destructor)(void *);
  } specific[8];
  sem_t turn;
} model_thread;

extern model_thread model_threads[MODEL_THREADS];
extern int model_thread_count, model_self;
extern csched_time model_clock;

unsigned model_choose(unsigned count);                         // one of the run's choices
void model_step(const char *what, const char *file, int line); // lets the strategy choose who goes on
void model_block(const void *waits_for, csched_time deadline);
void model_log(const char *what, const void *address, uint64_t value, const char *file, int line);
void model_fail(const char *what, const char *file, int line) CSCHED_NORETURN;
int model_start_thread(void (*body)(void *), void *context);

void model_memory_reset(void);
void model_view_join(model_view *into, const model_view *from);
void model_fence_of(int thread);
uint64_t model_kernel_load(const uint32_t *word);
