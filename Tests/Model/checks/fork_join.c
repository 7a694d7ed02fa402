// fork_join.c: FJ1 to FJ4, FJ6.

#include "pools.h"

static model_cell made;
static void make_it(csched_job *job) {
  note(job);
  model_write(&made, 7);
}
static const csched_job_type maker = {make_it, note_drop, NULL};
static void spawn_and_wait(csched_job *job) {
  note(job);
  csched_fork spawn;
  jobs[1].type = &maker;
  jobs[1].context = NULL;
  csched_pool_fork(&spawn, &jobs[1]);
  csched_pool_wait(&spawn);
  model_assert(model_read(&made) == 7);
  count_and_wake(&met);
}
static const csched_job_type spawner = {spawn_and_wait, note_drop, NULL};
static void spawn_one(void *unused) {
  (void)unused;
  make(2, 2);
  made = (model_cell){0};
  jobs[0].type = &spawner;
  submit((void *)0);
  wait_for(&met, 1);
  submit((void *)2);
  end(CSCHED_STOP_RUN);
}
static void meet_a_spawn(csched_job *job) { // parent and child meet: a thief has to take the child
  note(job);
  csched_fork spawn;
  jobs[1].type = &meeting;
  jobs[1].context = NULL;
  csched_pool_fork(&spawn, &jobs[1]);
  count_and_wake(&met);
  wait_for(&met, 2);
  csched_pool_wait(&spawn);
}
static const csched_job_type meeter = {meet_a_spawn, note_drop, NULL};
static void spawn_and_meet(void *unused) {
  (void)unused;
  make(2, 2);
  jobs[0].type = &meeter;
  submit((void *)0);
  wait_for(&met, 2);
  submit((void *)2);
  end(CSCHED_STOP_RUN);
}

static void spawn_two(csched_job *job) { // each is stolen by another thief
  csched_fork spawns[2];
  for (int i = 0; i < 2; i++) {
    jobs[1 + i].type = &meeting_all;
    jobs[1 + i].context = NULL;
    csched_pool_fork(&spawns[i], &jobs[1 + i]);
  }
  meet_all(job);
  for (int i = 1; i >= 0; i--) csched_pool_wait(&spawns[i]);
}
static const csched_job_type two_spawns = {spawn_two, note_drop, NULL};
static void spawn_for_two_thieves(void *unused) {
  (void)unused;
  make(ALL, ALL);
  jobs[0].type = &two_spawns;
  submit((void *)0);
  wait_for(&met, ALL);
  end(CSCHED_STOP_RUN);
}

// A stolen spawn runs as a job of its priority: its own spawns can be stolen, too.
static csched_job inner_spawn;
static void spawn_in_turn(csched_job *job) {
  note(job);
  csched_fork spawn;
  csched_job_init(&inner_spawn, &meeting_all, NULL);
  csched_pool_fork(&spawn, &inner_spawn);
  count_and_wake(&met);
  wait_for(&met, ALL);
  csched_pool_wait(&spawn);
}
static const csched_job_type spawning_in_turn = {spawn_in_turn, note_drop, NULL};
static void spawn_one_that_spawns(csched_job *job) {
  csched_fork spawn;
  jobs[1].type = &spawning_in_turn;
  jobs[1].context = NULL;
  csched_pool_fork(&spawn, &jobs[1]);
  meet_all(job);
  csched_pool_wait(&spawn);
}
static const csched_job_type spawning_deep = {spawn_one_that_spawns, note_drop, NULL};
static void spawn_deep(void *unused) {
  (void)unused;
  make(ALL, ALL);
  jobs[0].type = &spawning_deep;
  submit((void *)0);
  wait_for(&met, ALL);
  end(CSCHED_STOP_RUN);
}

// One job is queued while another is spawned: both need a worker besides the spawner's.
static void spawn_and_meet_all(csched_job *job) {
  csched_fork spawn;
  jobs[2].type = &meeting_all;
  jobs[2].context = NULL;
  count_and_wake(&begun);
  csched_pool_fork(&spawn, &jobs[2]);
  meet_all(job);
  csched_pool_wait(&spawn);
}
static const csched_job_type spawning_one = {spawn_and_meet_all, note_drop, NULL};
static void queue_beside_a_spawn(void *unused) {
  (void)unused;
  make(ALL, ALL);
  jobs[0].type = &spawning_one;
  jobs[1].type = &meeting_all;
  submit((void *)0);
  wait_for(&begun, 1);
  submit((void *)1);
  wait_for(&met, ALL);
  end(CSCHED_STOP_RUN);
}

