#include "testing.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

// A loop driven by hand from poll(2).

static csched_loop *make_loop(void) {
  csched_loop *loop = NULL;
  if (csched_loop_create(&loop) != 0) abort();
  return loop;
}

static bool is_readable(int fd) {
  struct pollfd one = {.fd = fd, .events = POLLIN};
  return poll(&one, 1, 0) > 0;
}

static void await_readable(int fd) {
  struct pollfd one = {.fd = fd, .events = POLLIN};
  while (poll(&one, 1, -1) <= 0) {}
}

static void submit_two(probe *probe) {
  struct probe *others = probe->context;
  csched_loop *loop = csched_loop_current();
  for (int i = 0; i < 2; i++) CHECK_EQUAL(csched_target_submit(csched_loop_target(loop), job_of(&others[i])), 0);
  CHECK_EQUAL(csched_loop_run_ready(loop, 1), 1); // a run inside leaves the loop where it is
}

static void check_stop_and_close(csched_loop *loop, int fd) {
  csched_loop_end_run(loop);
  CHECK(is_readable(fd));
  CHECK_EQUAL(csched_loop_run_ready(loop, 9), 0);
  CHECK(is_readable(fd)); // no run has taken the stop
  CHECK_EQUAL(csched_loop_run_until(loop, 0), CSCHED_RUN_ENDED);
  csched_loop_run_ready(loop, 9);
  CHECK(!is_readable(fd));
  CHECK_EQUAL(csched_loop_run_until(loop, 0), CSCHED_RUN_TIMED_OUT);
  CHECK(!is_readable(fd));
  csched_loop_close(loop, CSCHED_STOP_RUN);
  CHECK(is_readable(fd));
  for (int i = 0; i < 2; i++) csched_loop_run_ready(loop, 9);
  CHECK(!is_readable(fd)); // the close is reported once
  CHECK_EQUAL(csched_loop_run_until(loop, 0), CSCHED_RUN_CLOSED);
}

static void host_readable(void) {
  csched_loop *loop = make_loop();
  probe probes[6];
  for (int i = 0; i < 6; i++) probe_init(&probes[i], i == 4 ? submit_two : NULL, probes);
  CHECK_EQUAL(csched_target_submit(csched_loop_target(loop), job_of(&probes[0])), 0);
  int fd = fd_of(loop);
  CHECK(fd >= 0);
  CHECK_EQUAL(fd_of(loop), fd);
  CHECK(is_readable(fd)); // for the job submitted before
  CHECK_EQUAL(csched_loop_run_ready(loop, 9), 1);
  CHECK(!is_readable(fd));
  for (int i = 0; i < 3; i++) CHECK_EQUAL(csched_target_submit(csched_loop_target(loop), job_of(&probes[i])), 0);
  CHECK(is_readable(fd));
  CHECK_EQUAL(csched_loop_run_ready(loop, 2), 2);
  CHECK(is_readable(fd)); // a job waits
  CHECK_EQUAL(csched_loop_run_ready(loop, 2), 1);
  CHECK(!is_readable(fd));
  csched_time deadline = csched_now() + 200 * MS; // not due before the loop's next run
  CHECK_EQUAL(csched_target_submit_at(csched_loop_target(loop), &probes[3].timer, deadline, 0), 0);
  CHECK(is_readable(fd)); // an earlier timer: the loop is to set its alarm
  CHECK_EQUAL(csched_loop_run_ready(loop, 9), 0);
  await_readable(fd);
  CHECK(csched_now() >= deadline);
  CHECK_EQUAL(csched_loop_run_ready(loop, 9), 1);
  CHECK(!is_readable(fd));
  CHECK_EQUAL(csched_target_submit(csched_loop_target(loop), job_of(&probes[4])), 0);
  CHECK_EQUAL(csched_loop_run_ready(loop, 1), 1);
  CHECK(is_readable(fd)); // one of its two submitted jobs waits
  CHECK_EQUAL(csched_loop_run_ready(loop, 9), 1);
  CHECK(!is_readable(fd));
  CHECK_EQUAL(csched_target_submit(csched_loop_target(loop), job_of(&probes[5])), 0);
  CHECK(csched_loop_run_once(loop, CSCHED_FOREVER)); // its own runs stay possible
  csched_loop_run_ready(loop, 0);
  CHECK_EQUAL(csched_loop_run_ready(loop, 9), 0);
  CHECK(!is_readable(fd));
  check_stop_and_close(loop, fd);
  csched_loop_destroy(loop);
}

// LP1
TEST("a loop in a host is readable when there is something to do, and not otherwise") { host_readable(); }

static void read_byte(csched_fd_source *source, unsigned events) {
  char byte;
  (void)events;
  CHECK_EQUAL(read(source->fd, &byte, 1), 1);
  ++*(int *)source->context;
}

