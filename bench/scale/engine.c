// Threads, processors and time: the functions of the model's engine (Tests/Model/engine/internal.h), which count time.
//
// A thread is ready, and then has a processor or waits for one; or it is blocked; or it has ended. The ready thread
// with the earliest clock runs. `horizon` is when another one may see what this thread writes: the earliest clock of
// the others plus one transfer. Ties are broken by the thread's number, so a run depends on nothing but its arguments.

#define _GNU_SOURCE
#include "costs.h"

#include "../../Sources/CScheduler/sync/parking.h"

#include "../../Sources/CScheduler/platform/platform.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

scale_costs scale_cost = {.hit = 1,
                          .atomic = 5,
                          .transfer = 60,
                          .far = 120,
                          .copy = 8,
                          .fetch = 20,
                          .relax = 20,
                          .call = 1,
                          .memory = 20,
                          .system = 250,
                          .clock = 20,
                          .wake = 1000,
                          .latency = 2500,
                          .turn = 1200,
                          .slice = 3000000,
                          .barrier = 500,
                          .interrupt = 1500,
                          .start = 15000,
                          .socket = 64};
int scale_processors = 1; // also the platform's csched_cpu_count_
const char *scale_word;
const int scale_repeats = 1;

model_thread model_threads[MODEL_THREADS];
int model_thread_count, model_self, model_unseen;
csched_time model_clock; // of the thread that runs
const model_check *model_current;
bool model_memory_is_strong = true;

enum { NO_PROCESSOR = -1, PROCESSORS = 256 };

static struct {
  uint64_t clock;     // while another thread runs
  uint64_t slice_end; // when its processor may change to a waiting thread
  int processor, last_processor;
  bool is_blocked; // as this file knows: the platform makes a thread ready by its status alone
} threads[MODEL_THREADS];

static struct {
  int thread; // NO_PROCESSOR: idle
  uint64_t free_at;
} processors[PROCESSORS];

static int waiting[MODEL_THREADS], waiting_count; // ready threads without a processor, oldest first
static uint64_t horizon, barrier_free_at;
static uint64_t units_at_begin, units_counted; // how many units came before the count, and in it
static uint64_t begin, last_done, units, interrupts, interrupts_at_begin;
static bool may_have_woken; // the platform's call in progress may make threads ready
static sem_t all_ended;
static pthread_t ids[MODEL_THREADS];
static _Alignas(4096) char stacks[MODEL_THREADS][1 << 18]; // at the same addresses in each run
static const scale_load *load;
static uint64_t argument;

void model_fail(const char *what, const char *file, int line) {
  fprintf(stderr, "scale: %s (%s:%d), thread %d at %llu ns\n", what, file, line, model_self,
          (unsigned long long)model_clock);
  _Exit(1);
}
void model_assert_(bool condition, const char *text, const char *file, int line) {
  if (!condition) model_fail(text, file, line);
}
void model_panic(const char *text) { model_fail(text, __FILE__, __LINE__); }
int model_panics(void) { return 0; }

// MARK: what the model's engine chooses, and what its memory knows: nothing here

bool model_chance(unsigned one_in) { return (void)one_in, false; }
unsigned model_choose(unsigned count) { return (void)count, 0; }
csched_time model_clock_step(void) { return 0; }
void model_log(const char *what, const void *address, uint64_t value, const char *file, int line) {
  (void)what, (void)address, (void)value, (void)file, (void)line;
}
void model_view_join(model_view *into, const model_view *from) { (void)into, (void)from; }
void model_fence_of(int thread) { (void)thread; }
bool model_is_arena(const void *address) { return (void)address, false; }
model_view *model_counted_view(const void *address) { return (void)address, NULL; }

// MARK: processors

static void run_on(int thread, int processor, uint64_t at) {
  processors[processor].thread = thread;
  threads[thread].processor = threads[thread].last_processor = processor;
  threads[thread].clock = at;
  threads[thread].slice_end = at + scale_cost.slice;
}

