// All that is to be said of virtual time in C, on helpers of its own.

#include "fork_testing.h"

#include <setjmp.h>
#include <time.h>

static csched_virtual *timeline;

static csched_target *line(void) { return csched_virtual_target(timeline); }

static void begin(csched_time start, size_t limit) { CHECK_EQUAL(csched_virtual_create(&timeline, start, limit), 0); }

static void at(probe *probe, csched_time deadline) { csched_target_submit_at(line(), &probe->timer, deadline, 0); }

static void soon(probe *probe) { csched_target_submit(line(), job_of(probe)); }

static void *run_here(void *unused) {
  (void)unused;
  csched_virtual_run(timeline);
  return NULL;
}

static journal order;

static void mark(probe *probe) {
  CHECK(csched_target_is_inside(line()));
  journal_add(&order, probe->id);
}

static void prepare(probe *probes, int count, void (*body)(probe *)) {
  memset(&order, 0, sizeof order);
  for (int i = 0; i < count; i++) {
    probe_init(&probes[i], body, NULL);
    probes[i].id = i;
  }
}

// MARK: order

typedef struct entry {
  probe probe;
  csched_time tick;
  bool is_cancelled;
} entry;

static struct {
  entry *entries;
  int count, *found, found_count;
  bool is_broken;
} sort;

static void note_entry(probe *probe) {
  entry *entry = (struct entry *)probe;
  if (csched_virtual_now(timeline) != entry->tick) sort.is_broken = true;
  sort.found[sort.found_count++] = probe->id;
}

static int compare(const void *a, const void *b) {
  const entry *left = &sort.entries[*(const int *)a], *right = &sort.entries[*(const int *)b];
  if (left->tick != right->tick) return left->tick < right->tick ? -1 : 1;
  return left->probe.id - right->probe.id;
}

// A past deadline means now. Plain jobs are submitted as well.
static void submit_any(entry *entry, uint64_t *seed, csched_time start, csched_time span) {
  csched_time deadline = start - 5 + chance_below(seed, span);
  entry->tick = deadline > start ? deadline : start;
  if (chance_below(seed, 10) == 0) {
    entry->tick = start;
    soon(&entry->probe);
  } else at(&entry->probe, deadline);
}

static void virtual_order(int count, csched_time span, uint64_t seed) {
  const csched_time start = 1000;
  begin(start, 0);
  int *expected = calloc((size_t)count, sizeof *expected), live = 0;
  sort.entries = calloc((size_t)count, sizeof *sort.entries);
  sort.found = calloc((size_t)count, sizeof *sort.found);
  sort.count = count, sort.found_count = 0, sort.is_broken = false;
  for (int i = 0; i < count; i++) {
    probe_init(&sort.entries[i].probe, note_entry, NULL);
    sort.entries[i].probe.id = i;
    submit_any(&sort.entries[i], &seed, start, span);
  }
  for (int i = 0; i < count; i++) {
    entry *each = &sort.entries[i];
    each->is_cancelled = chance_below(&seed, 3) == 0;
    if (each->is_cancelled) CHECK_EQUAL(csched_timer_cancel(&each->probe.timer), CSCHED_CANCEL_DROPPED);
    else expected[live++] = i;
  }
  CHECK_EQUAL(csched_virtual_pending(timeline), live);
  qsort(expected, (size_t)live, sizeof *expected, compare);
  csched_virtual_advance(timeline, span / 3);
  csched_virtual_step(timeline, (csched_time)count / 10);
  csched_virtual_run(timeline);
  CHECK(!sort.is_broken);
  CHECK_EQUAL(sort.found_count, live);
  CHECK_EQUAL(memcmp(sort.found, expected, sizeof *expected * (size_t)live), 0);
  CHECK_EQUAL(csched_virtual_pending(timeline), 0);
  for (int i = 0; i < count; i++)
    CHECK_PROBE(&sort.entries[i].probe, !sort.entries[i].is_cancelled, sort.entries[i].is_cancelled);
  csched_virtual_destroy(timeline);
  free(sort.entries), free(sort.found), free(expected);
}

