// What the parts of the checker share.
#pragma once

#include "model.h"

#include <semaphore.h>
#include <setjmp.h>

#ifndef MODEL_MOST_THREADS
#define MODEL_MOST_THREADS 8
#endif
enum { MODEL_THREADS = MODEL_MOST_THREADS, MODEL_LOCATIONS = 192, MODEL_MESSAGES = 512, MODEL_LOG = 4096 };

/// For each location the oldest message that may still be read; then for each thread how far it has been seen.
typedef struct model_view {
  unsigned short at[MODEL_LOCATIONS];
  unsigned epoch[MODEL_THREADS];
} model_view;

typedef enum model_status { MODEL_UNUSED, MODEL_READY, MODEL_BLOCKED, MODEL_FROZEN, MODEL_ENDED } model_status;

/// What a step touches: two steps of different threads may change places unless they depend on each other.
typedef enum model_kind { MODEL_LOCAL, MODEL_READS, MODEL_WRITES, MODEL_FENCES, MODEL_ANYTHING } model_kind;

typedef struct model_thread {
  model_status status;
  model_view view, acquired, released; // now; what an acquire fence would add; as of the last release fence
  model_kind kind;                     // of its next step, and where
  const void *address;
  uint32_t number;       // the system's
  const void *waits_for; // a futex word, or a thread to be joined
  csched_time deadline;
  bool was_woken;
  unsigned steps, freezes_at; // freezes_at: 0 never
  bool is_cores;              // started by the core, which has to join or detach it
  int given_up;
  unsigned priority;
  void (*body)(void *);
  void *context;
  struct {
    void *value;
    void (*destructor)(void *);
  } specific[8];
  jmp_buf *exit_to; // where model_exit goes on
  sem_t turn;
} model_thread;

extern model_thread model_threads[MODEL_THREADS];
extern int model_thread_count, model_self;
extern csched_time model_clock;
extern const model_check *model_current;

// engine.c: threads, time, the end of a run.
void model_step(model_kind kind, const void *address, const char *what, const char *file, int line);
void model_block(const void *waits_for, csched_time deadline);
void model_fail(const char *what, const char *file, int line) CSCHED_NORETURN;
void model_panic(const char *text) CSCHED_NORETURN;
int model_start_thread(void (*body)(void *), void *context);
void model_run(void);

// strategy.c: the choices of a run.
void model_begin_run(void);
bool model_chance(unsigned one_in);               // an event that is rare: a spurious wake, an early timeout
unsigned model_choose(unsigned count);            // something drawn by lot for a run as a whole
int model_choose_message(int oldest, int newest); // which store a load reads
int model_choose_thread(void);                    // the thread that runs next; -1: none can
void model_count_step(unsigned step);             // before each choice of a thread
void model_note_event(uint64_t event);            // distinguishes executions, for the statistics
csched_time model_clock_step(void);               // the time that one reading of the clock takes
void model_print_replay(void);

// platform.c
void model_reset_pollers(void);
void model_reset_pages(void);
void model_reset_forks(void);

// clocks.c: the alarms that a poller waits for
struct csched_poller;
struct csched_poller_event;
void model_reset_clocks(void);
void model_attach_alarm(struct csched_poller *poller, int fd, uint64_t tag);
bool model_rings(const struct csched_poller *poller);
csched_time model_rings_at(const struct csched_poller *poller);
int model_take_rings(const struct csched_poller *poller, struct csched_poller_event *events, int most);

// log.c
void model_log(const char *what, const void *address, uint64_t value, const char *file, int line);
void model_log_clear(void);
void model_log_print(unsigned most);

// memory.c
void model_memory_reset(void);
void model_view_join(model_view *into, const model_view *from);
void model_fence_of(int thread);
uint64_t model_kernel_load(const uint32_t *word);

// plain.c
void model_plain_reset(void);
void model_plain_check_leaks(void);
void model_check_alive(const void *address);
void model_access(const void *address, size_t size, bool writes, const void *where);
bool model_is_arena(const void *address);            // whether it is memory of a run, freed or not
model_view *model_counted_view(const void *address); // the joined views of all releases; NULL: memory of no run
void *model_malloc(size_t size);
void *model_calloc(size_t count, size_t size);
void *model_aligned_alloc(size_t alignment, size_t size);
void model_free(void *start);
size_t model_usable_size(void *start);

/// Above zero: operations are no part of the run. No step, no check for races; allocations are kept for good.
extern int model_unseen;
