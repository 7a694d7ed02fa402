// 200 threads wait in each of the ways that there are, without a deadline and with one, and give up: for a buffer under
// a lock with two conditions, for a recursive lock, units, readers and writers, and, with jobs on a pool, for latches
// and groups that are freed after that.
// They also merge into an event. At the end no thread waits, and all counts agree.

#include "soak.h"

#include <sched.h>

enum { THREADS = 200, LEAST = 20, ROOM = 16, UNITS = 5, JOBS = 3, DEEPEST = 4 };

typedef struct buffer { // each item is taken once
  csched_lock lock;
  csched_cond filled, emptied;
  uint64_t items[ROOM], count;
  uint64_t put, taken; // sums
} buffer;

typedef struct shared {
  csched_time end;
  uint64_t seed;
  csched_pool *pool;
  soak_tally *tally;
  buffer buffer;
  csched_rlock rlock;
  uint64_t depth; // of its owner
  csched_semaphore semaphore;
  _Atomic int with_units;
  csched_rwlock rwlock;
  _Atomic int readers, writers;
  uint64_t first, second; // equal except during a write
  csched_event event;
  _Atomic uint64_t merged;
  uint64_t reported; // by the event's handler
  atomic_bool is_handling;
  _Atomic uint64_t waits, given_up;
} shared;

typedef struct one { // a thread, with its own data
  shared *shared;
  uint64_t seed, waits, given_up, item;
  csched_latch *latch;
  csched_group *group;
  _Atomic int done; // of its jobs
  soak_job jobs[JOBS];
} one;

typedef enum how { LONG, TRY, TIMED } how;

static how choose(one *one) {
  uint64_t chance = soak_below(&one->seed, 8);
  return chance < 5 ? LONG : chance < 6 ? TRY : TIMED;
}

static csched_time soon(one *one) { return csched_now() + soak_below(&one->seed, 1000) * US; }

static bool count(one *one, bool got) {
  *(got ? &one->waits : &one->given_up) += 1;
  return got;
}

// MARK: a buffer under a lock

// Returns: whether `cond` was waited for as long as it took to have the buffer as it is to be.
static bool wait_for_room(one *one, csched_cond *cond, uint64_t bad_count, how how) {
  buffer *buffer = &one->shared->buffer;
  csched_time deadline = how == TIMED ? soon(one) : 0;
  while (buffer->count == bad_count) {
    if (how == LONG) csched_cond_wait(cond, &buffer->lock);
    else if (!csched_cond_wait_until(cond, &buffer->lock, deadline) && csched_now() >= deadline) break;
  }
  return count(one, buffer->count != bad_count);
}

static void wake(one *one, csched_cond *cond) {
  if (soak_below(&one->seed, 4) == 0) csched_cond_broadcast(cond);
  else csched_cond_signal(cond);
}

// Each thread puts an item and takes an item, so the buffer is neither full nor empty for good.
static void use_buffer(one *one) {
  buffer *buffer = &one->shared->buffer;
  csched_lock_lock(&buffer->lock);
  bool is_in = wait_for_room(one, &buffer->emptied, ROOM, choose(one));
  if (is_in) {
    buffer->items[buffer->count++] = ++one->item;
    buffer->put += one->item;
    wake(one, &buffer->filled);
  }
  csched_lock_unlock(&buffer->lock);
  if (!is_in) return;
  csched_lock_lock(&buffer->lock);
  while (!wait_for_room(one, &buffer->filled, 0, choose(one))) {}
  buffer->taken += buffer->items[--buffer->count];
  wake(one, &buffer->emptied);
  csched_lock_unlock(&buffer->lock);
}

// MARK: locks

static bool take_again(one *one, csched_rlock *rlock, how how) {
  if (how == TRY) return csched_rlock_trylock(rlock);
  if (how == TIMED) return csched_rlock_lock_until(rlock, soon(one));
  csched_rlock_lock(rlock);
  return true;
}