static long long last_tick, late, ran;
static void count_late(csched_job *job) {
  csched_timer *timer = (csched_timer *)job;
  late += csched_virtual_now(timeline) != timer->deadline || (long long)timer->deadline < last_tick;
  last_tick = (long long)timer->deadline;
  ran++;
}
static void drop_nothing(csched_job *job) { (void)job; }
static const csched_job_type counting = {count_late, drop_nothing, NULL};

// That this thread has had.
static double processor_seconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void virtual_million(int count, uint64_t seed) {
  const csched_time year = 365ull * 24 * 3600 * 1000000000;
  csched_timer *timers = calloc((size_t)count, sizeof *timers);
  begin(0, (size_t)count);
  last_tick = late = ran = 0;
  double start = processor_seconds(); // others use the processors, too
  for (int i = 0; i < count; i++) {
    csched_timer_init(&timers[i], &counting, NULL);
    csched_target_submit_at(line(), &timers[i], chance_below(&seed, 200 * year), 0);
  }
  csched_virtual_run(timeline);
  double took = processor_seconds() - start;
  printf("%d timers over 200 virtual years: %.0f ms\n", count, took * 1000);
  CHECK_EQUAL(ran, count);
  CHECK_EQUAL(late, 0);
  CHECK(took < 20); // a walk tick by tick would take years
  csched_virtual_destroy(timeline);
  free(timers);
}

// VT2, VT3
TEST("a million timers over two hundred virtual years") { virtual_million(times(1000000), seed()); }

// MARK: what drives

static void widen(probe *probe) {
  mark(probe);
  csched_time before = csched_virtual_now(timeline);
  csched_virtual_advance(timeline, 4);
  csched_virtual_advance_to(timeline, 1); // shortens nothing
  CHECK_EQUAL(csched_virtual_now(timeline), before);
}

static void *advance_more(void *unused) {
  (void)unused;
  csched_virtual_advance_to(timeline, 12);
  return NULL;
}

static void widen_elsewhere(probe *probe) {
  pthread_t thread;
  mark(probe);
  if (pthread_create(&thread, NULL, advance_more, NULL) != 0) abort();
  pthread_join(thread, NULL); // so it does not wait for this one
}

static void stop(probe *probe) {
  mark(probe);
  csched_virtual_run(timeline);
  csched_virtual_end_run(timeline);
  csched_virtual_step(timeline, 1);
}

static probe many[64];

static void virtual_widened(void) {
  begin(0, 0);
  prepare(many, 6, mark);
  many[0].body = widen;
  many[2].body = widen_elsewhere;
  many[3].body = stop;
  at(&many[0], 3), at(&many[1], 7), at(&many[2], 7), at(&many[3], 12), at(&many[4], 12), at(&many[5], 20);
  csched_virtual_advance_to(timeline, 4);
  CHECK_JOURNAL(&order, "0,1,2,3,4");
  CHECK_EQUAL(csched_virtual_now(timeline), 12);
  csched_virtual_advance_to(timeline, 2);
  CHECK_EQUAL(csched_virtual_now(timeline), 12);
  csched_virtual_skip_to(timeline, 30);
  csched_virtual_skip_to(timeline, 1);
  CHECK_EQUAL(csched_virtual_now(timeline), 30);
  CHECK_JOURNAL(&order, "0,1,2,3,4");
  csched_virtual_end_run(timeline); // nothing is under way
  csched_virtual_run(timeline);
  CHECK_JOURNAL(&order, "0,1,2,3,4,5");
  csched_virtual_destroy(timeline);
}

// VT1, VT3, VT4
TEST("moving virtual time during a move extends that move") { virtual_widened(); }

static void submit_inside(probe *probe) {
  mark(probe);
  soon(&many[2]);
  at(&many[3], 5);
  at(&many[4], 6);
}

static void virtual_inside(void) {
  begin(0, 0);
  prepare(many, 8, mark);
  many[0].body = submit_inside;
  at(&many[0], 5), at(&many[1], 5);
  csched_virtual_advance_to(timeline, 5);
  CHECK_JOURNAL(&order, "0,1,2,3");
  csched_virtual_skip_to(timeline, 5);
  soon(&many[5]), at(&many[6], 3), soon(&many[7]);
  csched_virtual_skip_to(timeline, 9); // timers that it passes are queued behind the ready jobs
  csched_virtual_advance(timeline, 0);
  CHECK_JOURNAL(&order, "0,1,2,3,5,6,7,4");
  csched_virtual_destroy(timeline);
}

