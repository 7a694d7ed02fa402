#include "testing.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

// Sources under load: on a thread's loop, or many of them.

typedef struct ticker {
  csched_fd_source source;
  int ends[2];
  atomic_int calls;
} ticker;

static void count_and_read(csched_fd_source *source, unsigned events) {
  ticker *ticker = source->context;
  char bytes[64];
  CHECK_EQUAL(events, CSCHED_FD_READ);
  while (read(source->fd, bytes, sizeof bytes) > 0) {}
  atomic_fetch_add(&ticker->calls, 1);
}

static void count_only(csched_fd_source *source, unsigned events) {
  (void)events;
  atomic_fetch_add(&((ticker *)source->context)->calls, 1);
}

static void ticker_open(ticker *ticker, void (*handler)(csched_fd_source *, unsigned)) {
  if (pipe2(ticker->ends, O_NONBLOCK | O_CLOEXEC) != 0) abort();
  atomic_init(&ticker->calls, 0);
  csched_fd_source_init(&ticker->source, ticker->ends[0], CSCHED_FD_READ, handler, ticker);
}

static void ticker_close(ticker *ticker) {
  close(ticker->ends[0]);
  close(ticker->ends[1]);
}

static void tick(ticker *ticker) { CHECK_EQUAL(write(ticker->ends[1], "x", 1), 1); }

static void add_ticker(probe *probe) {
  CHECK_EQUAL(csched_loop_add_fd(csched_loop_current(), &((ticker *)probe->context)->source), 0);
}
static void remove_ticker(probe *probe) {
  CHECK_EQUAL(csched_loop_remove_fd(csched_loop_current(), &((ticker *)probe->context)->source), 0);
}

static uint32_t run_on(csched_thread *thread, void (*body)(probe *), void *context) {
  probe probe;
  probe_init(&probe, body, context);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&probe)), 0);
  CHECK_SOON(atomic_load(&probe.releases) == 1);
  return probe.thread;
}

static void fd_many(int count, uint64_t seed) {
  struct rlimit before, limit;
  getrlimit(RLIMIT_NOFILE, &before);
  limit = before;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  csched_thread *thread = start_thread("many");
  ticker *tickers = calloc((size_t)count, sizeof *tickers);
  for (int i = 0; i < count; i++) {
    ticker_open(&tickers[i], count_and_read);
    run_on(thread, add_ticker, &tickers[i]);
  }
  for (int round = 1; round <= 3; round++) {
    for (int i = 0; i < count; i++) tick(&tickers[i]);
    for (int i = 0; i < count; i++) CHECK_SOON(atomic_load(&tickers[i].calls) >= round);
  }
  for (int i = 0; i < count; i++) { // half of them leave
    if (chance_below(&seed, 2) == 0) continue;
    run_on(thread, remove_ticker, &tickers[i]);
    tick(&tickers[i]);
    atomic_store(&tickers[i].calls, -1);
  }
  for (int i = 0; i < count; i++)
    if (atomic_load(&tickers[i].calls) >= 0) tick(&tickers[i]);
  for (int i = 0; i < count; i++) CHECK_SOON(atomic_load(&tickers[i].calls) < 0 || atomic_load(&tickers[i].calls) > 3);
  stop_and_join(thread, CSCHED_STOP_RUN);
  for (int i = 0; i < count; i++) {
    CHECK(atomic_load(&tickers[i].calls) != 0);
    ticker_close(&tickers[i]);
  }
  free(tickers);
  setrlimit(RLIMIT_NOFILE, &before);
}

// FD2, FD3
TEST("a thousand sources") { fd_many(is_under(VALGRIND | QEMU) ? 50 : 1000, seed()); }

static void exit_here(csched_fd_source *source, unsigned events) {
  (void)events;
  atomic_fetch_add(&((ticker *)source->context)->calls, 1);
  pthread_exit(NULL);
}

static void fd_thread_exits_inside(void) {
  csched_thread *thread = start_thread("fd-exits");
  ticker first, second;
  ticker_open(&first, exit_here);
  ticker_open(&second, exit_here);
  run_on(thread, add_ticker, &first);
  run_on(thread, add_ticker, &second);
  tick(&first);
  tick(&second);
  CHECK_EQUAL(csched_thread_join(thread), 0);
  CHECK_EQUAL(atomic_load(&first.calls) + atomic_load(&second.calls), 1);
  stop_and_join(thread, CSCHED_STOP_RUN);
  csched_loop *loop = NULL; // both have been removed
  CHECK_EQUAL(csched_loop_create(&loop), 0);
  CHECK_EQUAL(csched_loop_add_fd(loop, &first.source), 0);
  CHECK_EQUAL(csched_loop_add_fd(loop, &second.source), 0);
  csched_loop_destroy(loop);
  ticker_close(&first);
  ticker_close(&second);
}

TEST("a thread that ends in a handler has removed its sources") { fd_thread_exits_inside(); }

// MARK: fairness

typedef struct load {
  csched_loop *loop;
  probe job, timer;
  ticker always;
} load;

static void job_again(probe *probe) {
  load *load = probe->context;
  CHECK_EQUAL(csched_target_submit(csched_loop_target(load->loop), job_of(probe)), 0);
}
static void timer_again(probe *probe) {
  load *load = probe->context;
  CHECK_EQUAL(csched_target_submit_at(csched_loop_target(load->loop), &probe->timer, csched_now() + 1, 0), 0);
}

