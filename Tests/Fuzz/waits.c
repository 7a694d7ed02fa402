// Target: synchronisation (sync/waiting.c, cond.c, rlock.c, rwlock.c, semaphore.c, latch.c, group.c, event.c) by three
// threads, of which one runs at a time. The others are between two operations, or in a sleep. The input chooses the
// next operation and its thread.
// A sleeping thread that is chosen checks whether it has been woken. Time passes when all threads sleep and have
// checked, or when the input chooses so.
//
// The model checks:
//   result   each operation returns the model's result: which thread gets what, in the order of arrival, and which
//            waits time out
//   alone    a lock has one owner; writers exclude all, readers writers
//   counts   the units, the counts of a latch and of a group, and the readers are as many as in the model
//   awake    when time passes because all sleep, no thread sleeps for a unit, an opening or an unlock that it has got:
//            no wake is lost
//   reports  an event's handler gets all merged values; a group's notices are called in order, once the group was empty

#include "fuzz.h"

#include "../../Sources/CScheduler/sync/lock_internal.h"
#include "../../Sources/CScheduler/sync/parking.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

enum { THREADS = 3, NOTICES = 4, MOST_LOOKS = 4 * THREADS };

typedef enum wait_kind { NOTHING, RLOCK, LOCK, COND, UNIT, LATCH, GROUP, READ, WRITE } wait_kind;

typedef struct actor {
  sem_t go;
  bool is_asleep, is_over;
  csched_time until; // where it sleeps
  wait_kind wait_kind;
  csched_time deadline; // of the wait
  uint64_t arrival;
  bool is_woken; // woken by a signal, a unit, an opening, the end of a group
  bool has_left; // left a condition at its deadline, and waits for the lock only
  bool reads, writes;
} actor;

static actor actors[THREADS];
static _Thread_local actor *me;
static int number(const actor *actor) { return (int)(actor - actors); }

static struct { // the next operation, and its thread
  unsigned what;
  actor *thread;
} order;
static unsigned looks; // checks of sleepers since the last operation
static uint64_t arrivals;

// MARK: the running thread

static void hand_to(actor *next) {
  actor *this = me;
  if (next == this) return;
  sem_post(&next->go);
  while (sem_wait(&this->go) != 0) {}
}

// Returns: a thread that is not over, an awake one if possible; NULL: all are over.
static actor *next_thread(void) {
  actor *found = NULL;
  for (int i = 1; i <= THREADS; i++) {
    actor *each = &actors[(number(me) + i) % THREADS];
    if (each->is_over || (found != NULL && (each->is_asleep || !found->is_asleep))) continue;
    found = each;
  }
  return found;
}

// MARK: the model

static int lock_owner, rlock_owner, rlock_depth; // owners: a number, or -1
static unsigned units, latch_count, group_count;
static csched_lock lock;
static csched_cond cond;
static csched_rlock rlock;
static csched_semaphore semaphore;
static csched_latch latch;
static csched_group group;
static csched_rwlock rwlock;
static csched_loop *loop;
static csched_event event;
static uint64_t merged;
static bool is_cancelled;

static unsigned waiters_for(wait_kind wait_kind) {
  unsigned count = 0;
  for (int i = 0; i < THREADS; i++) count += actors[i].wait_kind == wait_kind;
  return count;
}

static unsigned readers(void) {
  unsigned count = 0;
  for (int i = 0; i < THREADS; i++) count += actors[i].reads;
  return count;
}

static bool has_writer(void) {
  for (int i = 0; i < THREADS; i++)
    if (actors[i].writes) return true;
  return false;
}

// Does: marks the longest waiter of this kind as woken. Returns: whether there is one.
static bool wake_first(wait_kind wait_kind) {
  actor *first = NULL;
  for (int i = 0; i < THREADS; i++) {
    actor *each = &actors[i];
    if (each->wait_kind != wait_kind || each->is_woken || each->has_left) continue;
    if (first == NULL || each->arrival < first->arrival) first = each;
  }
  if (first != NULL) first->is_woken = true;
  return first != NULL;
}

static void wake_all(wait_kind wait_kind) {
  while (wake_first(wait_kind)) {}
}

static bool waits_for_lock(const actor *actor) {
  return actor->wait_kind == LOCK || (actor->wait_kind == COND && (actor->is_woken || actor->has_left));
}

static bool may_continue(const actor *actor) {
  switch (actor->wait_kind) {
  case NOTHING: return true;
  case RLOCK: return rlock_owner < 0;
  case LOCK:
  case COND: return waits_for_lock(actor) && lock_owner < 0;
  case UNIT:
  case LATCH:
  case GROUP: return actor->is_woken;
  case READ: return !has_writer() && waiters_for(WRITE) == 0;
  default: return !has_writer() && readers() == 0;
  }
}

