#include "testing.h"

#include <poll.h>
#include <unistd.h>

static csched_loop *make_loop(void) {
  csched_loop *loop = NULL;
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  if (loop == NULL) abort();
  return loop;
}

static void submit(csched_loop *loop, probe *probe) {
  CHECK_EQUAL(csched_target_submit(csched_loop_target(loop), job_of(probe)), 0);
}

static void submit_in(csched_loop *loop, probe *probe, csched_time span) {
  CHECK_EQUAL(csched_target_submit_at(csched_loop_target(loop), &probe->timer, csched_now() + span, 0), 0);
}

// MARK: runs until done

static void say_nothing(csched_fd_source *source, unsigned events) { (void)source, (void)events; }

static void submit_and_unref(int index, void *context) {
  (void)index;
  probe *late = context;
  nap(2 * MS);
  submit(late->context, late);
  csched_loop_unref(late->context);
}

static void loop_until_done(void) {
  csched_loop *loop = make_loop();
  CHECK_EQUAL(csched_loop_run_until_done(loop), CSCHED_RUN_DONE); // nothing at all

  probe job, timer, never, late;
  probe_init(&job, NULL, NULL);
  probe_init(&timer, NULL, NULL);
  probe_init(&never, NULL, NULL);
  submit(loop, &job);
  submit_in(loop, &timer, 2 * MS);
  CHECK_EQUAL(csched_target_submit_at(csched_loop_target(loop), &never.timer, CSCHED_FOREVER, 0), 0);
  CHECK_EQUAL(csched_loop_run_until_done(loop), CSCHED_RUN_DONE);
  CHECK_PROBE(&job, 1, 0);
  CHECK_PROBE(&timer, 1, 0);
  CHECK_EQUAL(atomic_load(&never.runs), 0); // it keeps no run

  int ends[2];
  if (pipe(ends) != 0) abort();
  csched_fd_source source;
  csched_fd_source_init(&source, ends[0], CSCHED_FD_READ, say_nothing, NULL);
  CHECK_EQUAL(csched_loop_add_fd(loop, &source), 0);
  csched_activation until_done = {NULL, 0}; // as csched_loop_run_until_done, with a deadline
  CHECK_EQUAL(csched_loop_run_activation(loop, &until_done, csched_now() + 5 * MS), CSCHED_RUN_TIMED_OUT);
  csched_loop_unref(loop); // the source is in the background
  CHECK_EQUAL(csched_loop_run_until_done(loop), CSCHED_RUN_DONE);

  probe_init(&late, NULL, loop); // another thread is going to submit
  csched_loop_ref(loop);
  crew crew;
  crew_start(&crew, 1, submit_and_unref, &late);
  CHECK_EQUAL(csched_loop_run_until_done(loop), CSCHED_RUN_DONE);
  CHECK_EQUAL(atomic_load(&late.runs), 1);
  crew_join(&crew);

  csched_loop_ref(loop);
  CHECK_EQUAL(csched_loop_remove_fd(loop, &source), 0);
  csched_loop_ref(loop);
  csched_loop_end_run(loop);
  CHECK_EQUAL(csched_loop_run_until_done(loop), CSCHED_RUN_ENDED); // as any run
  csched_loop_close(loop, CSCHED_STOP_DROP);
  CHECK_EQUAL(csched_loop_run_until_done(loop), CSCHED_RUN_CLOSED);
  csched_loop_destroy(loop);
  CHECK_PROBE(&never, 0, 1);
  close(ends[0]);
  close(ends[1]);
}

// LP1, LP5
TEST("a run until done ends when nothing but background work is left") { loop_until_done(); }

// MARK: statistics

static void loop_statistics(void) {
  enum { JOBS = 100 };
  csched_loop *loop = make_loop();
  csched_loop_statistics before, after;
  csched_loop_get_statistics(loop, &before);
  CHECK(before.jobs == 0 && before.sleeps == 0 && before.idle == 0);
  probe jobs[JOBS], timer;
  for (int i = 0; i < JOBS; i++) {
    probe_init(&jobs[i], NULL, NULL);
    submit(loop, &jobs[i]);
  }
  probe_init(&timer, NULL, NULL);
  submit_in(loop, &timer, 20 * MS);
  csched_time start = csched_now();
  CHECK_EQUAL(csched_loop_run_until_done(loop), CSCHED_RUN_DONE);
  csched_loop_run_until(loop, csched_now() + MS); // its last batch counts when another has begun
  csched_time took = csched_now() - start;
  csched_loop_get_statistics(loop, &after);
  CHECK_EQUAL(after.jobs, JOBS + 1);
  CHECK(after.sleeps >= 1);
  CHECK(after.idle > 0 && after.idle <= took);

  csched_thread *thread = start_thread("idle");
  CHECK_SOON((csched_loop_get_statistics(csched_thread_loop(thread), &before), before.sleeps) >= 1);
  nap(5 * MS);
  csched_loop_get_statistics(csched_thread_loop(thread), &before);
  nap(5 * MS);
  csched_loop_get_statistics(csched_thread_loop(thread), &after);
  CHECK(after.idle >= before.idle + 5 * MS); // the current sleep counts
  CHECK_EQUAL(after.sleeps, before.sleeps);
  stop_and_join(thread, CSCHED_STOP_RUN);
  csched_loop_destroy(loop);
}

