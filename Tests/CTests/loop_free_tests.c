#include "testing.h"

#include <poll.h>

// What may run at once beside a loop, and a host that has its jobs run in its own order.

static bool is_readable(int fd) {
  struct pollfd one = {.fd = fd, .events = POLLIN};
  return poll(&one, 1, 0) > 0;
}

static csched_loop *make_loop(void) {
  csched_loop *loop = NULL;
  if (csched_loop_create(&loop) != 0) abort();
  return loop;
}

// MARK: free

typedef struct place {
  csched_loop *loop;
  csched_serial *queue;
} place;

static void look_inside(probe *probe) { // nothing may run at once inside of a job
  place *place = probe->context;
  CHECK(!csched_loop_is_free_(place->loop));
}

static void look_in_sync(void *context) {
  place *place = context;
  CHECK(!csched_loop_is_free_(place->loop));
}

static void look_from_elsewhere(int index, void *context) {
  (void)index;
  CHECK(!csched_loop_is_free_(((place *)context)->loop));
}

static void loop_free(void) {
  place place = {.loop = make_loop()};
  csched_loop *loop = place.loop;
  CHECK_EQUAL(csched_serial_create(&place.queue, csched_loop_target(loop)), 0);
  csched_target *targets[] = {csched_loop_target(loop), csched_serial_target(place.queue)};
  CHECK(csched_loop_is_free_(loop));
  crew_run(1, look_from_elsewhere, &place);
  for (int hosted = 0; hosted < 2; hosted++) {
    for (int i = 0; i < 2; i++) {
      probe job, timer, later;
      probe_init(&job, look_inside, &place);
      probe_init(&timer, look_inside, &place);
      probe_init(&later, NULL, NULL);
      CHECK_EQUAL(csched_target_submit_at(targets[i], &later.timer, csched_now() + 3600000 * MS, 0), 0);
      CHECK(csched_loop_is_free_(loop)); // it is not due
      CHECK_EQUAL(csched_target_submit(targets[i], job_of(&job)), 0);
      CHECK(!csched_loop_is_free_(loop));
      CHECK_EQUAL(csched_loop_run_ready(loop, 9), 1);
      CHECK(csched_loop_is_free_(loop));
      CHECK_EQUAL(csched_target_submit_at(targets[i], &timer.timer, csched_now() + 1 * MS, 0), 0);
      nap(2 * MS);
      CHECK(!csched_loop_is_free_(loop)); // due, though the loop has not run
      CHECK_EQUAL(csched_loop_run_ready(loop, 9), 1);
      CHECK(csched_loop_is_free_(loop));
      csched_timer_cancel(&later.timer);
      CHECK_PROBE(&job, 1, 0);
      CHECK_PROBE(&timer, 1, 0);
      CHECK_PROBE(&later, 0, 1);
    }
    CHECK_EQUAL(csched_serial_sync(place.queue, look_in_sync, &place), 0);
    CHECK(fd_of(loop) >= 0); // and in a host
  }
  csched_loop_close(loop, CSCHED_STOP_RUN);
  CHECK(!csched_loop_is_free_(loop));
  csched_serial_destroy(place.queue);
  csched_loop_destroy(loop);
}

// LP11
TEST("work runs at once beside a loop only when nothing waits or runs there") { loop_free(); }

// Cancelled jobs do not keep the loop busy. Due timers run before jobs that are submitted after the check.
static void loop_free_cancelled(void) {
  csched_loop *loop = make_loop();
  journal journal = {0};
  probe probes[5];
  for (int i = 0; i < 5; i++) {
    probe_init(&probes[i], note, &journal);
    probes[i].id = i;
  }
  for (int i = 0; i < 2; i++) CHECK_EQUAL(csched_target_submit(csched_loop_target(loop), job_of(&probes[i])), 0);
  for (int i = 0; i < 2; i++) csched_job_cancel(job_of(&probes[i]));
  CHECK(csched_loop_is_free_(loop));
  for (int i = 0; i < 2; i++) CHECK_PROBE(&probes[i], 0, 1); // and they are released
  csched_time due = csched_now() + 50 * MS;
  CHECK_EQUAL(csched_target_submit_at(csched_loop_target(loop), &probes[3].timer, due + 1, 0), 0);
  CHECK_EQUAL(csched_target_submit_at(csched_loop_target(loop), &probes[2].timer, due, 0), 0);
  nap(51 * MS);
  CHECK(!csched_loop_is_free_(loop));
  CHECK_EQUAL(csched_target_submit(csched_loop_target(loop), job_of(&probes[4])), 0);
  CHECK_EQUAL(csched_loop_run_ready(loop, 9), 3);
  CHECK_JOURNAL(&journal, "2,3,4");
  csched_loop_destroy(loop);
}