static void let_time_pass(void) {
  csched_time first = CSCHED_FOREVER;
  for (int i = 0; i < THREADS; i++) {
    if (actors[i].is_over) continue;
    REQUIRE(!may_continue(&actors[i]), "thread %d sleeps for %d, and may continue", i, (int)actors[i].wait_kind);
    if (actors[i].until < first) first = actors[i].until;
  }
  fuzz_sleep(first);
  looks = 0;
}

static void look(void) {
  if (me->wait_kind == COND && !me->is_woken && fuzz_now >= me->deadline) me->has_left = true;
}

static void sleep(csched_time deadline) {
  me->is_asleep = true;
  me->until = deadline;
  actor *next = next_thread();
  if (next->is_asleep && ++looks > MOST_LOOKS) let_time_pass();
  hand_to(next);
  me->is_asleep = false;
  look();
}

static void begin_to_wait(wait_kind wait_kind, csched_time deadline) {
  me->wait_kind = wait_kind;
  me->deadline = deadline;
  me->arrival = ++arrivals;
  me->is_woken = false;
  me->has_left = deadline <= fuzz_now;
}

static void end_to_wait(bool result, bool expected) {
  TRACE("%d: %d for %d", number(me), result, (int)me->wait_kind);
  REQUIRE(result == expected, "thread %d gets %d for %d", number(me), result, (int)me->wait_kind);
  REQUIRE(result || fuzz_now >= me->deadline, "thread %d gives up early", number(me));
  me->wait_kind = NOTHING;
  me->is_woken = me->has_left = false;
}

// MARK: operations

// Returns: a deadline, often a past one; 0: do not wait at all.
static csched_time some_deadline(void) {
  unsigned kind = fuzz_below(4);
  if (kind == 0) return 0;
  if (kind == 1) return fuzz_now;
  return fuzz_add(fuzz_now, fuzz_span() & (((csched_time)1 << 36) - 1));
}

static bool others_wait_for(wait_kind wait_kind) { return waiters_for(wait_kind) > (me->wait_kind == wait_kind); }

static void take_rlock(void) {
  csched_time deadline = some_deadline();
  bool is_own = rlock_owner == number(me);
  if (!is_own) begin_to_wait(RLOCK, deadline);
  bool got = deadline == 0 ? csched_rlock_trylock(&rlock) : csched_rlock_lock_until(&rlock, deadline);
  if (!is_own) end_to_wait(got, got ? rlock_owner < 0 : rlock_owner < 0 && !others_wait_for(RLOCK));
  REQUIRE(got || !is_own, "its owner may take it again");
  if (!got) return;
  rlock_owner = number(me);
  rlock_depth++;
}

static void drop_rlock(void) {
  if (rlock_owner != number(me)) return csched_rlock_assert_not_owner(&rlock);
  csched_rlock_assert_owner(&rlock);
  if (--rlock_depth == 0) rlock_owner = -1;
  csched_rlock_unlock(&rlock);
}

static void take_lock(void) {
  csched_time deadline = some_deadline();
  if (lock_owner == number(me)) return;
  begin_to_wait(LOCK, deadline);
  bool got = deadline == 0 ? csched_lock_trylock(&lock) : csched_lock_lock_until(&lock, deadline), is_wanted = false;
  for (int i = 0; i < THREADS; i++) is_wanted |= &actors[i] != me && waits_for_lock(&actors[i]);
  end_to_wait(got, got ? lock_owner < 0 : lock_owner < 0 && !is_wanted);
  if (got) lock_owner = number(me);
}

static void drop_lock(void) {
  if (lock_owner != number(me)) return;
  lock_owner = -1;
  csched_lock_unlock(&lock);
}

static void wait_for_cond(void) {
  csched_time deadline = some_deadline();
  if (lock_owner != number(me)) return;
  lock_owner = -1;
  begin_to_wait(COND, deadline);
  bool result = csched_cond_wait_until(&cond, &lock, deadline);
  REQUIRE(lock_owner < 0, "thread %d has the lock", lock_owner);
  lock_owner = number(me);
  end_to_wait(result, me->is_woken);
}

static void signal_cond(bool all) {
  if (all) wake_all(COND);
  else wake_first(COND);
  (all ? csched_cond_broadcast : csched_cond_signal)(&cond);
}

static void take_unit(void) {
  csched_time deadline = some_deadline();
  begin_to_wait(UNIT, deadline);
  me->is_woken = units > 0;
  if (me->is_woken) units--;
  bool got = deadline == 0 ? csched_semaphore_trywait(&semaphore) : csched_semaphore_wait_until(&semaphore, deadline);
  end_to_wait(got, me->is_woken);
}

static void give_units(void) {
  unsigned count = fuzz_below(4);
  units += count;
  while (units > 0 && wake_first(UNIT)) units--;
  csched_semaphore_signal(&semaphore, count);
}