// LP12
TEST("a loop counts what it runs, its sleeps and its idle time") { loop_statistics(); }

// MARK: hooks

typedef struct hooked {
  csched_loop_hook hook; // first: it is its hook
  csched_loop *loop;
  journal *journal;
  probe *submits; // before the first sleep
  csched_loop_hook *removes;
  int sleeps, wakes, drops;
} hooked;

static void count_sleep(csched_loop_hook *hook) {
  hooked *test = hook->context;
  test->sleeps++;
  CHECK_EQUAL(test->sleeps, test->wakes + 1);
  CHECK(csched_loop_current() == test->loop);
  if (test->submits != NULL) submit(test->loop, test->submits);
  test->submits = NULL;
  if (test->removes != NULL) CHECK_EQUAL(csched_loop_remove_hook(test->loop, test->removes), 0);
  test->removes = NULL;
}

static void count_wake(csched_loop_hook *hook) {
  hooked *test = hook->context;
  test->wakes++;
  CHECK_EQUAL(test->sleeps, test->wakes);
}

static void count_drop(csched_loop_hook *hook, int error) {
  CHECK_EQUAL(error, ECANCELED);
  ((hooked *)hook->context)->drops++;
}

static hooked make_hooked(csched_loop *loop) { return (hooked){.loop = loop}; }

static void add(hooked *test) {
  test->hook = (csched_loop_hook){count_sleep, count_wake, count_drop, test, NULL, {NULL, NULL}};
  CHECK_EQUAL(csched_loop_add_hook(test->loop, &test->hook), 0);
  CHECK_EQUAL(csched_loop_add_hook(test->loop, &test->hook), EEXIST);
}

static void run_nested(probe *probe) { csched_loop_run_until(probe->context, csched_now() + 20 * MS); }

static void loop_hooks(void) {
  csched_loop *loop = make_loop();
  hooked first = make_hooked(loop), second = make_hooked(loop), third = make_hooked(loop);
  probe job, other, timer;
  probe_init(&job, NULL, NULL);
  probe_init(&other, NULL, NULL);
  probe_init(&timer, NULL, NULL);
  add(&first);
  add(&second);
  add(&third);
  submit(loop, &job);
  CHECK(csched_loop_run_once(loop, CSCHED_FOREVER));
  CHECK_EQUAL(first.sleeps, 0); // there was something to do
  first.submits = &other;       // which the loop finds, and does not sleep
  first.removes = &second.hook; // which is not called any more
  CHECK(csched_loop_run_once(loop, CSCHED_FOREVER));
  CHECK_PROBE(&other, 1, 0);
  CHECK(first.sleeps == 1 && first.wakes == 1 && second.sleeps == 0 && second.wakes == 0);
  CHECK(third.sleeps == 1 && third.wakes == 1);
  submit_in(loop, &timer, 5 * MS);
  CHECK(csched_loop_run_once(loop, CSCHED_FOREVER));
  CHECK(first.sleeps >= 2 && first.sleeps == first.wakes);
  CHECK_EQUAL(csched_loop_remove_hook(loop, &second.hook), ENOENT);
  first.removes = &first.hook; // itself
  CHECK_EQUAL(csched_loop_run_until(loop, csched_now() + MS), CSCHED_RUN_TIMED_OUT);
  CHECK_EQUAL(first.sleeps, first.wakes + 1);
  CHECK_EQUAL(third.sleeps, third.wakes);

  int sleeps = third.sleeps; // a run inside of a job calls them, too
  probe_init(&job, run_nested, loop);
  submit(loop, &job);
  CHECK(csched_loop_run_once(loop, CSCHED_FOREVER));
  CHECK(third.sleeps > sleeps && third.sleeps == third.wakes);
  csched_loop_destroy(loop);
  CHECK(third.drops == 1 && first.drops == 0 && second.drops == 0);
}

// A host sleeps in place of the loop: between its calls.
static void loop_hooks_in_host(void) {
  csched_loop *loop = make_loop();
  hooked test = make_hooked(loop);
  probe job;
  probe_init(&job, NULL, NULL);
  struct pollfd host = {.fd = fd_of(loop), .events = POLLIN};
  add(&test);
  csched_loop_run_ready(loop, SIZE_MAX);
  CHECK(test.sleeps == 1 && test.wakes == 0);
  CHECK_EQUAL(poll(&host, 1, 0), 0);
  test.submits = &job;
  csched_loop_run_ready(loop, SIZE_MAX);
  CHECK(test.sleeps == 2 && test.wakes == 1);
  CHECK_EQUAL(poll(&host, 1, 0), 1); // a hook's submission wakes the host
  csched_loop_run_ready(loop, SIZE_MAX);
  CHECK_PROBE(&job, 1, 0);
  CHECK(test.sleeps == 3 && test.wakes == 2);
  csched_loop_destroy(loop);
}

TEST("hooks are called before each sleep and after each wake, in a host, too") {
  loop_hooks();
  loop_hooks_in_host();
}