static void host_of_sources(void) {
  csched_loop *loop = make_loop();
  int fd = fd_of(loop), ends[2], calls = 0;
  if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0) abort();
  csched_fd_source source;
  csched_fd_source_init(&source, ends[0], CSCHED_FD_READ, read_byte, &calls);
  CHECK_EQUAL(csched_loop_add_fd(loop, &source), 0);
  CHECK(!is_readable(fd));
  CHECK_EQUAL(write(ends[1], "xyz", 3), 3);
  CHECK(is_readable(fd));
  CHECK_EQUAL(csched_loop_run_ready(loop, 2), 2); // among the jobs, and counted as such
  CHECK_EQUAL(calls, 2);
  CHECK(is_readable(fd));
  CHECK_EQUAL(csched_loop_run_ready(loop, 9), 1);
  CHECK(!is_readable(fd));
  CHECK_EQUAL(write(ends[1], "x", 1), 1);
  CHECK_EQUAL(csched_loop_remove_fd(loop, &source), 0);
  CHECK(!is_readable(fd));
  CHECK_EQUAL(csched_loop_add_fd(loop, &source), 0);
  CHECK(is_readable(fd));
  csched_loop_close(loop, CSCHED_STOP_RUN);
  for (int i = 0; i < 2; i++) CHECK_EQUAL(csched_loop_run_ready(loop, 9), 0);
  CHECK(!is_readable(fd)); // a closed loop has no sources
  csched_loop_destroy(loop);
  close(ends[0]);
  close(ends[1]);
}

TEST("a loop in a host is readable for its sources, too") { host_of_sources(); }

// MARK: submitters against a host

typedef struct many {
  csched_loop *loop;
  probe *probes;
  int jobs;
  uint64_t seed;
  atomic_int ran;
  int last[CREW_MOST];
} many;

static void check_order(probe *probe) {
  many *many = probe->context;
  int submitter = probe->id / many->jobs, index = probe->id % many->jobs;
  CHECK_EQUAL(index, many->last[submitter]);
  many->last[submitter] = index + 1;
  atomic_fetch_add(&many->ran, 1);
}

static void submit_all(int submitter, void *context) {
  many *many = context;
  uint64_t seed = many->seed + (uint64_t)submitter;
  for (int i = 0; i < many->jobs; i++) {
    probe *probe = &many->probes[submitter * many->jobs + i];
    CHECK_EQUAL(csched_target_submit(csched_loop_target(many->loop), job_of(probe)), 0);
    if (chance_below(&seed, 8) == 0) burn(chance_below(&seed, 10 * US));
    if (chance_below(&seed, 4) == 0) // until it has run: the host falls asleep, and one wake lost is a hang
      WAIT_WHILE(atomic_load(&probe->releases) == 0);
  }
}

static void host_misses_nothing(int submitters, int jobs, uint64_t seed) {
  many many = {.loop = make_loop(), .jobs = jobs, .seed = seed};
  int total = submitters * jobs, fd = fd_of(many.loop);
  many.probes = calloc((size_t)total, sizeof *many.probes);
  for (int i = 0; i < total; i++) {
    probe_init(&many.probes[i], check_order, &many);
    many.probes[i].id = i;
  }
  crew crew;
  crew_start(&crew, submitters, submit_all, &many);
  while (atomic_load(&many.ran) < total) {
    await_readable(fd);
    csched_loop_run_ready(many.loop, chance_below(&seed, 2) == 0 ? SIZE_MAX : chance_below(&seed, 3));
  }
  crew_join(&crew);
  csched_loop_run_ready(many.loop, 1);
  CHECK(!is_readable(fd));
  csched_loop_destroy(many.loop);
  for (int i = 0; i < total; i++) CHECK_PROBE(&many.probes[i], 1, 0);
  free(many.probes);
}

TEST("a host that polls the loop misses nothing") { // LP1, LP2
  host_misses_nothing(1, times(30000), seed());
  host_misses_nothing(3, times(30000), seed());
}

// MARK: timers of a loop in a host

typedef struct clocks {
  csched_loop *loop;
  probe *probes;
  csched_time *deadlines;
  int count;
  uint64_t seed;
  atomic_int ran;
} clocks;

static void check_deadline(probe *probe) {
  clocks *clocks = probe->context;
  CHECK(probe->ran_at >= clocks->deadlines[probe->id]);
  atomic_fetch_add(&clocks->ran, 1);
}

static void submit_timers(int index, void *context) {
  clocks *clocks = context;
  (void)index;
  for (int i = 0; i < clocks->count; i++) {
    clocks->deadlines[i] = csched_now() + chance_below(&clocks->seed, 5 * MS);
    CHECK_EQUAL(
        csched_target_submit_at(csched_loop_target(clocks->loop), &clocks->probes[i].timer, clocks->deadlines[i], 0),
        0);
    if (i % 3 == 0) nap(chance_below(&clocks->seed, 200 * US));
  }
}