TEST("virtual time runs in the order of ticks and of submission") { // VT2, VT3
  static const int bits[] = {30, 60, 62};
  virtual_order(times(2000), 10, seed());
  virtual_order(times(2000), 300, seed());
  for (int i = 0; i < 3; i++) virtual_order(times(2000), (csched_time)1 << bits[i], seed());
  virtual_inside();
}

// MARK: run, steps

static int repeats_left;
static void repeat(probe *probe) {
  mark(probe);
  if (--repeats_left > 0)
    csched_target_submit_at(line(), &probe->timer, csched_virtual_now(timeline) + 10, CSCHED_FOREVER);
}

static void virtual_run_ends(void) {
  begin(0, 0);
  prepare(many, 4, mark);
  many[0].body = repeat;
  repeats_left = 6;
  at(&many[0], 10), at(&many[1], 25), at(&many[2], 90), at(&many[3], CSCHED_FOREVER);
  CHECK_EQUAL(csched_timer_cancel(&many[2].timer), CSCHED_CANCEL_DROPPED); // no run continues for it
  csched_virtual_run(timeline);
  CHECK_JOURNAL(&order, "0,0,1");
  CHECK_EQUAL(csched_virtual_now(timeline), 25);
  csched_virtual_run(timeline);
  csched_virtual_skip_to(timeline, 35);
  csched_virtual_run(timeline); // nothing but a repetition, if a late one
  CHECK_JOURNAL(&order, "0,0,1");
  csched_virtual_step(timeline, 1);
  CHECK_JOURNAL(&order, "0,0,1,0");
  csched_virtual_run_all(timeline);
  CHECK_JOURNAL(&order, "0,0,1,0,0,0,0");
  CHECK_EQUAL(csched_virtual_now(timeline), 65);
  CHECK_EQUAL(csched_virtual_pending(timeline), 1);
  csched_virtual_destroy(timeline);
  CHECK_PROBE(&many[3], 0, 1);
}

// VT6
TEST("a virtual run ends") { virtual_run_ends(); }

static void virtual_steps(void) {
  csched_serial *queue;
  begin(0, 0);
  CHECK_EQUAL(csched_serial_create(&queue, line()), 0);
  prepare(many, 10, mark);
  for (int i = 0; i < 4; i++) at(&many[i], 10 + (csched_time)i);
  csched_timer_cancel(&many[0].timer), csched_timer_cancel(&many[2].timer);
  csched_virtual_step(timeline, 1);
  CHECK_JOURNAL(&order, "1");
  CHECK_EQUAL(csched_virtual_now(timeline), 11);
  for (int i = 4; i < 10; i++) csched_target_submit(csched_serial_target(queue), job_of(&many[i]));
  csched_job_cancel(job_of(&many[4])), csched_job_cancel(job_of(&many[6])), csched_job_cancel(job_of(&many[9]));
  csched_virtual_step(timeline, 1); // each job of a queue is a step
  CHECK_JOURNAL(&order, "1,5");
  csched_virtual_step(timeline, 3);
  CHECK_JOURNAL(&order, "1,5,7,8,3");
  csched_virtual_step(timeline, CSCHED_FOREVER);
  csched_virtual_step(timeline, 1);
  CHECK_EQUAL(csched_virtual_now(timeline), 13);
  csched_serial_destroy(queue);
  csched_virtual_destroy(timeline);
}

// VT8
TEST("steps of virtual time count the jobs that run") { virtual_steps(); }

static void virtual_end_of_time(void) {
  begin(CSCHED_FOREVER - 10, 0);
  prepare(many, 6, mark);
  at(&many[0], CSCHED_FOREVER), at(&many[1], CSCHED_FOREVER), at(&many[2], CSCHED_FOREVER - 1);
  csched_virtual_run(timeline);
  csched_virtual_run_all(timeline);
  csched_virtual_step(timeline, 9);
  CHECK_JOURNAL(&order, "2");
  CHECK_EQUAL(csched_virtual_pending(timeline), 2);
  csched_virtual_advance(timeline, CSCHED_FOREVER);
  CHECK_JOURNAL(&order, "2,0,1");
  CHECK_EQUAL(csched_virtual_now(timeline), CSCHED_FOREVER);
  at(&many[3], CSCHED_FOREVER), at(&many[4], 7), soon(&many[5]);
  csched_virtual_run(timeline);
  CHECK_JOURNAL(&order, "2,0,1,3,4,5");
  csched_virtual_destroy(timeline);
  begin(0, 0);
  prepare(many, 2, mark);
  at(&many[0], CSCHED_FOREVER);
  csched_virtual_skip_to(timeline, CSCHED_FOREVER);
  soon(&many[1]);
  csched_virtual_advance(timeline, 1);
  CHECK_JOURNAL(&order, "0,1");
  csched_virtual_destroy(timeline);
}