static void count_down(void) {
  unsigned count = fuzz_below(4);
  if (latch_count == 0 && waiters_for(LATCH) == 0) {
    latch_count = count;
    csched_latch_init(&latch, count);
    return;
  }
  if (count > latch_count) count = latch_count;
  latch_count -= count;
  if (latch_count == 0) wake_all(LATCH);
  csched_latch_count_down(&latch, count);
}

static void wait_for_latch(void) {
  csched_time deadline = some_deadline();
  begin_to_wait(LATCH, deadline);
  me->is_woken = latch_count == 0;
  bool result = csched_latch_wait_until(&latch, deadline);
  end_to_wait(result, me->is_woken);
}

static void take_rwlock(bool writes) {
  csched_time deadline = some_deadline();
  if (me->reads || me->writes) return;
  begin_to_wait(writes ? WRITE : READ, deadline);
  bool got;
  if (writes)
    got = deadline == 0 ? csched_rwlock_trylock_write(&rwlock) : csched_rwlock_lock_write_until(&rwlock, deadline);
  else got = deadline == 0 ? csched_rwlock_trylock_read(&rwlock) : csched_rwlock_lock_read_until(&rwlock, deadline);
  bool is_free = !has_writer() && (!writes || readers() == 0);
  bool is_wanted =
      others_wait_for(WRITE) || others_wait_for(READ); // a reader that had to wait excludes all for a moment
  end_to_wait(got, got ? is_free : is_free && !is_wanted);
  *(writes ? &me->writes : &me->reads) = got;
}

static void drop_rwlock(void) {
  bool reads = me->reads, writes = me->writes;
  me->reads = me->writes = false;
  if (reads) csched_rwlock_unlock_read(&rwlock);
  if (writes) csched_rwlock_unlock_write(&rwlock);
}

// MARK: a group, and its notices

typedef struct notice {
  csched_job job;
  csched_group_notice notice;
  enum { FREE, GIVEN, SUBMITTED } state;
  uint64_t order;
} notice;
static notice notices[NOTICES];
static uint64_t orders;

static void end_of_group(void) {
  wake_all(GROUP);
  for (int i = 0; i < NOTICES; i++)
    if (notices[i].state == GIVEN) notices[i].state = SUBMITTED;
}

static void notice_runs(csched_job *job) {
  notice *this = (notice *)job;
  REQUIRE(this->state == SUBMITTED, "a notice comes in %d", (int)this->state);
  for (int i = 0; i < NOTICES; i++)
    REQUIRE(notices[i].state != SUBMITTED || notices[i].order >= this->order, "a notice overtakes another one");
}

static void notice_ends(csched_job *job) { ((notice *)job)->state = FREE; }

static void notify(void) {
  notice *this = &notices[fuzz_below(NOTICES)];
  if (this->state != FREE) return;
  this->state = group_count == 0 ? SUBMITTED : GIVEN;
  this->order = ++orders;
  csched_group_notify(&group, &this->notice, csched_loop_target(loop), &this->job);
}

static void enter(void) {
  unsigned count = fuzz_below(3);
  group_count += count;
  csched_group_enter(&group, count);
}

static void leave(void) {
  if (group_count == 0) return;
  if (--group_count == 0) end_of_group();
  csched_group_leave(&group);
}

static void wait_for_group(void) {
  csched_time deadline = some_deadline();
  begin_to_wait(GROUP, deadline);
  me->is_woken = group_count == 0;
  bool result = csched_group_wait_until(&group, deadline);
  end_to_wait(result, me->is_woken);
}

// MARK: an event

static void merge(void);

static void take_value(csched_event *event, uint64_t value) {
  (void)event;
  REQUIRE(!is_cancelled && value == merged && value != 0, "reported %llu, merged %llu", (unsigned long long)value,
          (unsigned long long)merged);
  merged = 0;
  if (fuzz_below(4) == 0) merge();
}

static void merge(void) {
  uint64_t value = fuzz_span();
  int answer = csched_event_merge(&event, value);
  REQUIRE(answer == (is_cancelled ? ECANCELED : 0), "a merge says %d", answer);
  if (is_cancelled) return;
  if (event.merge == CSCHED_MERGE_OR) merged |= value & CSCHED_EVENT_MOST;
  else merged = value > CSCHED_EVENT_MOST - merged ? CSCHED_EVENT_MOST : merged + value;
}

static void cancel(void) {
  csched_event_cancel(&event);
  merged = 0;
  is_cancelled = true;
}

static void run_loop(void) { // on its thread
  if (me != &actors[0]) return;
  while (csched_loop_run_ready(loop, 8) == 8) {}
  REQUIRE(merged == 0 && csched_event_is_idle(&event), "the event has not reported %llu", (unsigned long long)merged);
  for (int i = 0; i < NOTICES; i++) REQUIRE(notices[i].state != SUBMITTED, "a notice is left");
}

