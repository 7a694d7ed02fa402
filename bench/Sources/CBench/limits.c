// What the machine can do at best.
#define _GNU_SOURCE
#include "kit.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

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

// MARK: some threads

typedef struct pair {
  _Alignas(64) atomic_long ball;
  _Alignas(64) atomic_uint word;
  long count;
} pair;

static void throw_ball(void *context, cbench_crew *crew, int index) {
  pair *pair = context;
  cbench_crew_start(crew, index);
  for (long i = 0; i < pair->count; i++) {
    if (index == 0) atomic_store_explicit(&pair->ball, 2 * i + 1, memory_order_release);
    else
      while (atomic_load_explicit(&pair->ball, memory_order_acquire) != 2 * i + 1) {}
    if (index == 1) atomic_store_explicit(&pair->ball, 2 * i + 2, memory_order_release);
    else
      while (atomic_load_explicit(&pair->ball, memory_order_acquire) != 2 * i + 2) {}
  }
}

double cbench_line_transfer(long count) {
  pair both = {.count = count};
  return cbench_crew_run(2, CBENCH_APART, throw_ball, &both) / 2;
}

static void futex_set(atomic_uint *word, unsigned value) {
  atomic_store(word, value);
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void futex_await(atomic_uint *word, unsigned value) {
  for (unsigned seen; (seen = atomic_load(word)) != value;)
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void pass_word(void *context, cbench_crew *crew, int index) {
  pair *pair = context;
  cbench_crew_start(crew, index);
  for (long i = 0; i < pair->count; i++) {
    if (index == 0) futex_set(&pair->word, 1);
    else futex_await(&pair->word, 1);
    if (index == 1) futex_set(&pair->word, 0);
    else futex_await(&pair->word, 0);
  }
}

double cbench_futex_round_trip(cbench_placement placement, long count) {
  pair both = {.count = count};
  return cbench_crew_run(2, placement, pass_word, &both);
}

typedef struct adders {
  _Alignas(64) atomic_long sum;
  long count;
} adders;

static void add(void *context, cbench_crew *crew, int index) {
  adders *adders = context;
  cbench_crew_start(crew, index);
  for (long i = 0; i < adders->count; i++) atomic_fetch_add_explicit(&adders->sum, 1, memory_order_relaxed);
}

double cbench_shared_add(int threads, cbench_placement placement, long count) {
  adders all = {.count = count / threads};
  return cbench_crew_run(threads, placement, add, &all);
}

static void compute(void *context, cbench_crew *crew, int index) {
  long n = *(long *)context;
  cbench_crew_start(crew, index);
  volatile long value = cbench_fib(n);
  (void)value;
}

double cbench_threads(int threads, long n) { return cbench_crew_run(threads, CBENCH_FREE, compute, &n); }

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