// Does: gives `thread`, which is ready from `at` on, its last processor, or another idle one; else it waits for one.
static void place(int thread, uint64_t at) {
  int found = threads[thread].last_processor;
  threads[thread].is_blocked = false;
  if (found == NO_PROCESSOR || processors[found].thread != NO_PROCESSOR)
    for (found = 0; found < scale_processors && processors[found].thread != NO_PROCESSOR; found++) {}
  if (found < scale_processors) {
    run_on(thread, found, at > processors[found].free_at ? at : processors[found].free_at);
    return;
  }
  threads[thread].clock = at;
  threads[thread].processor = NO_PROCESSOR;
  waiting[waiting_count++] = thread;
}

// Does: takes the processor of `thread` at `now`. A thread that waits gets it.
static void leave_processor(int thread, uint64_t now) {
  int processor = threads[thread].processor;
  threads[thread].processor = NO_PROCESSOR;
  processors[processor].thread = NO_PROCESSOR;
  processors[processor].free_at = now + scale_cost.turn;
  if (waiting_count == 0) return;
  int next = waiting[0];
  memmove(waiting, waiting + 1, (size_t)--waiting_count * sizeof waiting[0]);
  uint64_t at =
      threads[next].clock > processors[processor].free_at ? threads[next].clock : processors[processor].free_at;
  run_on(next, processor, at);
}

// Does: finds the threads that the platform has made ready, and charges the caller for waking them.
static void place_woken(void) {
  if (!may_have_woken) return;
  may_have_woken = false;
  for (int t = 0; t < model_thread_count; t++) {
    if (!threads[t].is_blocked || model_threads[t].status != MODEL_READY) continue;
    model_clock += scale_cost.wake;
    place(t, model_clock + scale_cost.latency);
  }
}

// MARK: which thread runs

// Returns: the running thread with the earliest clock; -1: none. Sets `horizon`. Ends the waits whose time has come.
static int choose(void) {
  for (;;) {
    int first = -1, timer = -1;
    uint64_t second = UINT64_MAX;
    for (int t = 0; t < model_thread_count; t++) {
      const model_thread *each = &model_threads[t];
      if (each->status == MODEL_BLOCKED && each->deadline != CSCHED_FOREVER &&
          (timer < 0 || each->deadline < model_threads[timer].deadline))
        timer = t;
      if (each->status != MODEL_READY || threads[t].processor == NO_PROCESSOR) continue;
      if (first < 0 || threads[t].clock < threads[first].clock) {
        if (first >= 0) second = threads[first].clock;
        first = t;
      } else if (threads[t].clock < second) {
        second = threads[t].clock;
      }
    }
    if (timer >= 0 && (first < 0 || model_threads[timer].deadline <= threads[first].clock)) {
      model_threads[timer].status = MODEL_READY;
      model_threads[timer].was_woken = false;
      place(timer, model_threads[timer].deadline + scale_cost.latency);
      continue;
    }
    if (timer >= 0 && model_threads[timer].deadline < second) second = model_threads[timer].deadline;
    horizon = second > UINT64_MAX - scale_cost.transfer ? UINT64_MAX : second + scale_cost.transfer;
    if (waiting_count > 0 && first >= 0 && threads[first].slice_end < horizon) horizon = threads[first].slice_end;
    return first;
  }
}

static void hand_on(bool waits) {
  int me = model_self, next = choose();
  if (next < 0) {
    for (int t = 0; t < model_thread_count; t++)
      if (model_threads[t].status != MODEL_ENDED) model_fail("deadlock: no thread can run", __FILE__, __LINE__);
    sem_post(&all_ended);
    return;
  }
  model_clock = threads[next].clock;
  if (next == me && waits) return;
  model_self = next;
  sem_post(&model_threads[next].turn);
  if (waits)
    while (sem_wait(&model_threads[me].turn) != 0) {}
}

// Does: lets other threads run, if they may see what this thread does next.
static void yield_if_late(void) {
  place_woken();
  if (model_clock <= horizon) return;
  int me = model_self;
  threads[me].clock = model_clock;
  if (waiting_count > 0 && model_clock >= threads[me].slice_end) {
    leave_processor(me, model_clock);
    place(me, model_clock);
  }
  hand_on(true);
}

static bool is(const char *what, const char *name) { return strcmp(what, name) == 0; }

