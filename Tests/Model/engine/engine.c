// Threads that run one at a time, and the choice of who is next.
//
// Each simulated thread is a thread of the system, so that the core's thread-locals are real; a semaphore each hands the turn
// on. A run draws all its choices from one seed, and every third run also gives the threads priorities with a few random
// changes (PCT), which finds bugs of a certain depth with a known probability.

#define _GNU_SOURCE
#include "internal.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

model_thread model_threads[MODEL_THREADS];
int model_thread_count, model_self;
csched_time model_clock;

static const model_check *check;
static uint64_t seed, state;
static bool by_priority, verbose;
static unsigned steps, changes[4], lowest;
static long total_steps;
static sem_t all_ended;

static struct {
  int thread;
  const char *what, *file;
  int line;
  const void *address;
  uint64_t value;
} entries[MODEL_LOG];
static unsigned entry_count;

void model_log(const char *what, const void *address, uint64_t value, const char *file, int line) {
  unsigned i = entry_count++ % MODEL_LOG;
  entries[i].thread = model_self;
  entries[i].what = what;
  entries[i].file = strrchr(file, '/') != NULL ? strrchr(file, '/') + 1 : file;
  entries[i].line = line;
  entries[i].address = address;
  entries[i].value = value;
}

void model_fail(const char *what, const char *file, int line) {
  unsigned first = entry_count > 120 && !verbose ? entry_count - 120
                   : entry_count > MODEL_LOG     ? entry_count - MODEL_LOG
                                                 : 0;
  for (unsigned i = first; i < entry_count; i++) {
    unsigned at = i % MODEL_LOG;
    printf("  %5u  thread %d  %-26s %p = %llx  (%s:%d)\n", i, entries[at].thread, entries[at].what, entries[at].address,
           (unsigned long long)entries[at].value, entries[at].file, entries[at].line);
  }
  printf("FAILED  %s: %s (%s:%d)\n        thread %d, replay with: --check '%s' --seed %llu\n", check->name, what, file,
         line, model_self, check->name, (unsigned long long)seed);
  fflush(stdout);
  _Exit(1);
}

void model_assert_(bool condition, const char *text, const char *file, int line) {
  if (!condition) model_fail(text, file, line);
}

// MARK: choices

static uint64_t next_random(void) { // SplitMix64
  uint64_t z = state += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
  return z ^ z >> 31;
}

unsigned model_choose(unsigned count) { return (unsigned)(next_random() % count); }

static int choose_thread(void) {
  int ready[MODEL_THREADS], count = 0, best = -1;
  for (int t = 0; t < model_thread_count; t++)
    if (model_threads[t].status == MODEL_READY) ready[count++] = t;
  if (count == 0) return -1;
  if (!by_priority)
    return model_self < model_thread_count && model_threads[model_self].status == MODEL_READY && model_choose(3) != 0
               ? model_self
               : ready[model_choose((unsigned)count)];
  for (int i = 0; i < count; i++)
    if (best < 0 || model_threads[ready[i]].priority > model_threads[best].priority) best = ready[i];
  return best;
}

// Nobody can go on: time passes until the first deadline.
static bool let_time_pass(void) {
  int first = -1;
  for (int t = 0; t < model_thread_count; t++) {
    model_thread *each = &model_threads[t];
    if (each->status == MODEL_BLOCKED && each->deadline != CSCHED_FOREVER &&
        (first < 0 || each->deadline < model_threads[first].deadline))
      first = t;
  }
  if (first < 0) return false;
  if (model_clock < model_threads[first].deadline) model_clock = model_threads[first].deadline;
  model_threads[first].status = MODEL_READY;
  model_threads[first].was_woken = false;
  return true;
}

static void hand_on(bool waits) {
  int next;
  while ((next = choose_thread()) < 0) {
    if (let_time_pass()) continue;
    bool ended = true;
    for (int t = 0; t < model_thread_count; t++) ended = ended && model_threads[t].status == MODEL_ENDED;
    if (!ended) model_fail("deadlock: no thread can go on, and not all have ended", __FILE__, __LINE__);
    sem_post(&all_ended);
    return;
  }
  int me = model_self;
  if (next == me) return;
  model_self = next;
  sem_post(&model_threads[next].turn);
  if (waits) {
    while (sem_wait(&model_threads[me].turn) != 0) {}
  }
}

