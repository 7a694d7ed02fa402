#include "testing.h"

#include "../../Sources/CScheduler/job/mpsc.h"

#include <semaphore.h>
#include <time.h>

typedef struct item {
  csched_job job; // first
  int producer, number;
} item;

static const csched_job_type no_type = {0};

static item *make_items(int producers, int jobs) {
  item *items = calloc((size_t)(producers * jobs), sizeof *items);
  for (int i = 0; i < producers * jobs; i++) {
    csched_job_init(&items[i].job, &no_type, NULL);
    items[i].producer = i / jobs;
    items[i].number = i % jobs;
  }
  return items;
}

// The consumer's side: each producer's items come once and in order.
typedef struct tally {
  int next[CREW_MOST];
  int64_t count;
} tally;

static bool take_one(csched_mpsc *queue, tally *tally) {
  item *item = (struct item *)csched_mpsc_pop(queue);
  if (item == NULL) return false;
  CHECK_EQUAL(item->number, tally->next[item->producer]);
  tally->next[item->producer] = item->number + 1;
  tally->count++;
  return true;
}

static bool wait_for(sem_t *semaphore) { // false when no wake came for long
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 10;
  while (sem_timedwait(semaphore, &until) != 0)
    if (errno == ETIMEDOUT) return false;
  return true;
}

// MARK: order

typedef struct pushing {
  csched_mpsc queue;
  item *items;
  int jobs;
  uint64_t seed;
  atomic_int done, wakes_owed;
  atomic_int accepted[CREW_MOST];
  sem_t wake;
} pushing;

static void owe(pushing *test, bool is_owed) {
  if (!is_owed) return;
  atomic_fetch_add(&test->wakes_owed, 1);
  sem_post(&test->wake);
}

static void push_all(int index, void *context) {
  pushing *test = context;
  for (int i = 0; i < test->jobs; i++)
    CHECK_EQUAL(csched_mpsc_push(&test->queue, &test->items[index * test->jobs + i].job), CSCHED_PUSHED);
}

static void mpsc_order(int producers, int jobs) {
  pushing test = {.items = make_items(producers, jobs), .jobs = jobs};
  tally tally = {0};
  crew crew;
  csched_mpsc_init(&test.queue);
  CHECK(csched_mpsc_is_empty(&test.queue));
  crew_start(&crew, producers, push_all, &test);
  while (tally.count < (int64_t)producers * jobs)
    if (!take_one(&test.queue, &tally)) sched_yield();
  crew_join(&crew);
  CHECK(!take_one(&test.queue, &tally));
  CHECK(csched_mpsc_is_empty(&test.queue));
  free(test.items);
}

TEST("every job once, each producer in order") { // Q1
  mpsc_order(1, times(200000));
  mpsc_order(4, times(200000));
}

// MARK: park and wake

static void push_and_notify(int index, void *context) {
  pushing *test = context;
  uint64_t seed = test->seed + (uint64_t)index;
  for (int i = 0; i < test->jobs; i++) {
    csched_push_result result = csched_mpsc_push(&test->queue, &test->items[index * test->jobs + i].job);
    CHECK(result != CSCHED_PUSH_CLOSED);
    owe(test, result == CSCHED_PUSHED_WAKE);
    if (chance_below(&seed, 4) == 0) owe(test, csched_mpsc_notify(&test->queue));
    if (chance_below(&seed, 8) == 0) burn(chance_below(&seed, 5 * US));
  }
  atomic_fetch_add(&test->done, 1);
}