// Does: interrupts each processor that runs another thread. Barriers wait for each other.
static void barrier(void) {
  uint64_t now = model_clock > barrier_free_at ? model_clock : barrier_free_at;
  model_clock = barrier_free_at = now + scale_cost.barrier;
  for (int p = 0; p < scale_processors; p++) {
    int other = processors[p].thread;
    if (other == NO_PROCESSOR || other == model_self) continue;
    threads[other].clock += scale_cost.interrupt;
    interrupts += scale_counts;
  }
}

// Called before each call of the platform. The atomic operations below call scale_access instead.
void model_step(model_kind kind, const void *address, const char *what, const char *file, int line) {
  (void)address, (void)file, (void)line;
  yield_if_late();
  if (is(what, "clock")) model_clock += scale_cost.clock;
  else if (is(what, "heavy fence")) barrier();
  else if (is(what, "thread start")) model_clock += scale_cost.start;
  else if (kind == MODEL_ANYTHING) model_clock += scale_cost.system;
  may_have_woken = kind == MODEL_ANYTHING;
}

void model_block(const void *waits_for, csched_time deadline) {
  model_thread *me = &model_threads[model_self];
  place_woken();
  me->waits_for = waits_for;
  me->deadline = deadline;
  me->was_woken = false;
  me->status = MODEL_BLOCKED;
  threads[model_self].is_blocked = true;
  leave_processor(model_self, model_clock);
  hand_on(true);
}

// MARK: threads

void model_exit(void) { longjmp(*model_threads[model_self].exit_to, 1); }

static void *thread_main(void *number) {
  int self = (int)(intptr_t)number;
  model_thread *me = &model_threads[self];
  while (sem_wait(&me->turn) != 0) {}
  jmp_buf end;
  me->exit_to = &end;
  if (setjmp(end) == 0) me->body(me->context);
  for (int i = 0; i < 8; i++) {
    void *value = me->specific[i].value;
    me->specific[i].value = NULL;
    if (value != NULL) me->specific[i].destructor(value);
  }
  place_woken();
  me->status = MODEL_ENDED;
  for (int t = 0; t < model_thread_count; t++)
    if (model_threads[t].status == MODEL_BLOCKED && model_threads[t].waits_for == me) {
      model_threads[t].status = MODEL_READY;
      place(t, model_clock + scale_cost.latency);
    }
  leave_processor(self, model_clock);
  hand_on(false);
  return NULL;
}

int model_start_thread(void (*body)(void *), void *context) {
  if (model_thread_count == MODEL_THREADS) model_fail("too many threads", __FILE__, __LINE__);
  int self = model_thread_count++;
  model_threads[self] =
      (model_thread){.status = MODEL_READY, .number = (uint32_t)self + 1, .body = body, .context = context};
  threads[self].last_processor = NO_PROCESSOR;
  sem_init(&model_threads[self].turn, 0, 0);
  place(self, model_clock + scale_cost.latency);
  horizon = 0; // the new thread's clock may be the earliest
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stacks[self], sizeof stacks[self]);
  if (pthread_create(&ids[self], &attributes, thread_main, (void *)(intptr_t)self) != 0)
    model_fail("the system has no thread", __FILE__, __LINE__);
  pthread_attr_destroy(&attributes);
  return self;
}

void model_spawn(void (*body)(void *), void *context) { model_start_thread(body, context); }

// MARK: memory

static uint64_t value_at(const void *address, size_t size) {
  uint64_t value = 0;
  memcpy(&value, address, size);
  return value;
}

static void access_word(const void *address, bool writes, bool is_atomic, const char *file, int line) {
  yield_if_late();
  model_clock = scale_access(address, writes, is_atomic, scale_word, file, line, NULL, threads[model_self].processor,
                             model_clock);
}