// VT2, VT6
TEST("the end of virtual time") { virtual_end_of_time(); }

// MARK: queues

static void note_in_queue(probe *probe) {
  CHECK(csched_target_current() == probe->context);
  CHECK_EQUAL(csched_target_now(probe->context), csched_virtual_now(timeline));
  mark(probe);
}

static csched_serial *queues[2];

static void wait_inside(probe *probe) {
  mark(probe);
  CHECK_EQUAL(csched_serial_sync(queues[0], (void (*)(void *))abort, NULL), EDEADLK);
}

static void note_sync(void *unused) {
  (void)unused;
  CHECK(csched_target_is_inside(line()));
  csched_virtual_advance_to(timeline, 60); // is done when the sync ends
  journal_add(&order, 9);
}

static void virtual_serial(void) {
  begin(0, 0);
  CHECK_EQUAL(csched_serial_create(&queues[0], line()), 0);
  CHECK_EQUAL(csched_serial_create(&queues[1], csched_serial_target(queues[0])), 0);
  prepare(many, 9, note_in_queue);
  for (int i = 0; i < 8; i++) many[i].context = csched_serial_target(queues[i % 2]);
  for (int i = 0; i < 4; i++) csched_target_submit(many[i].context, job_of(&many[i]));
  for (int i = 4; i < 7; i++) csched_target_submit_at(many[i].context, &many[i].timer, 50 - (csched_time)i, 0);
  csched_target_submit_at(many[7].context, &many[7].timer, 60, 0);
  many[8].body = wait_inside;
  at(&many[8], 50);
  csched_virtual_advance_to(timeline, 45);
  CHECK_JOURNAL(&order, "0,1,3,2,6,5");
  csched_virtual_run(timeline);
  CHECK_JOURNAL(&order, "0,1,3,2,6,5,4,8,7");
  csched_virtual_destroy(timeline);
  csched_serial_destroy(queues[1]), csched_serial_destroy(queues[0]);

  begin(50, 0);
  CHECK_EQUAL(csched_serial_create(&queues[0], line()), 0);
  prepare(many, 1, mark);
  at(&many[0], 60);
  CHECK_EQUAL(csched_serial_sync(queues[0], note_sync, NULL), 0);
  CHECK_JOURNAL(&order, "9,0");
  CHECK_EQUAL(csched_virtual_now(timeline), 60);
  csched_serial_destroy(queues[0]);
  csched_virtual_destroy(timeline);
}

static long load_inside; // guarded by the queues
static void run_sync(void *count) { ++*(long *)count; }

static void leave_thread(probe *probe) {
  mark(probe);
  pthread_exit(NULL);
}

// Timers of queues among others of one tick; one of them ends its thread.
static void virtual_serial_in_its_place(void) {
  pthread_t thread;
  begin(0, 0);
  CHECK_EQUAL(csched_serial_create(&queues[0], line()), 0);
  prepare(many, 12, mark);
  many[3].body = leave_thread;
  for (int i = 0; i < 6; i++)
    csched_target_submit_at(i % 2 == 0 ? line() : csched_serial_target(queues[0]), &many[i].timer, 7, 0);
  csched_target_submit(csched_serial_target(queues[0]), job_of(&many[6]));
  csched_virtual_step(timeline, 3);
  CHECK_JOURNAL(&order, "6,0,1");
  if (pthread_create(&thread, NULL, run_here, NULL) != 0) abort();
  pthread_join(thread, NULL);
  CHECK_JOURNAL(&order, "6,0,1,2,3");
  soon(&many[7]), csched_target_submit(csched_serial_target(queues[0]), job_of(&many[8]));
  for (int i = 9; i < 12; i++)
    csched_target_submit_at(i % 2 == 0 ? line() : csched_serial_target(queues[0]), &many[i].timer, i == 11 ? 3 : 9, 0);
  csched_virtual_skip_to(timeline, 12); // queued behind the ready jobs, in the queue, too
  csched_virtual_run(timeline);
  CHECK_JOURNAL(&order, "6,0,1,2,3,4,7,8,5,11,9,10");
  csched_serial_destroy(queues[0]);
  csched_virtual_destroy(timeline);
}

