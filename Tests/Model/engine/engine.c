// Threads that run one at a time.
//
// Each simulated thread is a thread of the system, so that the core's thread-locals are real. Each has a semaphore,
// which gives it the turn. A thread announces its next step, and the strategy then chooses the thread that runs next.

#define _GNU_SOURCE
#include "internal.h"

#include "../../../Sources/CScheduler/sync/parking.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

model_thread model_threads[MODEL_THREADS];
int model_thread_count, model_self;
csched_time model_clock;
const model_check *model_current;

static unsigned steps;
static sem_t all_ended;
static pthread_t ids[MODEL_THREADS];
static _Alignas(4096) char stacks[MODEL_THREADS][1 << 20]; // at the same addresses in each run, and no mmap
static const char *expected_panic;
static int panics;
static bool leaks_allowed;

void model_fail(const char *what, const char *file, int line) {
  model_log_print(120);
  printf("FAILED  %s: %s (%s:%d)\n        thread %d, replay with: --check '%s'", model_current->name, what, file, line,
         model_self, model_current->name);
  model_print_replay();
  fflush(stdout);
  _Exit(1);
}

void model_assert_(bool condition, const char *text, const char *file, int line) {
  if (!condition) model_fail(text, file, line);
}

void model_expect_panic(const char *part) { expected_panic = part; }
int model_panics(void) { return panics; }
void model_one_panic(void) { model_assert(panics == 1); }
void model_allow_leaks(void) { leaks_allowed = true; }

void model_panic(const char *text) {
  if (expected_panic == NULL || strstr(text, expected_panic) == NULL) model_fail(text, __FILE__, __LINE__);
  panics++;
  model_exit();
}

// MARK: which thread runs next

// No thread can run: time passes until the first deadline.
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

static bool someone_waits_for_time(void) {
  for (int t = 0; t < model_thread_count; t++)
    if (model_threads[t].status == MODEL_BLOCKED && model_threads[t].deadline != CSCHED_FOREVER) return true;
  return false;
}

// All others have ended: the frozen ones go on.
static bool thaw(void) {
  bool any = false;
  for (int t = 0; t < model_thread_count; t++) {
    if (model_threads[t].status == MODEL_BLOCKED) return false;
    any = any || model_threads[t].status == MODEL_FROZEN;
  }
  for (int t = 0; t < model_thread_count; t++)
    if (model_threads[t].status == MODEL_FROZEN) model_threads[t].status = MODEL_READY;
  return any;
}

static void hand_on(bool waits) {
  int next;
  while ((next = model_choose_thread()) < 0) {
    if (let_time_pass() || thaw()) continue;
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
  if (waits)
    while (sem_wait(&model_threads[me].turn) != 0) {}
}

void model_step(model_kind kind, const void *address, const char *what, const char *file, int line) {
  model_thread *me = &model_threads[model_self];
  if (model_unseen > 0) return;
  if (++steps > 100000) model_fail("no end: a hundred thousand steps", file, line);
  (void)what;
  me->kind = kind;
  me->address = address;
  model_count_step(steps);
  if (++me->steps == me->freezes_at) me->status = MODEL_FROZEN;
  if (someone_waits_for_time() && model_chance(64)) let_time_pass(); // a timeout may come while others run
  hand_on(true);
}

void model_block(const void *waits_for, csched_time deadline) {
  model_thread *me = &model_threads[model_self];
  me->waits_for = waits_for;
  me->deadline = deadline;
  me->was_woken = false;
  me->status = MODEL_BLOCKED;
  me->kind = MODEL_LOCAL;
  hand_on(true);
}

// MARK: threads

void model_exit(void) { longjmp(*model_threads[model_self].exit_to, 1); }

static void end_specific(model_thread *me) {
  for (int i = 0; i < 8; i++) {
    void *value = me->specific[i].value;
    me->specific[i].value = NULL;
    if (value != NULL) me->specific[i].destructor(value);
  }
}

static void *thread_main(void *argument) {
  int self = (int)(intptr_t)argument;
  model_thread *me = &model_threads[self];
  while (sem_wait(&me->turn) != 0) {}
  jmp_buf end;
  me->exit_to = &end;
  if (setjmp(end) == 0) me->body(me->context);
  end_specific(me);
  me->status = MODEL_ENDED;
  for (int t = 0; t < model_thread_count; t++)
    if (model_threads[t].status == MODEL_BLOCKED && model_threads[t].waits_for == me)
      model_threads[t].status = MODEL_READY;
  hand_on(false);
  return NULL;
}

static void start_on(int stack, void *(*body)(void *), void *context) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stacks[stack], sizeof stacks[stack]);
  pthread_create(&ids[stack], &attributes, body, context);
  pthread_attr_destroy(&attributes);
}