void model_step(const char *what, const char *file, int line) {
  total_steps++;
  if (++steps > 100000) model_fail("no end: a hundred thousand steps", file, line);
  (void)what;
  if (by_priority) {
    for (unsigned i = 0; i < 4; i++)
      if (steps == changes[i]) model_threads[model_self].priority = lowest--;
    if (steps % 128 == 0) model_threads[model_self].priority = lowest--; // who spins must not keep the others away
  }
  if (model_choose(64) == 0) let_time_pass(); // a timeout may come while others run
  hand_on(true);
}

void model_block(const void *waits_for, csched_time deadline) {
  model_thread *me = &model_threads[model_self];
  me->waits_for = waits_for;
  me->deadline = deadline;
  me->was_woken = false;
  me->status = MODEL_BLOCKED;
  hand_on(true);
}

// MARK: threads

static void *thread_main(void *argument) {
  int self = (int)(intptr_t)argument;
  model_thread *me = &model_threads[self];
  while (sem_wait(&me->turn) != 0) {}
  me->body(me->context);
  for (int i = 0; i < 8; i++) {
    void *value = me->specific[i].value;
    me->specific[i].value = NULL;
    if (value != NULL) me->specific[i].destructor(value);
  }
  me->status = MODEL_ENDED;
  for (int t = 0; t < model_thread_count; t++)
    if (model_threads[t].status == MODEL_BLOCKED && model_threads[t].waits_for == me)
      model_threads[t].status = MODEL_READY;
  hand_on(false);
  return NULL;
}

static pthread_t ids[MODEL_THREADS];

int model_start_thread(void (*body)(void *), void *context) {
  if (model_thread_count == MODEL_THREADS) model_fail("too many threads: shorten the check", __FILE__, __LINE__);
  int self = model_thread_count++;
  model_thread *new = &model_threads[self];
  memset(new, 0, sizeof *new);
  new->view = model_threads[model_self].view;
  new->status = MODEL_READY;
  new->body = body;
  new->context = context;
  new->priority = 2000000 + model_choose(1000);
  sem_init(&new->turn, 0, 0);
  pthread_create(&ids[self], NULL, thread_main, (void *)(intptr_t)self);
  return self;
}

void model_spawn(void (*body)(void *), void *context) { model_start_thread(body, context); }

// The first thread of a run prepares and spawns the others; alone, because it has the only turn until it ends.
static void prepare(void *unused) {
  (void)unused;
  check->prepare();
}

static void run(uint64_t with_seed) {
  seed = state = with_seed;
  steps = entry_count = 0;
  by_priority = with_seed % 3 == 0;
  for (unsigned i = 0; i < 4; i++) changes[i] = 1 + model_choose(300);
  lowest = 1000000;
  model_clock = 1000000;
  model_thread_count = model_self = 0;
  memset(model_threads, 0, sizeof model_threads);
  model_memory_reset();
  model_start_thread(prepare, NULL);
  sem_post(&model_threads[0].turn);
  while (sem_wait(&all_ended) != 0) {}
  for (int t = 0; t < model_thread_count; t++) pthread_join(ids[t], NULL);
  model_self = 0;
  for (int t = 1; t < model_thread_count; t++) model_view_join(&model_threads[0].view, &model_threads[t].view);
  model_threads[0].status = MODEL_READY; // for the inspection
  if (check->inspect != NULL) check->inspect();
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
  double budget = 2; // seconds for each check
  const char *only = NULL;
  uint64_t one = 0, first = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--seconds") == 0) budget = atof(argv[i + 1]);
    else if (strcmp(argv[i], "--check") == 0) only = argv[i + 1];
    else if (strcmp(argv[i], "--seed") == 0) one = strtoull(argv[i + 1], NULL, 10);
    else if (strcmp(argv[i], "--first") == 0) first = strtoull(argv[i + 1], NULL, 10);
  }
  verbose = one != 0;
  cpu_set_t set; // one processor: handing the turn on is then a switch, not an interrupt
  CPU_ZERO(&set);
  CPU_SET(sched_getcpu(), &set);
  sched_setaffinity(0, sizeof set, &set);
  sem_init(&all_ended, 0, 0);
  int checks = 0;
  long runs = 0;
  for (const model_check *const *suite = model_suites; *suite != NULL; suite++) {
    for (check = *suite; check->name != NULL; check++) {
      if (only != NULL && strcmp(only, check->name) != 0) continue;
      double end = seconds() + budget;
      long count = 0;
      for (uint64_t s = one != 0 ? one : first; one != 0 ? count == 0 : seconds() < end; s++, count++) run(s);
      printf("  %-70s %6ld schedules\n", check->name, count);
      fflush(stdout);
      runs += count;
      checks++;
    }
  }
  printf("model: %d checks, %ld schedules, %ld steps\n", checks, runs, total_steps);
  return checks == 0;
}
