#include "fork_testing.h"
#include "testing.h"

#include <time.h>

void test_fail(check_place here, const char *text) {
  char message[1024];
  snprintf(message, sizeof message, "%s:%d: %s: %s", here.file, here.line, here.function, text);
  ctest_fail(message);
}

void child_check_(check_place here, void (*body)(void *), void *context, int status, const char *says) {
  ctest_finding found = ctest_in_child(body, context, status, says);
  if (found != NULL) test_fail(here, found);
}

void test_check_equal(check_place here, const char *text, int64_t found, int64_t expected) {
  if (found == expected) return;
  char message[256];
  snprintf(message, sizeof message, "%s is %lld, not %lld", text, (long long)found, (long long)expected);
  test_fail(here, message);
}

TEST("a failed check stops nothing, and the first one is reported") {
  int line = __LINE__ + 1;
  CHECK_EQUAL(1 + 1, 3);
  CHECK(line == 0);
  char expected[64];
  snprintf(expected, sizeof expected, "testing.c:%d: ", line);
  bool is_right =
      ctest_found() != NULL && strstr(ctest_found(), expected) != NULL && strstr(ctest_found(), "1 + 1 is 2, not 3");
  ctest_forget();
  CHECK(is_right);
}

// MARK: time and chance

void nap(csched_time span) {
  struct timespec left = {.tv_sec = (time_t)(span / 1000000000), .tv_nsec = (long)(span % 1000000000)};
  while (nanosleep(&left, &left) != 0) {}
}

void give_way_(csched_time *since) {
  csched_time now = csched_now();
  if (*since == 0) *since = now;
  if (now - *since < 200 * US) sched_yield();
  else nap(20 * US);
}

void burn(csched_time span) {
  if (span == 0) return;
  for (csched_time end = csched_now() + span; csched_now() < end;) {}
}

uint64_t chance(uint64_t *state) { // SplitMix64
  uint64_t z = (*state += 0x9E3779B97F4A7C15);
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
  z = (z ^ z >> 27) * 0x94D049BB133111EB;
  return z ^ z >> 31;
}

// MARK: threads

static void *crew_main(void *argument) {
  crew *crew = argument;
  int index = atomic_fetch_add(&crew->next, 1);
  atomic_fetch_add(&crew->ready, 1);
  WAIT_WHILE(atomic_load(&crew->ready) < crew->count);
  crew->body(index, crew->context);
  return NULL;
}

void crew_start(crew *crew, int count, crew_body *body, void *context) {
  if (count > CREW_MOST) abort();
  crew->count = count;
  crew->body = body;
  crew->context = context;
  atomic_init(&crew->next, 0);
  atomic_init(&crew->ready, 0);
  for (int i = 0; i < count; i++)
    if (pthread_create(&crew->threads[i], NULL, crew_main, crew) != 0) abort();
}

void crew_join(crew *crew) {
  for (int i = 0; i < crew->count; i++) pthread_join(crew->threads[i], NULL);
}

void crew_run(int count, crew_body *body, void *context) {
  crew crew;
  crew_start(&crew, count, body, context);
  crew_join(&crew);
}

// MARK: jobs that keep count

static void probe_run(csched_job *job) {
  probe *probe = (struct probe *)job;
  probe->thread = ctest_thread_id();
  probe->ran_at = csched_now();
  atomic_fetch_add(&probe->runs, 1); // before the body, which may free the probe
  if (probe->body != NULL) probe->body(probe);
}

static void probe_drop(csched_job *job) {
  probe *probe = (struct probe *)job;
  atomic_store(&probe->is_dropping, 1);
  if (probe->on_drop != NULL) probe->on_drop(probe);
  atomic_fetch_add(&probe->drops, 1);
  atomic_store(&probe->is_dropping, 0);
}

static void probe_release(csched_job *job) {
  probe *probe = (struct probe *)job;
  CHECK_EQUAL(atomic_load(&probe->is_dropping), 0);                       // release follows the end of drop
  CHECK(atomic_load(&probe->runs) > 0 || atomic_load(&probe->drops) > 0); // and never comes alone
  atomic_fetch_add(&probe->releases, 1);
}

const csched_job_type probe_type = {probe_run, probe_drop, probe_release};

void probe_init(probe *probe, void (*body)(struct probe *), void *context) {
  memset(probe, 0, sizeof *probe);
  csched_job_init(job_of(probe), &probe_type, context);
  probe->body = body;
  probe->context = context;
}

void probe_check_(check_place here, probe *probe, int runs, int drops) {
  test_check_equal(here, "runs", atomic_load(&probe->runs), runs);
  test_check_equal(here, "drops", atomic_load(&probe->drops), drops);
  test_check_equal(here, "releases", atomic_load(&probe->releases), 1);
}

static void stand_at_gate(probe *probe) {
  gate *gate = probe->context;
  atomic_store(&gate->reached, 1);
  while (!atomic_load(&gate->open)) nap(20 * US);
}

void gate_close(gate *gate, csched_thread *thread) {
  probe_init(&gate->probe, stand_at_gate, gate);
  atomic_init(&gate->reached, 0);
  atomic_init(&gate->open, 0);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&gate->probe)), 0);
  CHECK_SOON(atomic_load(&gate->reached));
}

void gate_open(gate *gate) {
  atomic_store(&gate->open, 1);
  CHECK_SOON(atomic_load(&gate->probe.releases) == 1);
}

int fd_of(csched_loop *loop) {
  int fd = -1;
  return csched_loop_fd(loop, &fd) == 0 ? fd : -1;
}

csched_thread *start_thread(const char *name) {
  csched_thread *thread = NULL;
  csched_thread_options options = {.name = name};
  if (csched_thread_start(&thread, &options) != 0) abort();
  return thread;
}

void stop_and_join(csched_thread *thread, csched_stop_policy policy) {
  csched_thread_stop(thread, policy);
  CHECK_EQUAL(csched_thread_join(thread), 0);
  csched_thread_destroy(thread);
}

void wait_until_run(csched_thread *thread) {
  probe last;
  probe_init(&last, NULL, NULL);
  CHECK_EQUAL(csched_target_submit(csched_thread_target(thread), job_of(&last)), 0);
  while (atomic_load(&last.releases) == 0) nap(20 * US);
}

// MARK: journals

void journal_add(journal *journal, int id) {
  int at = atomic_fetch_add(&journal->count, 1);
  if (at < (int)(sizeof journal->ids / sizeof journal->ids[0])) journal->ids[at] = id;
}

void journal_check_(check_place here, const journal *journal, const char *expected) {
  char found[256] = "", message[600];
  size_t length = 0;
  for (int i = 0; i < atomic_load(&journal->count) && length < sizeof found - 16; i++)
    length += (size_t)snprintf(found + length, sizeof found - length, i == 0 ? "%d" : ",%d", journal->ids[i]);
  if (strcmp(found, expected) == 0) return;
  snprintf(message, sizeof message, "the order is %s, not %s", found, expected);
  test_fail(here, message);
}

void note(probe *probe) { journal_add(probe->context, probe->id); }