static void use_rlock(one *one) {
  shared *shared = one->shared;
  if (!count(one, take_again(one, &shared->rlock, choose(one)))) return;
  CHECK(++shared->depth == 1, "%llu are inside of a recursive lock", (unsigned long long)shared->depth);
  uint64_t more = soak_below(&one->seed, DEEPEST);
  for (uint64_t i = 0; i < more; i++) {
    CHECK(take_again(one, &shared->rlock, choose(one)), "its owner gets it at once");
    shared->depth++;
  }
  csched_rlock_assert_owner(&shared->rlock);
  for (uint64_t i = 0; i < more; i++) {
    shared->depth--;
    csched_rlock_unlock(&shared->rlock);
  }
  CHECK(shared->depth-- == 1, "two threads are inside of a recursive lock");
  csched_rlock_unlock(&shared->rlock);
}

static void be_reader(one *one) {
  shared *shared = one->shared;
  how how = choose(one);
  bool got = true;
  if (how == TRY) got = csched_rwlock_trylock_read(&shared->rwlock);
  else if (how == TIMED) got = csched_rwlock_lock_read_until(&shared->rwlock, soon(one));
  else csched_rwlock_lock_read(&shared->rwlock);
  if (!count(one, got)) return;
  atomic_fetch_add(&shared->readers, 1);
  CHECK(atomic_load(&shared->writers) == 0, "a thread writes beside a reader");
  CHECK(shared->first == shared->second, "half of what was written is read");
  if (soak_below(&one->seed, 8) == 0) sched_yield();
  atomic_fetch_sub(&shared->readers, 1);
  csched_rwlock_unlock_read(&shared->rwlock);
}

static void be_writer(one *one) {
  shared *shared = one->shared;
  how how = choose(one);
  bool got = true;
  if (how == TRY) got = csched_rwlock_trylock_write(&shared->rwlock);
  else if (how == TIMED) got = csched_rwlock_lock_write_until(&shared->rwlock, soon(one));
  else csched_rwlock_lock_write(&shared->rwlock);
  if (!count(one, got)) return;
  CHECK(atomic_fetch_add(&shared->writers, 1) == 0, "two write");
  CHECK(atomic_load(&shared->readers) == 0, "a thread reads beside a writer");
  shared->first++;
  if (soak_below(&one->seed, 8) == 0) sched_yield();
  shared->second++;
  atomic_fetch_sub(&shared->writers, 1);
  csched_rwlock_unlock_write(&shared->rwlock);
}

static void use_semaphore(one *one) {
  shared *shared = one->shared;
  how how = choose(one);
  bool got = true;
  if (how == TRY) got = csched_semaphore_trywait(&shared->semaphore);
  else if (how == TIMED) got = csched_semaphore_wait_until(&shared->semaphore, soon(one));
  else csched_semaphore_wait(&shared->semaphore);
  if (!count(one, got)) return;
  CHECK(atomic_fetch_add(&shared->with_units, 1) < UNITS, "more have units than there are");
  if (soak_below(&one->seed, 8) == 0) sched_yield();
  atomic_fetch_sub(&shared->with_units, 1);
  csched_semaphore_signal(&shared->semaphore, 1);
}

// MARK: with jobs

static void count_down(soak_job *job) {
  one *one = job->context;
  csched_latch *latch = one->latch;
  atomic_fetch_add(&one->done, 1);
  csched_latch_count_down(latch, 1); // after the last of these the latch is gone
}

static void leave(soak_job *job) {
  one *one = job->context;
  csched_group *group = one->group;
  atomic_fetch_add(&one->done, 1);
  csched_group_leave(group);
}

static void submit_all(one *one, void (*body)(soak_job *)) {
  atomic_store(&one->done, 0);
  for (int i = 0; i < JOBS; i++) {
    while (!soak_job_is_free(&one->jobs[i])) sched_yield(); // its release comes after its run
    one->jobs[i].body = body;
    csched_priority priority = (csched_priority)soak_below(&one->seed, 4);
    CHECK(soak_submit(&one->jobs[i], csched_pool_target(one->shared->pool, priority)), "the pool is open");
  }
}

static void use_latch(one *one) {
  csched_latch latch;
  csched_latch_init(&latch, JOBS);
  one->latch = &latch;
  submit_all(one, count_down);
  if (choose(one) == LONG || !count(one, csched_latch_wait_until(&latch, soon(one)))) csched_latch_wait(&latch);
  CHECK(atomic_load(&one->done) == JOBS, "%d of %d have counted down", (int)one->done, JOBS);
  count(one, true);
}

