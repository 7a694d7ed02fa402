#define _GNU_SOURCE
#include "CBench.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static double since(csched_time start) { return (double)(csched_now() - start); }

void cbench_pin(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  sched_setaffinity(0, sizeof set, &set); // refused: unpinned, then
}

double cbench_cas_store(long count) {
  static _Alignas(64) atomic_uint word;
  csched_time start = csched_now();
  for (long i = 0; i < count; i++) {
    unsigned expected = 0;
    atomic_compare_exchange_strong_explicit(&word, &expected, 1, memory_order_acquire, memory_order_relaxed);
    atomic_store_explicit(&word, 0, memory_order_release);
  }
  return since(start);
}

double cbench_cas_cas(long count) {
  static _Alignas(64) atomic_uint word;
  csched_time start = csched_now();
  for (long i = 0; i < count; i++) {
    unsigned expected = 0;
    atomic_compare_exchange_strong_explicit(&word, &expected, 1, memory_order_acquire, memory_order_relaxed);
    atomic_exchange_explicit(&word, 0, memory_order_release);
  }
  return since(start);
}

double cbench_hot_cas(long count) {
  static _Alignas(64) atomic_ulong word;
  csched_time start = csched_now();
  for (long i = 0; i < count; i++) {
    unsigned long expected = (unsigned long)i;
    atomic_compare_exchange_strong_explicit(&word, &expected, (unsigned long)i + 1, memory_order_acq_rel,
                                            memory_order_relaxed);
  }
  atomic_store(&word, 0);
  return since(start);
}

// MARK: two threads

typedef struct pair {
  _Alignas(64) atomic_long ball;
  _Alignas(64) atomic_uint word;
  long count;
} pair;

static void *return_ball(void *context) {
  pair *pair = context;
  cbench_pin(1);
  for (long i = 0; i < pair->count; i++) {
    while (atomic_load_explicit(&pair->ball, memory_order_acquire) != 2 * i + 1) {}
    atomic_store_explicit(&pair->ball, 2 * i + 2, memory_order_release);
  }
  return NULL;
}

// In a thread of its own, so that the caller's affinity stays as it is.
static void *throw_ball(void *context) {
  pair *pair = context;
  cbench_pin(0);
  for (long i = 0; i < pair->count; i++) {
    atomic_store_explicit(&pair->ball, 2 * i + 1, memory_order_release);
    while (atomic_load_explicit(&pair->ball, memory_order_acquire) != 2 * i + 2) {}
  }
  return NULL;
}

static double run_pair(void *(*first)(void *), void *(*second)(void *), long count) {
  pair *both = aligned_alloc(64, sizeof *both);
  *both = (pair){.count = count};
  pthread_t threads[2];
  csched_time start = csched_now();
  pthread_create(&threads[0], NULL, second, both);
  pthread_create(&threads[1], NULL, first, both);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  double took = since(start);
  free(both);
  return took;
}

double cbench_line_transfer(long count) { return run_pair(throw_ball, return_ball, count) / 2; }

static void futex_set(atomic_uint *word, unsigned value) {
  atomic_store(word, value);
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void futex_await(atomic_uint *word, unsigned value) {
  for (unsigned seen; (seen = atomic_load(word)) != value;)
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void *futex_first(void *context) {
  pair *pair = context;
  for (long i = 0; i < pair->count; i++) {
    futex_set(&pair->word, 1);
    futex_await(&pair->word, 0);
  }
  return NULL;
}

static void *futex_second(void *context) {
  pair *pair = context;
  for (long i = 0; i < pair->count; i++) {
    futex_await(&pair->word, 1);
    futex_set(&pair->word, 0);
  }
  return NULL;
}

double cbench_futex_round_trip(long count) { return run_pair(futex_first, futex_second, count); }

typedef struct adders {
  _Alignas(64) atomic_long sum;
  long count;
} adders;

static void *add(void *context) {
  adders *adders = context;
  for (long i = 0; i < adders->count; i++) atomic_fetch_add_explicit(&adders->sum, 1, memory_order_relaxed);
  return NULL;
}

double cbench_shared_add(int threads, long count) {
  adders *all = aligned_alloc(64, sizeof *all);
  *all = (adders){.count = count / threads};
  pthread_t ids[64];
  csched_time start = csched_now();
  for (int i = 0; i < threads; i++) pthread_create(&ids[i], NULL, add, all);
  for (int i = 0; i < threads; i++) pthread_join(ids[i], NULL);
  double took = since(start);
  free(all);
  return took;
}

// MARK: calls

static void nothing(void *context) { __asm__ volatile("" ::"r"(context) : "memory"); }

double cbench_indirect_call(long count) {
  void (*volatile target)(void *) = nothing;
  csched_time start = csched_now();
  for (long i = 0; i < count; i++) target(NULL);
  return since(start);
}

double cbench_malloc_free(long count) {
  csched_time start = csched_now();
  for (long i = 0; i < count; i++) {
    void *block = malloc(80);
    nothing(block);
    free(block);
  }
  return since(start);
}

void cbench_work(int nanoseconds) {
  if (nanoseconds <= 0) return;
  static double turns_of_nanosecond;
  if (turns_of_nanosecond == 0) {
    enum { TURNS = 2000000 };
    csched_time start = csched_now();
    for (int i = 0; i < TURNS; i++) __asm__ volatile("");
    turns_of_nanosecond = TURNS / since(start);
  }
  for (long turns = (long)(nanoseconds * turns_of_nanosecond); turns > 0; turns--) __asm__ volatile("");
}