static void sync_or_drive(int index, void *count) {
  for (int i = 0; i < *(int *)count; i++) {
    if (index == 0) csched_virtual_advance(timeline, 1);
    else CHECK_EQUAL(csched_serial_sync(queues[index % 2], run_sync, &load_inside), 0);
  }
}

static atomic_int is_inside;
static void stay_inside(void *unused) {
  (void)unused;
  atomic_store(&is_inside, 1);
  nap(3 * MS); // the other one has come to wait by then
}
static void sync_for_long(int index, void *unused) {
  (void)index;
  CHECK_EQUAL(csched_serial_sync(queues[1], stay_inside, unused), 0);
}

// The waiting thread finds that the other one drives. It has stopped waiting when the other one ends its drive.
static void virtual_sync_beside_another(void) {
  for (int which = 0; which < 2; which++) {
    crew crew;
    begin(0, 0);
    atomic_store(&is_inside, 0), load_inside = 0;
    CHECK_EQUAL(csched_serial_create(&queues[0], line()), 0);
    CHECK_EQUAL(csched_serial_create(&queues[1], csched_serial_target(queues[0])), 0);
    crew_start(&crew, 1, sync_for_long, NULL);
    CHECK_SOON(atomic_load(&is_inside) == 1);
    CHECK_EQUAL(csched_serial_sync(queues[which], run_sync, &load_inside), 0);
    crew_join(&crew);
    CHECK_EQUAL(load_inside, 1);
    csched_serial_destroy(queues[1]), csched_serial_destroy(queues[0]);
    csched_virtual_destroy(timeline);
  }
}

static _Atomic uint32_t waiter;
static void sync_suspended(int index, void *queue) {
  (void)index;
  atomic_store(&waiter, ctest_thread_id());
  CHECK_EQUAL(csched_serial_sync(queue, run_sync, &load_inside), 0);
}
static void continue_and_exit(probe *probe) { // another thread runs its submission
  soon(probe->context);
  pthread_exit(NULL);
}

// Due jobs run while a thread waits in a sync: after a submission, after a skip of the clock, and after the driver has
// exited.
static void virtual_sync_drives(void) {
  csched_serial *queue;
  crew waits;
  pthread_t thread;
  probe many[5];
  begin(0, 0);
  load_inside = 0;
  prepare(many, 5, mark);
  probe_init(&many[3], continue_and_exit, &many[4]);
  CHECK_EQUAL(csched_serial_create(&queue, line()), 0);
  csched_serial_suspend(queue);
  at(&many[1], 5), at(&many[2], 9), at(&many[3], 8);
  crew_start(&waits, 1, sync_suspended, queue);
  soon(&many[0]);
  CHECK_SOON(csched_virtual_pending(timeline) == 3);
  csched_virtual_skip_to(timeline, 7);
  CHECK_SOON(csched_virtual_pending(timeline) == 2);
  CHECK_RESTS(atomic_load(&waiter)); // or the waiter, still in its drive, would run the job that ends its thread
  if (pthread_create(&thread, NULL, run_here, NULL) != 0) abort();
  pthread_join(thread, NULL);
  CHECK_SOON(csched_virtual_pending(timeline) == 1); // the clock stays where the drive was unwound
  CHECK_EQUAL(csched_virtual_now(timeline), 8);
  CHECK_EQUAL(load_inside, 0);
  csched_serial_resume(queue);
  crew_join(&waits);
  CHECK_EQUAL(load_inside, 1);
  csched_virtual_run(timeline);
  CHECK_JOURNAL(&order, "0,1,4,2");
  CHECK_PROBE(&many[3], 1, 0);
  csched_serial_destroy(queue);
  csched_virtual_destroy(timeline);
}

// VT9
TEST("a thread that waits in virtual time drives when no other does") { virtual_sync_drives(); }

