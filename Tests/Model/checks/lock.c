// lock.c: L1 to L8.

#include "../engine/model.h"

#include "../../../Sources/CScheduler/platform/platform.h"

#include <string.h>

static csched_lock lock;
static model_cell guarded;
static int timed_out, entered;

static void reset(void) {
  memset(&lock, 0, sizeof lock);
  guarded = (model_cell){0};
  timed_out = entered = 0;
}

static void use(void) {
  model_write(&guarded, model_read(&guarded) + 1);
  entered++;
}

static void lock_once(void *unused) {
  (void)unused;
  csched_lock_lock(&lock);
  use();
  csched_lock_unlock(&lock);
}

static void lock_twice(void *unused) {
  lock_once(unused);
  lock_once(unused);
}

static void lock_for_a_while(void *unused) {
  (void)unused;
  if (csched_lock_lock_until(&lock, csched_time_after(csched_now(), 20000))) {
    use();
    csched_lock_unlock(&lock);
  } else {
    timed_out++;
  }
}

static void try_once(void *unused) {
  (void)unused;
  if (csched_lock_trylock(&lock)) {
    use();
    csched_lock_unlock(&lock);
  } else {
    timed_out++;
  }
}

static void hold_long(void *unused) {
  (void)unused;
  csched_lock_lock(&lock);
  csched_time end = csched_now() + 1500000; // longer than a spin, and than the hand-off waits
  while (csched_now() < end) csched_nap_(400000);
  use();
  csched_lock_unlock(&lock);
  lock_once(NULL);
}

static void two(void) {
  reset();
  model_spawn(lock_twice, NULL);
  model_spawn(lock_twice, NULL);
}
static void three(void) {
  reset();
  model_spawn(lock_once, NULL);
  model_spawn(lock_twice, NULL);
  model_spawn(lock_once, NULL);
}
static void timed(void) {
  reset();
  model_spawn(lock_twice, NULL);
  model_spawn(lock_for_a_while, NULL);
  model_spawn(lock_once, NULL);
}
static void tried(void) {
  reset();
  model_spawn(lock_twice, NULL);
  model_spawn(try_once, NULL);
  model_spawn(lock_once, NULL);
}
static void held_long(void) {
  reset();
  model_spawn(hold_long, NULL);
  model_spawn(lock_once, NULL);
  model_spawn(lock_for_a_while, NULL);
}

static void all_left(int sections) {
  model_assert(entered + timed_out == sections && guarded.value == entered);
  model_assert(lock.owner == 0);
  for (int i = 0; i < CSCHED_LOCK_HINTS_; i++) model_assert(csched_lock_hints_[i].word == 0); // nothing is left behind
}
static void four_sections(void) { all_left(4); }

const model_check lock_checks[] = {
    {"lock: two threads, twice each: exclusion, no lost wake", two, four_sections},
    {"lock: three threads: exclusion, no lost wake", three, four_sections},
    {"lock: a timed lock gives up and leaves nothing behind", timed, four_sections},
    {"lock: trylock beside lock", tried, four_sections},
    {"lock: held for long, with hand-off and timeout", held_long, four_sections},
    {NULL, NULL, NULL},
};