uint64_t model_load(const void *address, size_t size, model_order order, const char *file, int line) {
  (void)order;
  access_word(address, false, false, file, line);
  return value_at(address, size);
}
void model_store(void *address, size_t size, uint64_t value, model_order order, const char *file, int line) {
  (void)order;
  access_word(address, true, false, file, line);
  memcpy(address, &value, size);
}
uint64_t model_rmw(void *address, size_t size, model_change change, uint64_t operand, model_order order,
                   const char *file, int line) {
  (void)order;
  access_word(address, true, true, file, line);
  uint64_t old = value_at(address, size);
  uint64_t new = change == MODEL_EXCHANGE ? operand
                 : change == MODEL_ADD    ? old + operand
                 : change == MODEL_OR     ? old | operand
                                          : old &operand;
  memcpy(address, &new, size);
  return old;
}
bool model_cas(void *address, size_t size, void *expected, uint64_t value, model_order order, const char *file,
               int line) {
  (void)order;
  access_word(address, true, true, file, line);
  if (memcmp(address, expected, size) != 0) {
    memcpy(expected, address, size);
    return false;
  }
  memcpy(address, &value, size);
  return true;
}
bool model_cas_ordered(void *address, size_t size, void *expected, uint64_t value, model_order order,
                       model_order failing, const char *file, int line) {
  (void)failing;
  return model_cas(address, size, expected, value, order, file, line);
}
void model_fence(const char *file, int line) {
  (void)file, (void)line;
  model_clock += scale_cost.atomic;
}
void model_fence_weak(model_order order, const char *file, int line) { (void)order, model_fence(file, line); }
uint64_t model_kernel_load(const uint32_t *word) { return *word; }

void scale_relax(void) {
  yield_if_late();
  model_clock += scale_cost.relax;
}

void scale_work(uint64_t ns) {
  yield_if_late();
  model_clock += ns;
}

// What the compiler calls at each access of the core that is not atomic, as for ThreadSanitizer.
static void access_plain(const void *address, bool writes, const void *where) {
  if (address == &scale_word || model_threads[model_self].status != MODEL_READY) return; // the first is the shadow's
  yield_if_late();
  model_clock = scale_access(address, writes, false, NULL, NULL, 0, where, threads[model_self].processor, model_clock);
}
#define SCALE_ACCESS(size)                                                                                             \
  void __tsan_read##size(void *p) { access_plain(p, false, __builtin_return_address(0)); }                             \
  void __tsan_write##size(void *p) { access_plain(p, true, __builtin_return_address(0)); }                             \
  void __tsan_unaligned_read##size(void *p) { access_plain(p, false, __builtin_return_address(0)); }                   \
  void __tsan_unaligned_write##size(void *p) { access_plain(p, true, __builtin_return_address(0)); }
SCALE_ACCESS(1)
SCALE_ACCESS(2)
SCALE_ACCESS(4)
SCALE_ACCESS(8)
SCALE_ACCESS(16)
void __tsan_read_range(void *p, size_t size) { (void)size, access_plain(p, false, __builtin_return_address(0)); }
void __tsan_write_range(void *p, size_t size) { (void)size, access_plain(p, true, __builtin_return_address(0)); }
void __tsan_init(void) {}
void __tsan_func_entry(void *caller) { (void)caller, model_clock += scale_cost.call; }
void __tsan_func_exit(void) {}

// An arena at a fixed address, with a list of freed blocks for each size: addresses are the same in each run.
enum { ARENA = 1 << 28, GRANULE = 64, CLASSES = 1024 };
static _Alignas(4096) char arena[ARENA];
static size_t used;
static void *freed[CLASSES];
static size_t *size_of(void *start) { return (size_t *)((char *)start - GRANULE); }

void *model_aligned_alloc(size_t alignment, size_t size) {
  model_clock += scale_cost.memory;
  size_t class = (size + GRANULE - 1) / GRANULE;
  if (class < CLASSES && freed[class] != NULL && alignment <= GRANULE) {
    void *start = freed[class];
    memcpy(&freed[class], start, sizeof(void *));
    return start;
  }
  if (alignment < GRANULE) alignment = GRANULE;
  size_t start = (used + GRANULE + alignment - 1) / alignment * alignment;
  if (start + class * GRANULE > ARENA) model_fail("too much memory", __FILE__, __LINE__);
  used = start + class * GRANULE;
  *size_of(arena + start) = class;
  return arena + start;
}
void *model_malloc(size_t size) { return model_aligned_alloc(16, size); }
void *model_calloc(size_t count, size_t size) { return memset(model_malloc(count * size), 0, count * size); }
void model_free(void *start) {
  if (start == NULL) return;
  model_clock += scale_cost.memory;
  size_t class = *size_of(start);
  if (class == 0 || class >= CLASSES) return;
  memcpy(start, &freed[class], sizeof(void *));
  freed[class] = start;
}
size_t model_usable_size(void *start) { return *size_of(start) * GRANULE; }

