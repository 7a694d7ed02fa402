// Outcomes that the model's memory must allow, and outcomes that it must forbid. An allowed outcome has to be seen in
// some schedule.

#include "../engine/model.h"
#include "../../../Sources/CScheduler/platform/platform.h"

#include <stdio.h>
#include <stdlib.h>

static uint32_t x, y;
static uint32_t r[4];
static int looked[4], seen[4]; // store buffering, message passing, independent reads, 2+2W: in how many schedules

static void reset(void) { x = y = r[0] = r[1] = r[2] = r[3] = 0; }

static void store_x_load_y(void *unused) {
  (void)unused;
  csched_store_release(&x, 1u);
  r[0] = csched_load_acquire(&y);
}
static void store_y_load_x(void *unused) {
  (void)unused;
  csched_store_release(&y, 1u);
  r[1] = csched_load_acquire(&x);
}
static void count(int which, bool weak) {
  looked[which] += !model_memory_is_strong;
  seen[which] += weak;
}
static void buffering_seen(void) { count(0, r[0] == 0 && r[1] == 0); }

static void light(void *unused) {
  (void)unused;
  csched_store_relaxed(&x, 1u);
  csched_fence_light_();
  r[0] = csched_load_relaxed(&y);
}
static void heavy(void *unused) {
  (void)unused;
  csched_store_relaxed(&y, 1u);
  csched_fence_heavy_();
  r[1] = csched_load_relaxed(&x);
}
static void not_both_zero(void) { model_assert(r[0] != 0 || r[1] != 0); }

static void send(void *order) {
  csched_store_relaxed(&x, 1u);
  if (order) csched_store_release(&y, 1u);
  else csched_store_relaxed(&y, 1u);
}
static void receive(void *unused) {
  (void)unused;
  r[0] = csched_load_acquire(&y);
  r[1] = csched_load_relaxed(&x);
}
static void passed(void) { model_assert(r[0] == 0 || r[1] == 1); }
static void loose_seen(void) { count(1, r[0] == 1 && r[1] == 0); }

static void add_relaxed(void *unused) {
  (void)unused;
  csched_fetch_add_relaxed(&y, 1u);
}
static void sequence_passed(void) { model_assert(r[0] != 2 || r[1] == 1); }

static void write_twice(void *unused) {
  (void)unused;
  csched_store_relaxed(&x, 1u);
  csched_store_relaxed(&x, 2u);
}
static void read_twice(void *unused) {
  (void)unused;
  r[0] = csched_load_relaxed(&x);
  r[1] = csched_load_relaxed(&x);
}
static void coherent(void) { model_assert(r[0] <= r[1]); }

static void copy_x(void *unused) {
  (void)unused;
  r[0] = csched_load_relaxed(&x);
  csched_store_relaxed(&y, 1u);
}
static void copy_y(void *unused) {
  (void)unused;
  r[1] = csched_load_relaxed(&y);
  csched_store_relaxed(&x, 1u);
}
static void not_from_the_future(void) { model_assert(r[0] == 0 || r[1] == 0); }

static void write_x(void *unused) {
  (void)unused;
  csched_store_release(&x, 1u);
}
static void write_y(void *unused) {
  (void)unused;
  csched_store_release(&y, 1u);
}
static void read_xy(void *unused) {
  (void)unused;
  r[0] = csched_load_acquire(&x);
  r[1] = csched_load_acquire(&y);
}
static void read_yx(void *unused) {
  (void)unused;
  r[2] = csched_load_acquire(&y);
  r[3] = csched_load_acquire(&x);
}
static void independent_seen(void) { count(2, r[0] == 1 && r[1] == 0 && r[2] == 1 && r[3] == 0); }

// 2+2W: each location may end with the value that was written first.
static void write_x_then_y(void *unused) {
  (void)unused;
  csched_store_relaxed(&x, 1u);
  csched_store_relaxed(&y, 2u);
}
static void write_y_then_x(void *unused) {
  (void)unused;
  csched_store_relaxed(&y, 1u);
  csched_store_relaxed(&x, 2u);
}
static void two_writes_seen(void) { count(3, x == 1 && y == 1); }

static void all_weak_outcomes(void) {
  for (int i = 0; i < 4; i++) model_assert(seen[i] > 0 || looked[i] < 200);
}

static model_cell cell;
static uint32_t guard;
static void take_and_write(void *unused) {
  (void)unused;
  uint32_t free = 0;
  while (!csched_cas_acquire(&guard, &free, 1u)) {
    free = 0;
    (void)csched_now();
  }
  model_write(&cell, model_read(&cell) + 1);
  csched_store_release(&guard, 0u);
}
static void guarded(void) {
  cell = (model_cell){0};
  guard = 0;
  model_spawn(take_and_write, NULL);
  model_spawn(take_and_write, NULL);
}
static void written_twice(void) { model_assert(cell.value == 2); }

const model_check litmus_checks[] = {
    {"litmus: store buffering happens without fences", reset, buffering_seen,
     THREADS({store_x_load_y}, {store_y_load_x})},
    {"litmus: store buffering is forbidden by a light and a heavy fence", reset, not_both_zero,
     THREADS({light}, {heavy})},
    {"litmus: message passing holds with release and acquire", reset, passed, THREADS({send, true}, {receive})},
    {"litmus: message passing fails with relaxed stores", reset, loose_seen, THREADS({send}, {receive})},
    {"litmus: a release sequence goes on through a relaxed read-modify-write", reset, sequence_passed,
     THREADS({send, true}, {add_relaxed}, {receive})},
    {"litmus: reads of one location are coherent", reset, coherent, THREADS({write_twice}, {read_twice})},
    {"litmus: load buffering is excluded", reset, not_from_the_future, THREADS({copy_x}, {copy_y})},
    {"litmus: independent reads of independent writes may differ", reset, independent_seen,
     THREADS({write_x}, {write_y}, {read_xy}, {read_yx})},
    {"litmus: two locations may be written in different orders", reset, two_writes_seen,
     THREADS({write_x_then_y}, {write_y_then_x})},
    {"litmus: all the weak outcomes were seen", NULL, all_weak_outcomes},
    {"litmus: a spin lock orders plain data", guarded, written_twice},
    {NULL, NULL, NULL},
};
