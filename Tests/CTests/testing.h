// Shared by the tests of the C core: their registration, checks, crews of threads, jobs that keep count, and journals
// of an order.
// Depends on: CTestSupport.h.
#pragma once

#define _GNU_SOURCE
#include <CTestSupport.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// MARK: tests

/// Tools, and systems, under which some tests make no sense.
enum {
  THREAD_SANITIZER = 1,
  ADDRESS_SANITIZER = 2,
  MEMORY_SANITIZER = 4,
  MEMCHECK = 8,
  HELGRIND = 16,
  DRD = 32,
  QEMU = 64,
  NO_PIDFD = 128, ///< no tool: an old kernel, or a filter of system calls, lacks pidfd_open
  SANITIZERS = THREAD_SANITIZER | ADDRESS_SANITIZER | MEMORY_SANITIZER,
  VALGRIND = MEMCHECK | HELGRIND | DRD,
};

/// One test, which runs on the main thread of a process of its own.
typedef struct test {
  const char *name, *file;
  int line;
  void (*body)(void);
  unsigned skipped_under;      ///< tools
  const char *why;             ///< it is skipped under them
  const char *const *messages; ///< the process must be stopped, and print each of these; NULL: it must end by itself
  struct test *next;
} test;

/// Adds a test to the list. Called before `main`.
void test_register(test *test);

/// Begins a test: `TEST("a trylock takes a free lock only") { … }`. The name is a sentence about behaviour, and unique.
#define TEST(text) TEST_(__LINE__, text, 0, NULL, NULL)
/// As TEST, but skipped under some tools, with the reason.
#define TEST_UNLESS(tools, reason, text) TEST_(__LINE__, text, tools, reason, NULL)
/// Begins a test whose process must be stopped, with a message that contains each of the strings.
#define TEST_STOPS(text, ...) TEST_(__LINE__, text, 0, NULL, ((const char *const[]){__VA_ARGS__, NULL}))
/// As TEST_STOPS, but skipped under some tools.
#define TEST_STOPS_UNLESS(tools, reason, text, ...)                                                                    \
  TEST_(__LINE__, text, tools, reason, ((const char *const[]){__VA_ARGS__, NULL}))
#define TEST_(at, ...) TEST__(at, __VA_ARGS__)
#define TEST__(at, text, tools, reason, says)                                                                          \
  static void test_body_##at(void);                                                                                    \
  __attribute__((constructor)) static void test_add_##at(void) {                                                       \
    static test self = {.name = text, .file = __FILE__, .line = at, .body = test_body_##at};                           \
    static const char *room[8];                                                                                        \
    self.skipped_under = tools;                                                                                        \
    self.why = reason;                                                                                                 \
    test_set_messages(&self, room, says);                                                                              \
    test_register(&self);                                                                                              \
  }                                                                                                                    \
  static void test_body_##at(void)
void test_set_messages(test *test, const char **room, const char *const *messages);

/// Returns: `count`, scaled by `--scale`; at least one, or `count` where that is less than `least`.
int times(int count);
int times_least(int count, int least);
/// Returns: an eighth of `count` under tools that follow each access, else `count`.
int few(int count);
/// Returns: the seed of `--seed`, or of the clock; the program prints it.
uint64_t seed(void);
/// Returns: whether one of these tools is at work.
bool is_under(unsigned tools);

// MARK: checks

/// Where a check stands.
typedef struct check_place {
  const char *file, *function;
  int line;
} check_place;
#define HERE ((check_place){__FILE__, __func__, __LINE__})

void test_fail(check_place here, const char *text);
void test_check_equal(check_place here, const char *text, int64_t found, int64_t expected);
#define CHECK(condition)             ((condition) ? (void)0 : test_fail(HERE, #condition))
#define CHECK_EQUAL(found, expected) test_check_equal(HERE, #found, (int64_t)(found), (int64_t)(expected))
/// Waits up to a minute for a condition that another thread makes true.
#define CHECK_SOON(condition)                                                                                          \
  do {                                                                                                                 \
    for (csched_time end_ = csched_now() + 60000 * MS; !(condition) && csched_now() < end_;) nap(50 * US);             \
    CHECK(condition);                                                                                                  \
  } while (0)
/// Waits until a thread without work sleeps. A wake that is still on its way comes first.
#define CHECK_RESTS(thread)                                                                                            \
  do {                                                                                                                 \
    nap(20 * MS);                                                                                                      \
    CHECK_SOON(ctest_thread_sleeps(thread));                                                                           \
  } while (0)

// MARK: time and chance

static const csched_time US = 1000, MS = 1000000;
void nap(csched_time span);

/// Waits while `condition` holds: yields at first; then it sleeps, because beside busy threads a yield takes some
/// milliseconds.
#define WAIT_WHILE(condition)                                                                                          \
  for (csched_time since_ = 0; condition;) give_way_(&since_)
void give_way_(csched_time *since);
void burn(csched_time span); ///< keeps the processor busy
uint64_t chance(uint64_t *state);
static inline uint64_t chance_below(uint64_t *state, uint64_t bound) { return chance(state) % bound; }

// MARK: threads

enum { CREW_MOST = 128 };
typedef void crew_body(int index, void *context);
typedef struct crew {
  pthread_t threads[CREW_MOST];
  int count;
  crew_body *body;
  void *context;
  atomic_int next, ready;
} crew;
/// Starts `count` threads, which begin together.
void crew_start(crew *crew, int count, crew_body *body, void *context);
void crew_join(crew *crew);
void crew_run(int count, crew_body *body, void *context);

// MARK: jobs that keep count

typedef struct probe probe;
struct probe {
  csched_timer timer; // first: a probe is its timer is its job
  void (*body)(probe *);
  void (*on_drop)(probe *);
  void *context;
  int id;
  uint32_t thread; ///< that ran it last
  csched_time ran_at;
  atomic_int runs, drops, releases, is_dropping;
};
extern const csched_job_type probe_type;
void probe_init(probe *probe, void (*body)(struct probe *), void *context);
static inline csched_job *job_of(probe *probe) { return &probe->timer.job; }
/// Checks that the probe was run (or else dropped) so many times, and released once.
void probe_check_(check_place here, probe *probe, int runs, int drops);
#define CHECK_PROBE(probe, runs, drops) probe_check_(HERE, probe, runs, drops)

/// A job that keeps a thread busy until it is opened.
typedef struct gate {
  probe probe;
  atomic_int reached, open;
} gate;
void gate_close(gate *gate, csched_thread *thread); ///< returns when the thread stands before it
void gate_open(gate *gate);

int fd_of(csched_loop *loop); ///< its descriptor; -1: the system has none to give
csched_thread *start_thread(const char *name);
void stop_and_join(csched_thread *thread, csched_stop_policy policy); ///< and destroys
void wait_until_run(csched_thread *thread);                           ///< returns when all earlier submissions have run

// MARK: journals

typedef struct journal {
  atomic_int count;
  int ids[64];
} journal;
void journal_add(journal *journal, int id);
void journal_check_(check_place here, const journal *journal, const char *expected);
#define CHECK_JOURNAL(journal, expected) journal_check_(HERE, journal, expected)
void note(probe *probe); ///< a body: adds the probe's id to the journal that is its context