static void host_timers(int timers, uint64_t seed) {
  clocks clocks = {.loop = make_loop(), .count = timers, .seed = seed};
  clocks.probes = calloc((size_t)timers, sizeof *clocks.probes);
  clocks.deadlines = calloc((size_t)timers, sizeof *clocks.deadlines);
  for (int i = 0; i < timers; i++) {
    probe_init(&clocks.probes[i], check_deadline, &clocks);
    clocks.probes[i].id = i;
  }
  int fd = fd_of(clocks.loop);
  crew crew;
  crew_start(&crew, 1, submit_timers, &clocks);
  while (atomic_load(&clocks.ran) < timers) {
    await_readable(fd);
    csched_loop_run_ready(clocks.loop, SIZE_MAX);
  }
  crew_join(&crew);
  csched_loop_destroy(clocks.loop);
  for (int i = 0; i < timers; i++) CHECK_PROBE(&clocks.probes[i], 1, 0);
  free(clocks.deadlines);
  free(clocks.probes);
}

TEST("timers of a loop in a host are never early") { host_timers(times(1000), seed()); }

// MARK: a host that sleeps

typedef struct sleeper {
  atomic_uint thread;
  csched_loop *loop;
  atomic_int rounds;
} sleeper;

static void host_until_stopped(int index, void *context) {
  sleeper *sleeper = context;
  (void)index;
  csched_loop *loop = make_loop();
  sleeper->loop = loop;
  int fd = fd_of(loop);
  atomic_store(&sleeper->thread, ctest_thread_id());
  do {
    await_readable(fd);
    csched_loop_run_ready(loop, SIZE_MAX);
    atomic_fetch_add(&sleeper->rounds, 1);
  } while (csched_loop_run_until(loop, 0) != CSCHED_RUN_ENDED);
  csched_loop_destroy(loop);
}

static void host_idle(int milliseconds) {
  sleeper sleeper = {0};
  crew crew;
  crew_start(&crew, 1, host_until_stopped, &sleeper);
  CHECK_SOON(atomic_load(&sleeper.thread) != 0);
  probe job, timer;
  probe_init(&job, NULL, NULL);
  probe_init(&timer, NULL, NULL);
  CHECK_EQUAL(csched_target_submit(csched_loop_target(sleeper.loop), job_of(&job)), 0);
  CHECK_EQUAL(csched_target_submit_at(csched_loop_target(sleeper.loop), &timer.timer, csched_now() + 2 * MS, 0), 0);
  CHECK_SOON(atomic_load(&job.releases) == 1 && atomic_load(&timer.releases) == 1);
  uint32_t id = atomic_load(&sleeper.thread);
  CHECK_RESTS(id);
  int rounds = atomic_load(&sleeper.rounds);
  CHECK(rounds <= 6); // a job, a timer's coming and its time; and what falls between two of these
  int64_t switches = ctest_thread_switches(id), time = ctest_thread_processor_time(id);
  nap((csched_time)milliseconds * MS);
  CHECK_EQUAL(ctest_thread_switches(id) - switches, 0);
  CHECK_EQUAL(ctest_thread_processor_time(id) - time, 0);
  CHECK_EQUAL(atomic_load(&sleeper.rounds), rounds);
  csched_loop_end_run(sleeper.loop);
  crew_join(&crew);
}

TEST("a host does not wake up while the loop is idle") { host_idle(300); }

// MARK: no descriptors

static void host_without_descriptors(void) {
  csched_loop *loop = make_loop();
  struct rlimit before, limit;
  getrlimit(RLIMIT_NOFILE, &before);
  int first = dup(0); // the first that is free
  for (int room = 0; room < 3; room++) {
    limit = before;
    limit.rlim_cur = (rlim_t)(first + room);
    close(first);
    setrlimit(RLIMIT_NOFILE, &limit);
    int fd = -1, error = csched_loop_fd(loop, &fd);
    setrlimit(RLIMIT_NOFILE, &before);
    CHECK_EQUAL(error, EMFILE);
    CHECK_EQUAL(fd, -1);
    CHECK_EQUAL(dup(0), first); // no descriptor has leaked
  }
  close(first);
  probe probe;
  probe_init(&probe, NULL, NULL);
  CHECK_EQUAL(csched_target_submit(csched_loop_target(loop), job_of(&probe)), 0);
  CHECK(csched_loop_run_once(loop, CSCHED_FOREVER)); // the loop still works
  CHECK(fd_of(loop) >= 0);
  csched_loop_destroy(loop);
}

TEST("without descriptors there is no host, and the loop is unchanged") { host_without_descriptors(); }