static void mpsc_one_wake_for_a_park(int producers, int jobs, uint64_t seed) {
  pushing test = {.items = make_items(producers, jobs), .jobs = jobs, .seed = seed};
  tally tally = {0};
  int parks = 0, taken_back = 0;
  crew crew;
  sem_init(&test.wake, 0, 0);
  csched_mpsc_init(&test.queue);
  crew_start(&crew, producers, push_and_notify, &test);
  while (tally.count < (int64_t)producers * jobs) {
    while (take_one(&test.queue, &tally)) {}
    if (tally.count == (int64_t)producers * jobs || !csched_mpsc_park(&test.queue)) continue;
    parks++;
    bool takes_back = chance_below(&seed, 4) == 0;
    if (takes_back && csched_mpsc_unpark(&test.queue)) {
      taken_back++;
      continue;
    }
    bool is_woken = wait_for(&test.wake); // only the push or notify that ended the park posts
    CHECK(is_woken);
    if (!is_woken) break;
    CHECK(!csched_mpsc_unpark(&test.queue));
  }
  crew_join(&crew);
  if (csched_mpsc_park(&test.queue)) { // the close that finds it parked owes a wake, the second one does not
    parks++;
    owe(&test, csched_mpsc_close(&test.queue));
    CHECK(!csched_mpsc_close(&test.queue));
    CHECK(wait_for(&test.wake));
    CHECK(!csched_mpsc_unpark(&test.queue));
  }
  CHECK_EQUAL(atomic_load(&test.wakes_owed), parks - taken_back);
  int left;
  sem_getvalue(&test.wake, &left);
  CHECK_EQUAL(left, 0);
  sem_destroy(&test.wake);
  free(test.items);
}

TEST("exactly one wake for a park") { // Q3, Q4
  mpsc_one_wake_for_a_park(1, times(50000), seed());
  mpsc_one_wake_for_a_park(4, times(50000), seed());
}

typedef struct notifying {
  csched_mpsc queue;
  sem_t wake;
  int rounds;
  uint64_t seed;
  uint32_t written; // relaxed: only the notify and the park order it
  atomic_int seen;
} notifying;

static void write_and_notify(int index, void *context) {
  notifying *test = context;
  uint64_t seed = test->seed + 1 + (uint64_t)index;
  for (int round = 1; round <= test->rounds; round++) {
    while (atomic_load(&test->seen) < round - 1) CSCHED_CPU_RELAX();
    for (uint64_t pauses = chance_below(&seed, 16); pauses > 0; pauses--) CSCHED_CPU_RELAX();
    csched_store_relaxed(&test->written, (uint32_t)round);
    if (csched_mpsc_notify(&test->queue)) sem_post(&test->wake);
  }
}

static void mpsc_notify_is_seen(int rounds, uint64_t seed) {
  notifying test = {.rounds = rounds, .seed = seed};
  crew crew;
  sem_init(&test.wake, 0, 0);
  csched_mpsc_init(&test.queue);
  crew_start(&crew, 1, write_and_notify, &test);
  for (int round = 1; round <= rounds; round++) {
    for (uint64_t pauses = chance_below(&seed, 24); pauses > 0; pauses--) CSCHED_CPU_RELAX();
    while (csched_load_relaxed(&test.written) < (uint32_t)round) {
      if (!csched_mpsc_park(&test.queue)) continue;
      bool is_written = csched_load_relaxed(&test.written) >= (uint32_t)round;
      if (is_written && csched_mpsc_unpark(&test.queue)) break;
      bool is_woken = wait_for(&test.wake); // not written at the check: the later notify finds the park
      CHECK(is_woken);
      if (!is_woken) abort();
    }
    atomic_store(&test.seen, round);
  }
  crew_join(&crew);
  sem_destroy(&test.wake);
}

// Q5
TEST("a notify is seen after a park") { mpsc_notify_is_seen(times(200000), seed()); }

// MARK: close

static void push_until_refused(int index, void *context) {
  pushing *test = context;
  for (int i = 0; i < test->jobs; i++) {
    csched_job *job = &test->items[index * test->jobs + i].job;
    csched_push_result result = csched_mpsc_push(&test->queue, job);
    if (result == CSCHED_PUSH_CLOSED) {
      CHECK_EQUAL(csched_mpsc_push(&test->queue, job), CSCHED_PUSH_CLOSED); // closed is for ever
      return;
    }
    owe(test, result == CSCHED_PUSHED_WAKE);
    atomic_fetch_add(&test->accepted[index], 1);
  }
}