// MARK: one input

static void check_counts(void) {
  REQUIRE(csched_semaphore_units(&semaphore) == units, "%u units, not %u", csched_semaphore_units(&semaphore), units);
  REQUIRE(csched_latch_count(&latch) == latch_count, "%u left", csched_latch_count(&latch));
  REQUIRE(csched_group_count(&group) == group_count, "%u inside", csched_group_count(&group));
  REQUIRE(csched_rwlock_readers(&rwlock) == readers(), "%u read, not %u", csched_rwlock_readers(&rwlock), readers());
}

static void act(unsigned what) {
  TRACE("%d does %u", number(me), what);
  looks = 0;
  switch (what) {
  case 0: take_rlock(); break;
  case 1: drop_rlock(); break;
  case 2: take_lock(); break;
  case 3: drop_lock(); break;
  case 4: wait_for_cond(); break;
  case 5: signal_cond(false); break;
  case 6: signal_cond(true); break;
  case 7: take_unit(); break;
  case 8: give_units(); break;
  case 9: count_down(); break;
  case 10: wait_for_latch(); break;
  case 11: enter(); break;
  case 12: leave(); break;
  case 13: wait_for_group(); break;
  case 14: notify(); break;
  case 15: take_rwlock(false); break;
  case 16: take_rwlock(true); break;
  case 17: drop_rwlock(); break;
  case 18: merge(); break;
  case 19: run_loop(); break;
  case 20:
    if (fuzz_below(8) == 0) cancel();
    break;
  default: fuzz_pass(fuzz_span() & (((csched_time)1 << 36) - 1));
  }
  check_counts();
}

// Does this thread's operations, and reads the next one and its thread, until the input is over. Then releases all
// locks and units.
static void do_operations(void) {
  while (!fuzz_is_over() || order.thread == me) {
    if (order.thread == me) {
      order.thread = NULL;
      act(order.what);
      continue;
    }
    unsigned what = fuzz_below(22);
    actor *thread = &actors[fuzz_below(THREADS)];
    if (!thread->is_asleep) {
      order.what = what;
      order.thread = thread;
    }
    hand_to(thread);
  }
  while (rlock_owner == number(me)) drop_rlock();
  drop_lock();
  drop_rwlock();
  me->is_over = true;
}

static void *be_actor(void *argument) {
  me = argument;
  for (;;) {
    while (sem_wait(&me->go) != 0) {}
    do_operations();
    actor *next = next_thread();
    sem_post(next != NULL ? &next->go : &actors[0].go);
  }
  return NULL;
}

static void start_all(void) {
  csched_lock_passes_ = 1;        // whether a lock is handed over is not to depend on the inputs before
  csched_cond_woken_at_once_ = 1; // or with three threads no waiter would pass a broadcast on
  for (int i = 0; i < THREADS; i++) sem_init(&actors[i].go, 0, 0);
  for (int i = 1; i < THREADS; i++) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, be_actor, &actors[i]) == 0, "there is a thread");
    pthread_detach(thread);
  }
}

static void begin(void) {
  static const csched_job_type type = {notice_runs, notice_ends, notice_ends};
  unsigned rule = fuzz_byte();
  fuzz_on_sleep = sleep;
  csched_buckets_forget_();
  memset(&order, 0, sizeof order);
  memset(notices, 0, sizeof notices);
  lock_owner = rlock_owner = -1;
  rlock_depth = 0;
  units = latch_count = group_count = looks = 0;
  merged = arrivals = orders = 0;
  is_cancelled = false;
  REQUIRE(csched_loop_create(&loop) == 0, "there is a loop");
  csched_event_init(&event, csched_loop_target(loop), rule % 2 == 0 ? CSCHED_MERGE_ADD : CSCHED_MERGE_OR, take_value,
                    NULL);
  csched_semaphore_init(&semaphore, 0);
  csched_latch_init(&latch, 0);
  for (int i = 0; i < NOTICES; i++) csched_job_init(&notices[i].job, &type, NULL);
  for (int i = 0; i < THREADS; i++) actors[i].is_over = false;
}

static void end(void) {
  while (group_count > 0) leave();
  run_loop();
  check_counts();
  csched_loop_destroy(loop);
  csched_cond_destroy(&cond);
  csched_latch_destroy(&latch);
  csched_group_destroy(&group);
  csched_rwlock_destroy(&rwlock);
  csched_semaphore_destroy(&semaphore);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (me == NULL) {
    me = &actors[0];
    start_all();
  }
  fuzz_begin(data, size);
  begin();
  do_operations();
  for (actor *next; (next = next_thread()) != NULL;) hand_to(next);
  end();
  return 0;
}