// No other thread moves time when a sync finds the queue busy, or another thread in it.
static void virtual_sync_races(int rounds) {
  begin(0, 0);
  CHECK_EQUAL(csched_serial_create(&queues[0], line()), 0);
  CHECK_EQUAL(csched_serial_create(&queues[1], csched_serial_target(queues[0])), 0);
  load_inside = 0;
  crew_run(4, sync_or_drive, &rounds);
  CHECK_EQUAL(load_inside, 3 * rounds);
  CHECK(csched_virtual_now(timeline) <= (csched_time)rounds); // less if drives were joined
  csched_serial_destroy(queues[1]), csched_serial_destroy(queues[0]);
  csched_virtual_destroy(timeline);
}

TEST("virtual time runs serial queues") { // VT1, VT2, VT9
  virtual_serial();
  virtual_serial_in_its_place();
  virtual_sync_beside_another();
  virtual_sync_races(times(1000));
}

// The close drops all waiting and later jobs: plain jobs, timers, and jobs of its queues.
static void virtual_closed(void) {
  csched_serial *queue;
  begin(0, 0);
  CHECK_EQUAL(csched_serial_create(&queue, line()), 0);
  prepare(many, 7, mark);
  soon(&many[0]), at(&many[1], 5), at(&many[2], CSCHED_FOREVER);
  csched_target_submit(csched_serial_target(queue), job_of(&many[3]));
  csched_virtual_close(timeline);
  csched_virtual_close(timeline);
  CHECK_EQUAL(csched_target_submit(line(), job_of(&many[4])), ECANCELED);
  CHECK_EQUAL(csched_target_submit_at(line(), &many[5].timer, 9, 0), ECANCELED);
  CHECK_EQUAL(csched_target_submit(csched_serial_target(queue), job_of(&many[6])), ECANCELED);
  CHECK_EQUAL(csched_serial_sync(queue, (void (*)(void *))abort, NULL), ECANCELED);
  csched_virtual_run(timeline);
  csched_virtual_advance_to(timeline, 7);
  CHECK_EQUAL(csched_virtual_now(timeline), 7);
  for (int i = 0; i < 7; i++) CHECK_PROBE(&many[i], 0, 1);
  csched_serial_destroy(queue);
  csched_virtual_destroy(timeline);
}

// VT5
TEST("closed virtual time drops the waiting jobs, and refuses later ones") { virtual_closed(); }

// MARK: cancelling

static atomic_int allocated;
static void free_probe(csched_job *job) {
  atomic_fetch_add(&allocated, -1);
  free(job);
}
static void run_nothing(csched_job *job) { (void)job; }
static const csched_job_type freed = {run_nothing, run_nothing, free_probe};

static csched_timer *make_timer(void) {
  csched_timer *timer = malloc(sizeof *timer);
  atomic_fetch_add(&allocated, 1);
  csched_timer_init(timer, &freed, NULL);
  return timer;
}

static void virtual_cancelled_go(int count) {
  begin(0, 0);
  atomic_store(&allocated, 0);
  for (int i = 0; i < count; i++) { // plain, late behind plain, and waiting
    csched_timer *plain = make_timer(), *timer = make_timer();
    CHECK_EQUAL(csched_target_submit(line(), &plain->job), 0);
    CHECK_EQUAL(csched_target_submit_at(line(), timer, (csched_time)(i % 2), 0), 0);
    CHECK_EQUAL(csched_job_cancel(&plain->job), CSCHED_CANCEL_DROPPED);
    CHECK_EQUAL(csched_timer_cancel(timer), CSCHED_CANCEL_DROPPED);
    CHECK(atomic_load(&allocated) <= 200);
  }
  CHECK_EQUAL(csched_virtual_pending(timeline), 0);
  csched_virtual_run(timeline);
  csched_virtual_advance(timeline, 1);
  CHECK_EQUAL(atomic_load(&allocated), 0);
  csched_virtual_destroy(timeline);
}

// VT7
TEST("cancelled jobs in virtual time leave nothing behind") { virtual_cancelled_go(times(20000)); }

static struct {
  probe probes[4];
  atomic_int ended;
  int round;
} race;

static void note_end(probe *probe) {
  (void)probe;
  atomic_fetch_add(&race.ended, 1);
}

