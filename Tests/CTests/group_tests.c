#include "fork_testing.h"

// MARK: waiting

typedef struct shared {
  csched_group group;
  long sums[CREW_MOST]; // the group guards them
  int members, rounds;
  atomic_int started, passed, is_early;
} shared;

static void work_and_leave(int index, void *context) {
  shared *shared = context;
  if (index >= shared->members) { // those wait
    for (int i = 0; i < shared->rounds; i++) {
      csched_group_wait(&shared->group);
      (void)csched_group_wait_until(&shared->group, csched_now() + 50 * US);
    }
    csched_group_wait(&shared->group);
    long sum = 0;
    for (int i = 0; i < shared->members; i++) sum += shared->sums[i];
    if (sum != (long)shared->members * shared->rounds) atomic_store(&shared->is_early, 1);
    atomic_fetch_add(&shared->passed, 1);
    return;
  }
  for (int i = 0; i < shared->rounds; i++) {
    csched_group_enter(&shared->group, 2);
    csched_group_leave(&shared->group);
    shared->sums[index]++;
    csched_group_leave(&shared->group);
  }
  csched_group_leave(&shared->group); // the test has entered for it
}

static void group_wait(int members, int waiters, int rounds) {
  shared shared = {.group = CSCHED_GROUP_INIT, .members = members, .rounds = rounds};
  csched_group_enter(&shared.group, (uint32_t)members);
  crew_run(members + waiters, work_and_leave, &shared);
  CHECK_EQUAL(atomic_load(&shared.passed), waiters);
  CHECK_EQUAL(atomic_load(&shared.is_early), 0);
  CHECK_EQUAL(csched_group_count(&shared.group), 0);
  csched_group_destroy(&shared.group);
}

// GR1, GR2, GR3, GR4
TEST("a wait for a group ends when all members have left") { group_wait(4, 3, times(2000)); }

static void group_timed(void) {
  csched_group group = CSCHED_GROUP_INIT;
  csched_group_wait(&group); // an empty one
  CHECK(csched_group_wait_until(&group, 0));
  csched_group_enter(&group, 1);
  CHECK(!csched_group_wait_until(&group, 0));
  csched_time end = csched_now() + 5 * MS;
  CHECK(!csched_group_wait_until(&group, end));
  CHECK(csched_now() >= end);
  csched_group_leave(&group);
  CHECK(csched_group_wait_until(&group, csched_now() + 60000 * MS));
  csched_group_destroy(&group);
}

// GR2, GR4
TEST("a timed wait for a group gives up") { group_timed(); }

// MARK: notices

static void group_notifies(int rounds) {
  csched_loop *loop;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  csched_target *target = csched_loop_target(loop);
  csched_group group;
  csched_group_init(&group);
  for (int round = 0; round < rounds; round++) {
    journal journal = {0};
    probe probes[4];
    csched_group_notice notices[4];
    for (int i = 0; i < 4; i++) {
      probe_init(&probes[i], note, &journal);
      probes[i].id = i;
    }
    csched_group_enter(&group, 2);
    for (int i = 0; i < 3; i++) csched_group_notify(&group, &notices[i], target, job_of(&probes[i]));
    csched_group_leave(&group);
    CHECK(csched_job_is_idle(job_of(&probes[0])));
    csched_group_leave(&group);
    csched_group_notify(&group, &notices[3], target, job_of(&probes[3])); // at once
    while (atomic_load(&probes[3].releases) == 0) csched_loop_run_once(loop, csched_now() + 5000 * MS);
    CHECK_JOURNAL(&journal, "0,1,2,3");
    for (int i = 0; i < 4; i++) CHECK_PROBE(&probes[i], 1, 0);
  }
  csched_group_destroy(&group);
  csched_loop_destroy(loop);
}

// GR1
TEST("a group submits each notice once, in order, when it is empty") { group_notifies(times(200)); }

static void take_notices_back(int count) {
  csched_loop *loop;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  csched_target *target = csched_loop_target(loop);
  csched_group group = CSCHED_GROUP_INIT;
  csched_group_notice notices[5] = {0};
  probe probes[5];
  journal journal = {0};
  CHECK(!csched_group_take_back(&group, &notices[0])); // it was never given
  csched_group_enter(&group, 1);
  for (int i = 0; i < 5; i++) {
    probe_init(&probes[i], note, &journal);
    probes[i].id = i;
    csched_group_notify(&group, &notices[i], target, job_of(&probes[i]));
  }
  for (int i = 0; i < 5; i += 2)
    CHECK(csched_group_take_back(&group, &notices[i])); // the newest, one between, the oldest
  CHECK(!csched_group_take_back(&group, &notices[0]));
  csched_time begun = csched_now();
  csched_group_notice *many = calloc((size_t)count, sizeof *many);
  for (int i = 0; i < count; i++) csched_group_notify(&group, &many[i], target, job_of(&probes[0]));
  for (int i = 0; i < count; i++) CHECK(csched_group_take_back(&group, &many[i]));
  CHECK(csched_now() - begun < 10000 * MS); // each is unlinked in constant time
  free(many);
  csched_group_leave(&group);
  CHECK(!csched_group_take_back(&group, &notices[1])); // its job has been submitted
  csched_group_notify(&group, &notices[2], target, job_of(&probes[2]));
  while (atomic_load(&probes[2].releases) == 0) csched_loop_run_once(loop, csched_now() + 5000 * MS);
  CHECK_JOURNAL(&journal, "1,3,2");
  csched_group_destroy(&group);
  csched_loop_destroy(loop);
}

