// group.c: GR1 to GR6.

#include "../engine/model.h"

#include <stdlib.h>

static csched_group *group;
static model_cell done[3];
static int passed, called, called_later, order[2];
static csched_group_notice notices[2], later;
static uint32_t users; // of the memory

static void start(uint32_t entered, unsigned of_users) {
  group = calloc(1, sizeof *group);
  csched_group_enter(group, entered);
  for (int i = 0; i < 3; i++) done[i] = (model_cell){0};
  passed = called = called_later = 0;
  users = of_users;
}
static void let_go(void) {
  if (csched_fetch_add_acq_rel(&users, UINT32_MAX) == 1) free(group);
}

static void do_and_leave(void *context) {
  int index = (int)(intptr_t)context;
  model_write(&done[index], 1);
  csched_group_leave(group);
}
static void look(int members) {
  for (int i = 0; i < members; i++) model_assert(model_read(&done[i]) == 1);
}

// The last waiter frees the group, though csched_group_leave may not have returned in the other threads.
static void wait_for_two(void *unused) {
  (void)unused;
  csched_group_wait(group);
  look(2);
  passed++;
  let_go();
}
static void waited(void) {
  start(2, 2);
  for (intptr_t i = 0; i < 2; i++) model_spawn(do_and_leave, (void *)i);
  for (int i = 0; i < 2; i++) model_spawn(wait_for_two, NULL);
}
static void two_passed(void) { model_assert(passed == 2); }

static void wait_a_while(void *unused) {
  (void)unused;
  if (csched_group_wait_until(group, csched_now() + 1000)) look(1);
  csched_group_wait(group);
  look(1);
  passed++;
  let_go();
}
static void start_one(void) { start(1, 1); }
static void one_passed(void) { model_assert(passed == 1); }

static void count(void *unused) {
  (void)unused;
  if (csched_group_count(group) == 0) look(1);
}
static void none_left(void) {
  model_assert(csched_group_count(group) == 0);
  free(group);
}

// One enters again while the other leaves.
static void enter_inside(void *unused) {
  (void)unused;
  csched_group_enter(group, 1);
  csched_group_leave(group);
  model_write(&done[1], 1);
  csched_group_leave(group);
}
static void reentered(void) {
  start(2, 1);
  model_spawn(do_and_leave, (void *)0);
  model_spawn(enter_inside, NULL);
  model_spawn(wait_for_two, NULL);
}

static void call(csched_group_notice *notice) {
  look(2);
  order[called++] = (int)(notice - notices);
  notice->next = notices; // it is the callee's
}
static void notify_and_leave(void *unused) {
  (void)unused;
  for (int i = 0; i < 2; i++) csched_group_call_(group, &notices[i], call);
  csched_group_leave(group);
}
static void notified(void) {
  start(3, 1);
  model_spawn(do_and_leave, (void *)0);
  model_spawn(enter_inside, NULL);
  model_spawn(notify_and_leave, NULL);
}

// A thread that is not a member enters while the last member leaves, or after the group has been emptied.
static void call_later(csched_group_notice *unused) {
  (void)unused;
  called_later++;
}
static void enter_from_outside(void *unused) {
  (void)unused;
  csched_group_enter(group, 1);
  csched_group_call_(group, &later, call_later);
  csched_group_leave(group);
}
static void call_one(csched_group_notice *notice) {
  look(1);
  order[called++] = (int)(notice - notices);
}
static void tell_and_leave(void *unused) {
  (void)unused;
  for (int i = 0; i < 2; i++) csched_group_call_(group, &notices[i], call_one);
  model_write(&done[0], 1);
  csched_group_leave(group);
}
static void each_told_once(void) {
  model_assert(called == 2 && order[0] == 0 && order[1] == 1 && called_later == 1 && csched_group_count(group) == 0);
  free(group);
}
static void told_once(void) {
  model_assert(called == 2 && order[0] == 0 && order[1] == 1 && csched_group_count(group) == 0);
  free(group);
}

// One notice is taken back while the last one leaves: it was called, or never is.
static int taken_back;
static void take_back(void *unused) {
  (void)unused;
  if (csched_group_take_back(group, &notices[1])) taken_back++;
}
static void took_back(void) {
  start(1, 1);
  taken_back = 0;
  for (int i = 0; i < 2; i++) csched_group_call_(group, &notices[i], call_one);
  csched_group_call_(group, &later, call_later);
  model_spawn(do_and_leave, (void *)0);
  model_spawn(take_back, NULL);
}
static void told_or_taken_back(void) {
  model_assert(called + taken_back == 2 && order[0] == 0 && (taken_back || order[1] == 1) && called_later == 1);
  free(group);
}

static void leave_only(void *unused) {
  (void)unused;
  csched_group_leave(group);
}
static void left_too_often(void) {
  start(0, 1);
  model_expect_panic("is empty");
  model_spawn(leave_only, NULL);
}
static void stopped(void) {
  model_assert(model_panics() == 1);
  free(group);
}

const model_check group_checks[] = {
    {"group: two members leave, two threads wait, the last frees it", waited, two_passed}, // GR1, GR2, GR3, GR5
    {"group: a wait at its deadline", start_one, one_passed, THREADS({do_and_leave}, {wait_a_while})}, // GR4
    {"group: a thread that counts no member sees the members' writes", start_one, none_left,
     THREADS({do_and_leave}, {count})},                                              // GR3
    {"group: one member enters while another leaves", reentered, one_passed},        // GR1, GR2
    {"group: all notices are called, once, in order, outside", notified, told_once}, // GR1, GR3, GR5
    {"group: a thread enters from outside while the last member leaves", start_one, each_told_once,
     THREADS({tell_and_leave}, {enter_from_outside})},                                             // GR1
    {"group: a notice is taken back while the last member leaves", took_back, told_or_taken_back}, // GR1, GR5
    {"group: a leave without an enter stops the process", left_too_often, stopped},                // GR6
    {NULL, NULL, NULL},
};
