// The threads of a measurement: made, placed and gathered before the time begins.
#define _GNU_SOURCE
#include "kit.h"

#ifdef __linux__
#include <malloc.h>
#endif
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

enum { MOST_THREADS = 128 };

static cpu_set_t allowed; // of the process, before anybody was pinned

__attribute__((constructor)) static void note_processors(void) {
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) CPU_ZERO(&allowed);
}

int cbench_processors(void) {
  int count = CPU_COUNT(&allowed);
  return count > 0 ? count : 1;
}

void cbench_pin(int index) {
  cpu_set_t set = allowed;
  if (index >= 0) {
    int left = index % cbench_processors();
    CPU_ZERO(&set);
    for (int i = 0; i < CPU_SETSIZE; i++)
      if (CPU_ISSET(i, &allowed) && left-- == 0) CPU_SET(i, &set);
  }
  sched_setaffinity(0, sizeof set, &set); // refused: unpinned, then
}

// MARK: a crew

struct cbench_crew {
  pthread_barrier_t barrier;
  atomic_int waiting;
  int threads;
  cbench_placement placement;
  void (*body)(void *, cbench_crew *, int);
  void *context;
  csched_time began[MOST_THREADS], ended[MOST_THREADS];
};

typedef struct member {
  cbench_crew *crew;
  int index;
} member;

csched_time cbench_crew_start(cbench_crew *crew, int index) {
  pthread_barrier_wait(&crew->barrier);
  if (crew->threads <= cbench_processors() && crew->placement != CBENCH_TOGETHER) {
    // Those whom the barrier woke come one after the other: they wait for the last, awake.
    atomic_fetch_sub(&crew->waiting, 1);
    while (atomic_load(&crew->waiting) > 0) CSCHED_CPU_RELAX();
  }
  return crew->began[index] = csched_now();
}

void cbench_crew_end(cbench_crew *crew, int index) { crew->ended[index] = csched_now(); }

void cbench_crew_meet(cbench_crew *crew) { pthread_barrier_wait(&crew->barrier); }

static void *begin_member(void *context) {
  member *member = context;
  cbench_crew *crew = member->crew;
  if (crew->placement != CBENCH_FREE) cbench_pin(crew->placement == CBENCH_APART ? member->index : 0);
  crew->body(crew->context, crew, member->index);
  if (crew->ended[member->index] == 0) cbench_crew_end(crew, member->index);
  return NULL;
}

double cbench_crew_run(int threads, cbench_placement placement, void (*body)(void *, cbench_crew *, int),
                       void *context) {
  if (threads > MOST_THREADS) abort();
  if (placement != CBENCH_FREE) cbench_warm();
  cbench_crew *crew = touched(sizeof *crew);
  *crew =
      (cbench_crew){.waiting = threads, .threads = threads, .placement = placement, .body = body, .context = context};
  pthread_barrier_init(&crew->barrier, NULL, (unsigned)threads);
  pthread_t ids[MOST_THREADS];
  member members[MOST_THREADS];
  for (int i = 0; i < threads; i++) {
    members[i] = (member){crew, i};
    if (pthread_create(&ids[i], NULL, begin_member, &members[i]) != 0) abort();
  }
  csched_time began = CSCHED_FOREVER, ended = 0;
  for (int i = 0; i < threads; i++) {
    pthread_join(ids[i], NULL);
    if (crew->began[i] < began) began = crew->began[i];
    if (crew->ended[i] > ended) ended = crew->ended[i];
  }
  pthread_barrier_destroy(&crew->barrier);
  free(crew);
  return (double)(ended - began);
}

// MARK: first waits

static csched_lock first_lock;

static void hold_first_lock(void *context, cbench_crew *crew, int index) {
  (void)context;
  cbench_crew_start(crew, index);
  for (int i = 0; i < 100; i++) {
    csched_lock_lock(&first_lock);
    cbench_work(1000);
    csched_lock_unlock(&first_lock);
  }
}

static void wait_first(void) {
  cbench_work(1); // calibrates
  cbench_crew_run(2, CBENCH_FREE, hold_first_lock, NULL);
  csched_thread *thread;
  if (csched_thread_start(&thread, NULL) != 0) abort();
  nanosleep(&(struct timespec){0, 1000000}, NULL); // it waits for a job
  csched_thread_destroy(thread);
}

void cbench_warm(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, wait_first);
}

// MARK: work and memory

static double turns_of_nanosecond;

// The best of some: another's turn on the processor does not make the work shorter.
static void measure_turns(void) {
  enum { TURNS = 200000 };
  for (int round = 0; round < 20; round++) {
    csched_time start = csched_now();
    for (int i = 0; i < TURNS; i++) __asm__ volatile("");
    double turns = TURNS / since(start);
    if (turns > turns_of_nanosecond) turns_of_nanosecond = turns;
  }
}

void cbench_work(int nanoseconds) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (nanoseconds <= 0) return;
  if (turns_of_nanosecond == 0) pthread_once(&once, measure_turns);
  for (long turns = (long)(nanoseconds * turns_of_nanosecond); turns > 0; turns--) __asm__ volatile("");
}

void cbench_keep_memory(void) {
#ifdef M_TRIM_THRESHOLD
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
#endif
}

void *touched(size_t size) {
  void *memory = aligned_alloc(64, (size + 63) / 64 * 64);
  if (memory == NULL) abort();
  return memset(memory, 0, size);
}