// MARK: a run

void scale_begin(void) {
  begin = model_clock;
  units = units_at_begin = units_counted = 0;
  last_done = model_clock;
  interrupts_at_begin = interrupts;
  scale_lines_forget();
}

static uint64_t expected; // 0, or how many units come: the second and third quarter of them are counted

void scale_expect(uint64_t count) { expected = count; }
void scale_done(void) {
  if (units++ == expected / 4 && expected != 0) {
    uint64_t seen = units;
    scale_begin();
    units_at_begin = units = seen;
  }
  if (!scale_counts) return;
  scale_counts = expected == 0 || units < expected / 4 * 3;
  units_counted = units - units_at_begin;
  if (model_clock > last_done) last_done = model_clock;
}
void scale_end(void) {}

void scale_spawn(void (*body)(void *), void *context) { model_start_thread(body, context); }
uint64_t scale_now(void) { return model_clock; }
void scale_nap(uint64_t ns) { csched_nap_(ns); }

static void prepare(void *unused) {
  (void)unused;
  scale_begin();
  load->prepare(scale_processors, argument);
}

static void print_result(void) {
  scale_hot hot[5];
  int count = scale_hottest(hot, 5);
  printf("%s\t%d\t%llu\t%llu\t%llu\t%llu\t%llu", load->name, scale_processors, (unsigned long long)argument,
         (unsigned long long)units_counted, (unsigned long long)(last_done - begin),
         (unsigned long long)scale_transfers(), (unsigned long long)(interrupts - interrupts_at_begin));
  for (int i = 0; i < count; i++)
    printf("\t%s|%s|%d|%p|%llu", hot[i].word != NULL ? hot[i].word : "", hot[i].file != NULL ? hot[i].file : "",
           hot[i].line, hot[i].where, (unsigned long long)hot[i].transfers);
  printf("\n");
}

static void set_cost(const char *text) {
  static const char *const names[] = {"hit",   "atomic",  "transfer",  "far",   "copy",  "fetch",   "relax",
                                      "call",  "memory",  "system",    "clock", "wake",  "latency", "turn",
                                      "slice", "barrier", "interrupt", "start", "socket"};
  size_t length = strcspn(text, "=");
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strlen(names[i]) == length && strncmp(text, names[i], length) == 0 && text[length] == '=') {
      ((uint64_t *)&scale_cost)[i] = strtoull(text + length + 1, NULL, 10);
      return;
    }
  fprintf(stderr, "scale: no cost is called %s\n", text);
  exit(2);
}

// scale LOAD PROCESSORS NS [COST=VALUE …]: one run. Prints: load, processors, ns, units, duration, transfers,
// interrupts, and the hottest lines, separated by tabs. Without arguments: the names of the loads.
int main(int count, char **words) {
  if (count < 4) {
    for (const scale_load *each = scale_loads; each->name != NULL; each++) printf("%s\t%s\n", each->name, each->unit);
    return count == 1 ? 0 : 2;
  }
  for (load = scale_loads; load->name != NULL && strcmp(load->name, words[1]) != 0; load++) {}
  scale_processors = atoi(words[2]);
  argument = strtoull(words[3], NULL, 10);
  if (load->name == NULL || scale_processors < 1 || scale_processors > PROCESSORS) return 2;
  for (int i = 4; i < count; i++) set_cost(words[i]);
  for (int p = 0; p < PROCESSORS; p++) processors[p].thread = NO_PROCESSOR;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof one, &one); // speed only: threads take turns, so another processor is of no use
  sem_init(&all_ended, 0, 0);
  model_clock = 1000000;
  csched_lock_checks_owner_after_ = CSCHED_FOREVER;
  model_reset_pollers();
  model_reset_pages();
  model_reset_forks();
  model_reset_clocks();
  model_start_thread(prepare, NULL);
  model_self = 0;
  choose();
  model_clock = threads[0].clock;
  sem_post(&model_threads[0].turn);
  while (sem_wait(&all_ended) != 0) {}
  for (int t = 0; t < model_thread_count; t++) pthread_join(ids[t], NULL);
  print_result();
  return 0;
}