static void cancel_or_drive(int index, void *unused) {
  (void)unused;
  if (index == 0) {
    csched_virtual_advance_to(timeline, (csched_time)race.round * 10 + 5);
    return;
  }
  for (int i = 0; i < 4; i++) {
    csched_cancel_result found = csched_timer_cancel_and_wait(&race.probes[i].timer);
    int runs = atomic_load(&race.probes[i].runs), drops = atomic_load(&race.probes[i].drops);
    CHECK_EQUAL(runs + drops, 1); // it has ended
    CHECK_EQUAL(found == CSCHED_CANCEL_DROPPED, drops);
  }
}

static void virtual_cancel_races(int rounds) {
  begin(0, 0);
  for (race.round = 0; race.round < rounds; race.round++) {
    csched_time now = (csched_time)race.round * 10;
    csched_virtual_skip_to(timeline, now);
    for (int i = 0; i < 4; i++) probe_init(&race.probes[i], note_end, NULL);
    at(&race.probes[0], now), soon(&race.probes[1]), at(&race.probes[2], now), at(&race.probes[3], now + 5);
    crew_run(2, cancel_or_drive, NULL);
    csched_virtual_run(timeline);
    CHECK_EQUAL(csched_virtual_pending(timeline), 0);
    for (int i = 0; i < 4; i++) CHECK_EQUAL(atomic_load(&race.probes[i].releases), 1);
  }
  csched_virtual_destroy(timeline);
}

// VT5
TEST("virtual time against cancellation") { virtual_cancel_races(few(times(1000))); }

// MARK: threads

static struct {
  int jobs;
  probe *probes;
  atomic_int inside, broken, done;
  int last[CREW_MOST];
} load;

static void take_turn(probe *probe) {
  int thread = probe->id / load.jobs, number = probe->id % load.jobs;
  if (atomic_fetch_add(&load.inside, 1) != 0) atomic_store(&load.broken, 1);
  if (load.last[thread] >= number) atomic_store(&load.broken, 2);
  load.last[thread] = number;
  atomic_fetch_add(&load.inside, -1);
  atomic_fetch_add(&load.done, 1);
}

static void submit_and_drive(int index, void *unused) {
  (void)unused;
  for (int i = 0; i < load.jobs; i++) {
    probe *probe = &load.probes[index * load.jobs + i];
    if (i % 3 == 0) soon(probe);
    else at(probe, 0); // has passed
    if (i % 4 == 0) csched_virtual_advance(timeline, 1);
    else if (i % 4 == 1) csched_virtual_step(timeline, 1);
    else if (i % 4 == 2) csched_virtual_skip_to(timeline, csched_virtual_now(timeline) + 1);
    if (i % 7 == 0) csched_virtual_run(timeline);
  }
  csched_virtual_run(timeline);
}

static void virtual_threads(int threads, int jobs) {
  begin(0, 0);
  memset(&load, 0, sizeof load);
  load.jobs = jobs;
  load.probes = calloc((size_t)(threads * jobs), sizeof *load.probes);
  for (int i = 0; i < threads * jobs; i++) {
    probe_init(&load.probes[i], take_turn, NULL);
    load.probes[i].id = i;
  }
  for (int i = 0; i < threads; i++) load.last[i] = -1;
  crew_run(threads, submit_and_drive, NULL);
  CHECK_EQUAL(atomic_load(&load.done), threads * jobs); // when all have returned, all is done
  CHECK_EQUAL(atomic_load(&load.broken), 0);
  CHECK_EQUAL(csched_virtual_pending(timeline), 0);
  csched_virtual_destroy(timeline);
  free(load.probes);
}

// VT1, VT2
TEST("virtual time from many threads") { virtual_threads(4, times(500)); }

// MARK: what leaves a job

static jmp_buf back;
static void jump(probe *probe) {
  (void)probe;
  longjmp(back, 1);
}

static void exit_thread(probe *probe) {
  (void)probe;
  pthread_exit(NULL);
}

