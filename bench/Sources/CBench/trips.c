// Round trips between two threads: the harness, ours, and two plain ones.
#define _GNU_SOURCE
#include "kit.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

// MARK: ours: a loop on the caller's thread, and another thread with one

typedef struct loops {
  csched_loop *near;
  csched_thread *far;
  csched_job answer;
  csched_job calls[2]; // by turns: one may still be ending when its answer has come
  unsigned turn;
  bool has_answer;
} loops;

static void take_answer(csched_job *job) { ((loops *)job->context)->has_answer = true; }
static const csched_job_type answers = {take_answer, do_nothing, NULL};

static void give_answer(csched_job *job) {
  loops *loops = job->context;
  csched_target_submit(csched_loop_target(loops->near), &loops->answer);
}
static const csched_job_type calls = {give_answer, do_nothing, NULL};

static void *loops_open(void) {
  loops *made = touched(sizeof *made);
  if (csched_loop_create(&made->near) != 0 || csched_thread_start(&made->far, NULL) != 0) abort();
  csched_job_init(&made->answer, &answers, made);
  for (int i = 0; i < 2; i++) csched_job_init(&made->calls[i], &calls, made);
  return made;
}

static void loops_trip(void *context) {
  loops *loops = context;
  loops->has_answer = false;
  csched_target_submit(csched_thread_target(loops->far), &loops->calls[loops->turn++ & 1]);
  while (!loops->has_answer) csched_loop_run_once(loops->near, CSCHED_FOREVER);
}

static void loops_close(void *context) {
  loops *loops = context;
  csched_thread_destroy(loops->far);
  csched_loop_destroy(loops->near);
  free(loops);
}

const peer_trip ours_trips[] = {{"csched_thread", loops_open, loops_trip, loops_close}, {0}};

// MARK: plain ones: two words, waited for in the kernel or by looking

typedef struct words {
  pthread_t far;
  bool sleeps;
  _Alignas(64) atomic_uint there;
  _Alignas(64) atomic_uint back;
} words;

enum { OVER = UINT32_MAX };

static void set(words *words, atomic_uint *word, unsigned value) {
  atomic_store(word, value);
  if (words->sleeps) syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static unsigned await_other(words *words, atomic_uint *word, unsigned value) {
  unsigned seen;
  while ((seen = atomic_load(word)) == value)
    if (words->sleeps) syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
  return seen;
}

static void *answer_words(void *context) {
  words *words = context;
  for (unsigned seen = 0; (seen = await_other(words, &words->there, seen)) != OVER;) set(words, &words->back, seen);
  return NULL;
}

static void *words_open(bool sleeps) {
  words *made = touched(sizeof *made);
  made->sleeps = sleeps;
  if (pthread_create(&made->far, NULL, answer_words, made) != 0) abort();
  return made;
}
static void *futex_open(void) { return words_open(true); }
static void *spin_open(void) { return words_open(false); }

static void words_trip(void *context) {
  words *words = context;
  unsigned last = atomic_load(&words->back);
  set(words, &words->there, last + 1);
  await_other(words, &words->back, last);
}

static void words_close(void *context) {
  words *words = context;
  set(words, &words->there, OVER);
  pthread_join(words->far, NULL);
  free(words);
}

const peer_trip plain_trips[] = {
    {"bare futex", futex_open, words_trip, words_close}, {"bare spinning", spin_open, words_trip, words_close}, {0}};

// MARK: the harness

typedef struct journey {
  const peer_trip *kind;
  cbench_placement placement;
  int gap;
  long count;
  uint64_t *took;
} journey;

static void *travel(void *context) {
  journey *journey = context;
  bool is_placed = journey->placement != CBENCH_FREE;
  if (is_placed) cbench_pin(journey->placement == CBENCH_APART ? 1 : 0); // for the threads that it makes
  void *pair = journey->kind->open();
  if (is_placed) cbench_pin(0);
  for (int i = 0; i < 20; i++) journey->kind->trip(pair);
  csched_time last = csched_now();
  for (long i = 0; i < journey->count; i++) {
    if (journey->gap > 0) {
      usleep((useconds_t)journey->gap);
      last = csched_now();
    }
    journey->kind->trip(pair);
    csched_time now = csched_now();
    journey->took[i] = now - last;
    last = now;
  }
  journey->kind->close(pair);
  return NULL;
}

void cbench_trips(cbench_kind kind, int trip, cbench_placement placement, int gap, long count, uint64_t *took) {
  if (placement != CBENCH_FREE) cbench_warm();
  journey journey = {contender(kind, trip), placement, gap, count, took};
  pthread_t thread; // of its own, so that the caller's processors stay as they are
  if (pthread_create(&thread, NULL, travel, &journey) != 0) abort();
  pthread_join(thread, NULL);
}