static void use_group(one *one) {
  csched_group group = CSCHED_GROUP_INIT;
  csched_group_enter(&group, JOBS);
  one->group = &group;
  submit_all(one, leave);
  if (choose(one) == LONG || !count(one, csched_group_wait_until(&group, soon(one)))) csched_group_wait(&group);
  CHECK(atomic_load(&one->done) == JOBS, "%d of %d have left", (int)one->done, JOBS);
  count(one, true);
}

static void take_value(csched_event *event, uint64_t value) {
  shared *shared = event->context;
  CHECK(!atomic_exchange(&shared->is_handling, true), "two threads run an event's handler");
  CHECK(value > 0, "an event reports 0");
  shared->reported += value;
  atomic_store(&shared->is_handling, false);
}

static void use_event(one *one) {
  uint64_t value = 1 + soak_below(&one->seed, 100);
  CHECK(csched_event_merge(&one->shared->event, value) == 0, "the event is not cancelled");
  atomic_fetch_add(&one->shared->merged, value);
}

// MARK: the phase

static void wait_in_all_ways(int index, void *context) {
  static void (*const uses[])(one *) = {use_buffer,    use_rlock, be_reader, be_reader, be_writer,
                                        use_semaphore, use_latch, use_group, use_event};
  shared *shared = context;
  one one = {.shared = shared, .seed = shared->seed + (uint64_t)index};
  for (int i = 0; i < JOBS; i++) {
    soak_job_init(&one.jobs[i], shared->tally);
    one.jobs[i].context = &one;
  }
  for (int i = 0; i < LEAST || !soak_is_over(shared->end); i++)
    uses[soak_below(&one.seed, sizeof uses / sizeof uses[0])](&one);
  for (int i = 0; i < JOBS; i++)
    while (!soak_job_is_free(&one.jobs[i])) sched_yield();
  atomic_fetch_add(&shared->waits, one.waits);
  atomic_fetch_add(&shared->given_up, one.given_up);
}

static void check_nothing_is_left(shared *shared) {
  buffer *buffer = &shared->buffer;
  CHECK(buffer->count == 0 && buffer->put == buffer->taken, "%llu are in the buffer; %llu put, %llu taken",
        (unsigned long long)buffer->count, (unsigned long long)buffer->put, (unsigned long long)buffer->taken);
  CHECK(csched_semaphore_units(&shared->semaphore) == UNITS, "%u units of %d",
        csched_semaphore_units(&shared->semaphore), UNITS);
  CHECK(shared->reported == shared->merged, "%llu merged, %llu reported", (unsigned long long)shared->merged,
        (unsigned long long)shared->reported);
  CHECK(shared->first == shared->second, "%llu and %llu written", (unsigned long long)shared->first,
        (unsigned long long)shared->second);
  csched_cond_destroy(&buffer->filled); // these stop the process if a thread waits for them, or owns them
  csched_cond_destroy(&buffer->emptied);
  csched_semaphore_destroy(&shared->semaphore);
  csched_rwlock_destroy(&shared->rwlock);
}

void soak_waits(const soak_slice *slice, soak_figures *figures) {
  shared shared = {.end = slice->end, .seed = soak_chance(slice->seed), .tally = &figures->tally};
  csched_semaphore_init(&shared.semaphore, UNITS);
  CHECK(csched_pool_create(&shared.pool, &(csched_pool_options){.name = "waits", .workers = 2}) == 0, "no pool");
  csched_event_init(&shared.event, csched_pool_target(shared.pool, CSCHED_PRIORITY_DEFAULT), CSCHED_MERGE_ADD,
                    take_value, &shared);
  soak_on_threads(THREADS, wait_in_all_ways, &shared);
  while (!csched_event_is_idle(&shared.event)) soak_nap(200 * US);
  csched_pool_destroy(shared.pool);
  check_nothing_is_left(&shared);
  figures->count += shared.waits;
  figures->others += shared.given_up;
}