static void virtual_left(void) {
  pthread_t thread;
  begin(0, 0);
  prepare(many, 3, mark);
  many[0].body = jump, many[1].body = exit_thread;
  at(&many[0], 1), at(&many[1], 2), at(&many[2], 3);
  if (setjmp(back) == 0) csched_virtual_advance_to(timeline, 9);
  CHECK(csched_target_current() == NULL);
  CHECK_EQUAL(csched_virtual_now(timeline), 1);
  CHECK_PROBE(&many[0], 1, 0);
  if (pthread_create(&thread, NULL, run_here, NULL) != 0) abort();
  pthread_join(thread, NULL);
  CHECK_EQUAL(csched_virtual_now(timeline), 2);
  CHECK_PROBE(&many[1], 1, 0);
  csched_virtual_run(timeline);
  CHECK_JOURNAL(&order, "2");
  csched_virtual_destroy(timeline);
}

// VT1, VT2
TEST("an unwind of a job in virtual time ends the drive") { virtual_left(); }

static void drive_in_child(void *unused) {
  (void)unused;
  CHECK_EQUAL(csched_virtual_now(timeline), 0);
  csched_virtual_run(timeline);
  CHECK_JOURNAL(&order, "1");
}

static void widen_in_child(void *unused) {
  (void)unused;
  csched_virtual_advance(timeline, 10);
  CHECK_EQUAL(csched_virtual_now(timeline), 0); // the drive around it does that
}

static void fork_inside(probe *probe) {
  (void)probe;
  CHECK_CHILD(widen_in_child, NULL); // this thread, which drives, is there
}

static atomic_int reached, opens;
static void stand(probe *probe) {
  (void)probe;
  atomic_store(&reached, 1);
  while (!atomic_load(&opens)) nap(20 * US);
}

static void virtual_fork(void) {
  pthread_t thread;
  begin(0, 0);
  prepare(many, 3, mark);
  atomic_store(&reached, 0), atomic_store(&opens, 0);
  many[0].body = stand, many[2].body = fork_inside;
  soon(&many[0]), at(&many[1], 5);
  if (pthread_create(&thread, NULL, run_here, NULL) != 0) abort();
  CHECK_SOON(atomic_load(&reached));
  CHECK_CHILD(drive_in_child, NULL); // the driver does not exist here
  atomic_store(&opens, 1);
  pthread_join(thread, NULL);
  CHECK_JOURNAL(&order, "1");
  csched_virtual_destroy(timeline);
  begin(0, 0);
  soon(&many[2]);
  csched_virtual_run(timeline);
  csched_virtual_destroy(timeline);
}

TEST_UNLESS(THREAD_SANITIZER | MEMORY_SANITIZER | VALGRIND, "tools do not follow a process with threads into its child",
            "after fork virtual time continues") { // VT1
  virtual_fork();
}

static void again(probe *probe) { soon(probe); }

// Timers that a queue cannot run yet are moved into the queue. The limit of steps does not count this.
static void virtual_handed_on(void) {
  enum { TIMERS = 12, LIMIT = 4 };
  probe timers[TIMERS];
  csched_serial *queue;
  begin(0, LIMIT);
  CHECK_EQUAL(csched_serial_create(&queue, line()), 0);
  prepare(timers, TIMERS, mark);
  csched_serial_suspend(queue);
  for (int i = 0; i < TIMERS; i++)
    csched_target_submit_at(csched_serial_target(queue), &timers[i].timer, 1 + (csched_time)i, 0);
  csched_virtual_advance(timeline, 100);
  CHECK_EQUAL(atomic_load(&order.count), 0);
  csched_serial_resume(queue);
  for (int i = 0; i < TIMERS; i++) csched_virtual_step(timeline, 1);
  CHECK_JOURNAL(&order, "0,1,2,3,4,5,6,7,8,9,10,11");
  csched_serial_destroy(queue);
  csched_virtual_destroy(timeline);
}

// VT8
TEST("timers that are handed on to a suspended queue are no jobs of the drive") { virtual_handed_on(); }

static void begin_endless(void) {
  begin(0, 1000);
  prepare(many, 1, again);
  soon(&many[0]);
}

TEST_STOPS("a virtual run without an end stops the process", "csched_virtual_run: ", "has run 1000 jobs",
           "turn_limit") {
  begin_endless();
  csched_virtual_run(timeline);
}

TEST_STOPS("a virtual run without an end stops the process, on its way to a tick",
           "csched_virtual_advance: ", "has run 1000 jobs", "turn_limit") {
  begin_endless();
  csched_virtual_advance(timeline, 5);
}