// The spawner waits once its stolen spawn has spawned in turn, and both workers are busy: the spawner itself runs that
// inner spawn.
static void spawn_for_the_waiter(csched_job *job) {
  note(job);
  csched_fork spawn;
  csched_job_init(&inner_spawn, &telling, NULL);
  csched_pool_fork(&spawn, &inner_spawn);
  count_and_wake(&begun);
  wait_for(&met, 1);
  csched_pool_wait(&spawn);
}
static const csched_job_type spawning_for_the_waiter = {spawn_for_the_waiter, note_drop, NULL};
static void spawn_and_help(csched_job *job) {
  csched_fork spawn;
  jobs[1].type = &spawning_for_the_waiter;
  jobs[1].context = NULL;
  csched_pool_fork(&spawn, &jobs[1]);
  note(job);
  wait_for(&begun, 1);
  csched_pool_wait(&spawn);
}
static const csched_job_type helping = {spawn_and_help, note_drop, NULL};
static void spawn_and_be_helped(void *unused) {
  (void)unused;
  make(2, 2);
  jobs[0].type = &helping;
  submit((void *)0);
  wait_for(&met, 1);
  end(CSCHED_STOP_RUN);
}

// A spawned job is stolen, and submits a job that spawns, too. The thief runs that one next. The waiter for the first
// spawn must not run the second.
static uintptr_t waiter; // the csched_pool_worker of the first spawner, during its wait
static csched_job second_spawner, second_spawn;
static void run_second_spawn(csched_job *job) {
  note(job);
  model_assert(csched_load_relaxed(&waiter) != (uintptr_t)csched_pool_worker_here_);
}
static const csched_job_type second_spawn_type = {run_second_spawn, note_drop, NULL};
static void spawn_second(csched_job *job) {
  note(job);
  csched_fork spawn;
  csched_job_init(&second_spawn, &second_spawn_type, NULL);
  csched_pool_fork(&spawn, &second_spawn);
  csched_pool_wait(&spawn);
}
static const csched_job_type second_spawner_type = {spawn_second, note_drop, NULL};
static void submit_second(csched_job *job) {
  note(job);
  csched_job_init(&second_spawner, &second_spawner_type, NULL);
  csched_target_submit(csched_pool_target(pool, CSCHED_PRIORITY_HIGH), &second_spawner);
  count_and_wake(&begun);
}
static const csched_job_type first_spawn_type = {submit_second, note_drop, NULL};
static void spawn_first(csched_job *job) {
  note(job);
  csched_fork spawn;
  jobs[1].type = &first_spawn_type;
  jobs[1].context = NULL;
  csched_pool_fork(&spawn, &jobs[1]);
  wait_for(&begun, 1);
  csched_store_relaxed(&waiter, (uintptr_t)csched_pool_worker_here_);
  csched_pool_wait(&spawn);
  csched_store_relaxed(&waiter, (uintptr_t)0);
}
static const csched_job_type first_spawner_type = {spawn_first, note_drop, NULL};
static void run_both_spawners(void *unused) {
  (void)unused;
  waiter = 0;
  make(2, 2);
  jobs[0].type = &first_spawner_type;
  submit((void *)0);
  wait_for(&begun, 1);
  end(CSCHED_STOP_RUN);
}

const model_check fork_join_checks[] = {
    {"pool spawn: a queued job and a spawn at a time, a worker for each", reset, three_have_run,
     THREADS({queue_beside_a_spawn})}, // F1, F2, PP1, FJ2
    {"pool spawn: a spawn is run once, and seen by its wait", reset, three_have_run, THREADS({spawn_one})}, // FJ1, FJ3
    {"pool spawn: a spawn finds a thief that slept", reset, three_have_run,
     THREADS({spawn_and_meet})}, // FJ2, FJ3, F1, WK1
    {"pool spawn: two spawns find two thieves", reset, three_have_run,
     THREADS({spawn_for_two_thieves})},                                                          // F2, FJ1, FJ2
    {"pool spawn: a stolen spawn spawns in turn", reset, three_have_run, THREADS({spawn_deep})}, // F1, FJ1, FJ3
    {"pool spawn: a waiter runs what its stolen spawn has spawned", reset, three_have_run,
     THREADS({spawn_and_be_helped})}, // FJ4, FJ6
    {"pool spawn: a waiter beside a job that spawns after the awaited one", reset, four_have_run,
     THREADS({run_both_spawners})}, // FJ4, FJ6
    {NULL, NULL, NULL},
};