// Each kind of work fills the processor, alone or with each of the others. The thread's processor time bounds the test.
static void fd_fair(int milliseconds) {
  for (int kinds = 1; kinds < 4; kinds++) {
    load load = {0};
    if (csched_loop_create(&load.loop) != 0) abort();
    probe_init(&load.job, job_again, &load);
    probe_init(&load.timer, timer_again, &load);
    ticker_open(&load.always, count_only);
    tick(&load.always);
    CHECK_EQUAL(csched_loop_add_fd(load.loop, &load.always.source), 0);
    if (kinds & 1) CHECK_EQUAL(csched_target_submit(csched_loop_target(load.loop), job_of(&load.job)), 0);
    if (kinds & 2)
      CHECK_EQUAL(csched_target_submit_at(csched_loop_target(load.loop), &load.timer.timer, csched_now() + 1, 0), 0);
    int64_t before = ctest_thread_processor_time(ctest_thread_id());
    while (ctest_thread_processor_time(ctest_thread_id()) - before < (int64_t)((csched_time)milliseconds * MS))
      csched_loop_run_until(load.loop, csched_now() + 10 * MS);
    CHECK(atomic_load(&load.always.calls) > 20);
    if (kinds & 1) CHECK(atomic_load(&load.job.runs) > 20);
    if (kinds & 2) CHECK(atomic_load(&load.timer.runs) > 20);
    csched_loop_destroy(load.loop);
    ticker_close(&load.always);
  }
}

// FD5
TEST("jobs, timers and sources do not starve each other") { fd_fair(100); }

// MARK: sleeping

static void fd_idle(int milliseconds) {
  csched_thread *thread = start_thread("fd-idle");
  ticker ticker;
  ticker_open(&ticker, count_and_read);
  probe never, soon;
  probe_init(&never, NULL, NULL);
  probe_init(&soon, NULL, NULL);
  uint32_t id = run_on(thread, add_ticker, &ticker);
  CHECK_EQUAL(csched_target_submit_at(csched_thread_target(thread), &never.timer, csched_now() + 3600000 * MS, 0), 0);
  CHECK_EQUAL(csched_target_submit_at(csched_thread_target(thread), &soon.timer, csched_now() + 2 * MS, 0), 0);
  CHECK_SOON(atomic_load(&soon.releases) == 1);
  tick(&ticker);
  CHECK_SOON(atomic_load(&ticker.calls) == 1);
  CHECK_RESTS(id);
  int64_t switches = ctest_thread_switches(id), time = ctest_thread_processor_time(id);
  nap((csched_time)milliseconds * MS);
  CHECK_EQUAL(ctest_thread_switches(id) - switches, 0);
  CHECK_EQUAL(ctest_thread_processor_time(id) - time, 0);
  stop_and_join(thread, CSCHED_STOP_RUN);
  CHECK_PROBE(&never, 0, 1);
  ticker_close(&ticker);
}

// FD2
TEST("a loop with sources does not wake up while idle") { fd_idle(300); }

static void fd_wakes(int rounds, uint64_t seed) {
  csched_thread *thread = start_thread("fd-wakes");
  ticker ticker;
  ticker_open(&ticker, count_and_read);
  probe first;
  probe_init(&first, NULL, NULL);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&first)), 0);
  run_on(thread, add_ticker, &ticker);
  for (int i = 0; i < rounds; i++) { // now a job, now a byte, now both; at any moment of its falling asleep
    uint64_t what = 1 + chance_below(&seed, 3);
    int calls = atomic_load(&ticker.calls);
    probe probe;
    probe_init(&probe, NULL, NULL);
    if (what & 1) tick(&ticker);
    if (what & 2) CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&probe)), 0);
    WAIT_WHILE((what & 1) && atomic_load(&ticker.calls) == calls);
    WAIT_WHILE((what & 2) && atomic_load(&probe.releases) == 0);
    burn(chance_below(&seed, 20 * US));
  }
  stop_and_join(thread, CSCHED_STOP_RUN);
  ticker_close(&ticker);
}

// FD1, FD2
TEST("a submission wakes a loop that sleeps on its poller") { fd_wakes(times(20000), seed()); }

static void check_not_early(probe *probe) { CHECK(probe->ran_at >= *(csched_time *)probe->context); }

static void fd_timers(int timers, uint64_t seed) {
  csched_thread *thread = start_thread("fd-timers");
  ticker ticker;
  ticker_open(&ticker, count_and_read);
  run_on(thread, add_ticker, &ticker);
  probe *probes = calloc((size_t)timers, sizeof *probes);
  csched_time *deadlines = calloc((size_t)timers, sizeof *deadlines);
  for (int i = 0; i < timers; i++) {
    probe_init(&probes[i], check_not_early, &deadlines[i]);
    deadlines[i] = csched_now() + chance_below(&seed, 5 * MS);
    CHECK_EQUAL(csched_target_submit_at(csched_thread_target(thread), &probes[i].timer, deadlines[i], 0), 0);
    if (chance_below(&seed, 4) == 0) tick(&ticker);
    nap(chance_below(&seed, 100 * US));
  }
  for (int i = 0; i < timers; i++) CHECK_SOON(atomic_load(&probes[i].releases) == 1);
  stop_and_join(thread, CSCHED_STOP_RUN);
  for (int i = 0; i < timers; i++) CHECK_PROBE(&probes[i], 1, 0);
  free(deadlines);
  free(probes);
  ticker_close(&ticker);
}

// FD2
TEST("timers of a loop with sources are never early") { fd_timers(times(1000), seed()); }