int model_start_thread(void (*body)(void *), void *context) {
  if (model_thread_count == MODEL_THREADS) model_fail("too many threads: shorten the check", __FILE__, __LINE__);
  int self = model_thread_count++;
  model_thread *new = &model_threads[self];
  memset(new, 0, sizeof *new);
  new->view = model_threads[model_self].view;
  new->status = MODEL_READY;
  new->number = (uint32_t)self + 1;
  new->body = body;
  new->context = context;
  new->priority = 2000000 + model_choose(1000);
  sem_init(&new->turn, 0, 0);
  start_on(self, thread_main, (void *)(intptr_t)self);
  return self;
}

void model_spawn(void (*body)(void *), void *context) { model_start_thread(body, context); }

void model_spawn_frozen(void (*body)(void *), void *context) {
  model_threads[model_start_thread(body, context)].freezes_at = 1 + model_choose(30);
}

// MARK: a run

// The first thread of a run prepares and spawns the others; alone, because it has the only turn until it ends.
static void prepare(void *unused) {
  (void)unused;
  const model_check *check = model_current;
  csched_buckets_forget_(); // when the last hand-off was, in another run
  if (check->prepare != NULL) check->prepare();
  for (size_t i = 0; i < sizeof check->threads / sizeof *check->threads && check->threads[i].body != NULL; i++)
    model_spawn(check->threads[i].body, (void *)check->threads[i].with);
}

// On a new thread of the system, whose thread-locals are as new as those of the run's threads.
static void *inspect(void *unused) {
  if (model_current->inspect != NULL) model_current->inspect();
  end_specific(&model_threads[0]);
  return unused;
}

void model_run(void) {
  static bool made;
  if (!made) sem_init(&all_ended, 0, 0);
  made = true;
  steps = 0;
  panics = 0;
  leaks_allowed = false;
  expected_panic = model_current->panic;
  model_clock = 1000000;
  model_refuse_threads(false);
  csched_lock_checks_owner_after_ = CSCHED_FOREVER;
  csched_lock_starved_after_ = 1000000;
  csched_lock_passes_ = 127;
  csched_cond_woken_at_once_ = 4;
  csched_processors_seen_ = CSCHED_PROCESSORS_MANY_;
  model_give_number_after_look(0, 0);
  model_thread_count = model_self = 0;
  memset(model_threads, 0, sizeof model_threads);
  model_log_clear();
  model_memory_reset();
  model_plain_reset();
  model_reset_pollers();
  model_reset_pages();
  model_reset_forks();
  model_reset_clocks();
  model_begin_run();
  model_start_thread(prepare, NULL);
  sem_post(&model_threads[0].turn);
  while (sem_wait(&all_ended) != 0) {}
  for (int t = 0; t < model_thread_count; t++) pthread_join(ids[t], NULL);
  model_self = 0;
  for (int t = 1; t < model_thread_count; t++) model_view_join(&model_threads[0].view, &model_threads[t].view);
  model_threads[0].status = MODEL_READY; // for the inspection
  start_on(0, inspect, NULL);
  pthread_join(ids[0], NULL);
  if (!leaks_allowed) model_plain_check_leaks();
  for (int t = 0; t < model_thread_count; t++)
    if (model_threads[t].is_cores && model_threads[t].given_up != 1)
      model_fail("a thread neither joined nor detached", __FILE__, __LINE__);
}