// The one in the middle first: each of its neighbours can be taken back after that.
static void take_neighbours_back(int then) {
  csched_loop *loop;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  csched_group group = CSCHED_GROUP_INIT;
  csched_group_notice notices[3] = {0};
  probe probes[3];
  csched_group_enter(&group, 1);
  for (int i = 0; i < 3; i++) {
    probe_init(&probes[i], NULL, NULL);
    csched_group_notify(&group, &notices[i], csched_loop_target(loop), job_of(&probes[i]));
  }
  CHECK(csched_group_take_back(&group, &notices[1]));
  CHECK(csched_group_take_back(&group, &notices[then]));
  csched_group_leave(&group);
  CHECK_EQUAL(csched_loop_run_ready(loop, 3), 1);
  for (int i = 0; i < 3; i++) CHECK_EQUAL(atomic_load(&probes[i].runs), i == 2 - then);
  csched_group_destroy(&group);
  csched_loop_destroy(loop);
}

TEST("a notice that is taken back is not called") { // GR1
  take_notices_back(times(50000));
  take_neighbours_back(0);
  take_neighbours_back(2);
}

static void leave_it(int index, void *group) { (void)index, csched_group_leave(group); }

static void group_freed(int rounds) {
  for (int i = 0; i < rounds; i++) {
    csched_group *group = calloc(1, sizeof *group);
    csched_group_enter(group, 1);
    crew crew;
    crew_start(&crew, 1, leave_it, group);
    csched_group_wait(group);
    memset(group, 0x5a, sizeof *group);
    free(group);
    crew_join(&crew);
  }
}

// GR5
TEST("a group may be freed by its waiter") { group_freed(times(500)); }

// MARK: misuse and fork

TEST_STOPS("a group that is left too often stops the process", "csched_group_leave:", "is empty",
           "Leave once for each enter") { // GR6
  csched_group group = CSCHED_GROUP_INIT;
  csched_group_leave(&group);
}

TEST_STOPS("a group that is entered too often stops the process", "csched_group_enter:", "cannot take 1 more",
           "Leave once for each enter") {
  csched_group group = CSCHED_GROUP_INIT;
  csched_group_enter(&group, CSCHED_GROUP_MOST);
  csched_group_enter(&group, 1);
}

TEST_STOPS("a group that is destroyed in use stops the process", "csched_group_destroy:", "has 1 inside",
           "Destroy it when all have left") { // GR6
  csched_group group = CSCHED_GROUP_INIT;
  csched_group_enter(&group, 1);
  csched_group_destroy(&group);
}

typedef struct notified {
  csched_group group;
  csched_group_notice notice;
  probe probe;
  csched_loop *loop;
} notified;

static void leave_in_child(void *context) {
  notified *notified = context;
  CHECK_EQUAL(csched_group_count(&notified->group), 1);
  CHECK(!csched_group_wait_until(&notified->group, csched_now() + MS));
  csched_group_leave(&notified->group); // a thread of the parent sleeps, and does not exist here
  CHECK(csched_group_wait_until(&notified->group, 0));
  csched_loop_run_once(notified->loop, csched_now() + 5000 * MS);
  CHECK_PROBE(&notified->probe, 1, 0);
}

static void wait_for_group(int index, void *context) { (void)index, csched_group_wait(&((notified *)context)->group); }

static void group_fork(void) {
  notified notified = {.group = CSCHED_GROUP_INIT};
  CHECK_EQUAL(csched_loop_create(&notified.loop), 0);
  probe_init(&notified.probe, NULL, NULL);
  csched_group_enter(&notified.group, 1);
  csched_group_notify(&notified.group, &notified.notice, csched_loop_target(notified.loop), job_of(&notified.probe));
  crew crew;
  crew_start(&crew, 1, wait_for_group, &notified);
  nap(5 * MS);
  CHECK_CHILD(leave_in_child, &notified);
  csched_group_leave(&notified.group);
  crew_join(&crew);
  csched_loop_run_once(notified.loop, csched_now() + 5000 * MS);
  CHECK_PROBE(&notified.probe, 1, 0);
  csched_loop_destroy(notified.loop);
}

TEST_UNLESS(THREAD_SANITIZER | MEMORY_SANITIZER | VALGRIND, "tools do not follow a process with threads into its child",
            "after fork a group has its count and its notices") { // GR7
  group_fork();
}