static void close_it(int index, void *context) {
  pushing *test = context;
  uint64_t seed = test->seed + (uint64_t)index;
  burn(chance_below(&seed, 30 * US));
  owe(test, csched_mpsc_close(&test->queue));
  CHECK(csched_mpsc_is_closed(&test->queue));
}

static void push_or_close(int index, void *context) {
  if (index < 2) close_it(index, context);
  else push_until_refused(index - 2, context);
}

static void mpsc_close_races_push(int producers, int rounds, uint64_t seed) {
  for (int round = 0; round < rounds; round++) {
    pushing test = {.items = make_items(producers, 200), .jobs = 200, .seed = seed + 2 * (uint64_t)round};
    tally tally = {0};
    crew crew;
    sem_init(&test.wake, 0, 0);
    csched_mpsc_init(&test.queue);
    crew_start(&crew, producers + 2, push_or_close, &test);
    int64_t accepted = 0;
    for (;;) {
      if (take_one(&test.queue, &tally)) continue;
      if (csched_mpsc_is_closed(&test.queue) && !take_one(&test.queue, &tally)) break;
      if (csched_mpsc_park(&test.queue)) {
        CHECK(wait_for(&test.wake));
        csched_mpsc_unpark(&test.queue);
      }
    }
    crew_join(&crew);
    CHECK(!take_one(&test.queue, &tally)); // nothing was accepted after the close
    for (int i = 0; i < producers; i++) accepted += atomic_load(&test.accepted[i]);
    CHECK_EQUAL(tally.count, accepted);
    sem_destroy(&test.wake);
    free(test.items);
  }
}

// Q1, Q3, Q6
TEST("a push after close is refused") { mpsc_close_races_push(3, times(400), seed()); }

// MARK: one thread, each state

static void mpsc_states(void) {
  csched_mpsc queue;
  tally tally = {0};
  item *items = make_items(1, 4);
  csched_mpsc_init(&queue);
  CHECK(!csched_mpsc_notify(&queue)); // awake: no wake is owed
  CHECK(csched_mpsc_park(&queue));
  CHECK(csched_mpsc_is_empty(&queue)); // parked is empty
  CHECK(csched_mpsc_peek(&queue) == NULL);
  CHECK(csched_mpsc_unpark(&queue));
  CHECK(!csched_mpsc_unpark(&queue));
  CHECK(csched_mpsc_park(&queue));
  CHECK(csched_mpsc_notify(&queue));
  CHECK(!csched_mpsc_notify(&queue));
  CHECK(!csched_mpsc_unpark(&queue));
  CHECK(csched_mpsc_park(&queue));
  CHECK_EQUAL(csched_mpsc_push(&queue, &items[0].job), CSCHED_PUSHED_WAKE);
  CHECK_EQUAL(csched_mpsc_push(&queue, &items[1].job), CSCHED_PUSHED);
  CHECK(!csched_mpsc_is_empty(&queue));
  for (int i = 0; i < 2; i++) CHECK(csched_mpsc_peek(&queue) == &items[0].job); // which stays
  CHECK(!csched_mpsc_park(&queue));                                             // something to take
  CHECK(take_one(&queue, &tally));
  CHECK(!csched_mpsc_park(&queue)); // in the consumer's own list
  CHECK_EQUAL(csched_mpsc_push(&queue, &items[2].job), CSCHED_PUSHED);
  CHECK(!csched_mpsc_close(&queue));
  CHECK(csched_mpsc_is_closed(&queue));
  CHECK_EQUAL(csched_mpsc_push(&queue, &items[3].job), CSCHED_PUSH_CLOSED);
  CHECK(!csched_mpsc_is_empty(&queue)); // the earlier pushes can be popped
  CHECK(take_one(&queue, &tally) && take_one(&queue, &tally) && !take_one(&queue, &tally));
  CHECK(csched_mpsc_is_empty(&queue));
  CHECK(!csched_mpsc_park(&queue)); // closed: no sleep
  CHECK(!csched_mpsc_notify(&queue));
  free(items);
}

// Q3, Q4, Q6
TEST("each state answers as it should, and parked is empty") { mpsc_states(); }