TEST("a cancelled job keeps no job from running at once, and a due timer keeps its place") { // LP11
  loop_free_cancelled();
}

// MARK: as far as a job

static void nest(probe *probe) { // a nested run takes jobs, also inside of a run that takes none
  note(probe);
  csched_loop_run_ready(csched_loop_current(), 9);
}

static void loop_run_through(void) {
  csched_loop *loop = make_loop();
  journal journal = {0};
  probe probes[8];
  for (int i = 0; i < 8; i++) {
    probe_init(&probes[i], i == 6 ? nest : note, &journal);
    probes[i].id = i;
  }
  int fd = fd_of(loop);
  CHECK(fd >= 0);
  for (int i = 0; i < 4; i++) CHECK_EQUAL(csched_target_submit(csched_loop_target(loop), job_of(&probes[i])), 0);
  CHECK_EQUAL(csched_target_submit_at(csched_loop_target(loop), &probes[4].timer, csched_now() + 1 * MS, 0), 0);
  CHECK_EQUAL(csched_target_submit_at(csched_loop_target(loop), &probes[5].timer, csched_now() + 3600000 * MS, 0), 0);
  nap(2 * MS);
  CHECK(csched_loop_run_through_(loop, NULL, false)); // due timers, and no jobs
  CHECK_JOURNAL(&journal, "4");
  CHECK(csched_loop_run_through_(loop, job_of(&probes[1]), false));
  CHECK_JOURNAL(&journal, "4,0,1");
  CHECK(csched_loop_run_through_(loop, job_of(&probes[1]), false)); // it has run
  CHECK_JOURNAL(&journal, "4,0,1");
  csched_job_cancel(job_of(&probes[3]));
  CHECK(!csched_loop_run_through_(loop, job_of(&probes[3]), false)); // as far as where it was
  CHECK_JOURNAL(&journal, "4,0,1,2");
  CHECK_PROBE(&probes[3], 0, 1);
  CHECK_EQUAL(csched_target_submit_at(csched_loop_target(loop), &probes[6].timer, csched_now() + 1 * MS, 0), 0);
  nap(2 * MS);
  CHECK_EQUAL(csched_target_submit(csched_loop_target(loop), job_of(&probes[7])), 0);
  CHECK(!csched_loop_run_through_(loop, NULL, false));
  CHECK_JOURNAL(&journal, "4,0,1,2,6,7");
  CHECK_EQUAL(csched_target_submit(csched_loop_target(loop), job_of(&probes[0])), 0);
  CHECK(csched_loop_run_through_(loop, NULL, true));
  CHECK(!is_readable(fd)); // a promise is enough
  CHECK(csched_loop_run_through_(loop, NULL, false));
  CHECK(is_readable(fd));
  CHECK_EQUAL(csched_loop_run_ready(loop, 9), 1);
  csched_loop_destroy(loop);
  CHECK_PROBE(&probes[5], 0, 1);
}

// LP1, LP10
TEST("a run goes as far as a job, and no further") { loop_run_through(); }

// MARK: a host that continues on another thread while the loop's thread ends

typedef struct handover {
  csched_loop *loop;
  atomic_int has_bound, has_taken;
} handover;

static void leave_bound(int index, void *context) {
  (void)index;
  handover *handover = context;
  csched_loop_attach(handover->loop);
  csched_loop_run_ready(handover->loop, 9);
  atomic_store(&handover->has_bound, 1);
  WAIT_WHILE(atomic_load(&handover->has_taken) == 0);
}

static void loop_taken_over(void) {
  handover handover = {.loop = make_loop()};
  csched_loop_detach(handover.loop);
  crew crew;
  crew_start(&crew, 1, leave_bound, &handover);
  CHECK_SOON(atomic_load(&handover.has_bound) == 1);
  csched_loop_attach(handover.loop);
  atomic_store(&handover.has_taken, 1);
  crew_join(&crew); // its end finds that it has no loop
  CHECK(csched_loop_is_on_thread(handover.loop));
  probe probe;
  probe_init(&probe, NULL, NULL);
  CHECK_EQUAL(csched_target_submit(csched_loop_target(handover.loop), job_of(&probe)), 0);
  CHECK_EQUAL(csched_loop_run_ready(handover.loop, 9), 1);
  csched_loop_destroy(handover.loop);
  CHECK_PROBE(&probe, 1, 0);
}

// LP7
TEST("a loop continues on another thread while its own ends") { loop_taken_over(); }
