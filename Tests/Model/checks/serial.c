// serial.c: SQ1 to SQ7, SQ10, SQ11, on a base of two threads, and on a base that refuses.

#include "../engine/model.h"

#include "../../../Sources/CScheduler/platform/platform.h"

#include <errno.h>

enum { JOBS = 4, WORKERS = 3 };

// MARK: a base with two threads

static struct {
  csched_target target;
  csched_lock lock;
  csched_job *first, **last;
  uint32_t changes; // futex
  bool closed, ended;
} crew;

static void announce(void) {
  csched_fetch_add_release(&crew.changes, 1u);
  csched_futex_wake_(&crew.changes, WORKERS);
}
static int deliver(csched_target *unused, csched_job *job) {
  (void)unused;
  csched_lock_lock(&crew.lock);
  bool closed = crew.closed;
  if (!closed) {
    job->next = NULL;
    *crew.last = job;
    crew.last = &job->next;
  }
  csched_lock_unlock(&crew.lock);
  if (!closed) announce();
  else csched_target_discard(job);
  return closed ? ECANCELED : 0;
}
static bool may_enter(csched_target *unused) {
  (void)unused;
  return true;
}
static bool may_help(const csched_target *unused) {
  (void)unused;
  return true;
}
static const csched_target_type crew_type = {.deliver = deliver, .enter = may_enter, .may_help_ = may_help};

static void work(void *unused) {
  (void)unused;
  for (;;) {
    uint32_t seen = csched_load_acquire(&crew.changes);
    csched_lock_lock(&crew.lock);
    csched_job *job = crew.first;
    if (job != NULL && (crew.first = job->next) == NULL) crew.last = &crew.first;
    bool ended = crew.ended;
    csched_lock_unlock(&crew.lock);
    if (job != NULL) csched_target_perform(&crew.target, job);
    else if (ended) return;
    else csched_futex_wait_(&crew.changes, seen, CSCHED_FOREVER);
  }
}
static void close_crew(bool takes_no_more) {
  csched_lock_lock(&crew.lock);
  if (takes_no_more) crew.closed = true;
  else crew.ended = true;
  csched_lock_unlock(&crew.lock);
  announce();
}

// MARK: the queue

static csched_serial *serial, *other;
static csched_job jobs[JOBS];
static model_cell owned;
static int ran, dropped, order[2 * JOBS];
static uint32_t left; // users of the handle and jobs to come

// The last one to leave lets the base end.
static void leave(void) {
  if (csched_fetch_add_acq_rel(&left, UINT32_MAX) != 1) return;
  csched_serial_destroy(serial);
  if (other != NULL) csched_serial_destroy(other);
  close_crew(false);
}

static void run(csched_job *job) {
  model_assert(csched_target_current() == csched_serial_target(serial));
  model_write(&owned, model_read(&owned) + 1);
  order[ran++] = (int)(intptr_t)job->context;
}
static void drop(csched_job *job) {
  (void)job;
  dropped++;
}
static void release(csched_job *job) {
  (void)job;
  leave();
}
static const csched_job_type type = {run, drop, release};

static void start(int workers, unsigned users) {
  crew.target.type = &crew_type;
  crew.lock.owner = 0;
  crew.first = NULL;
  crew.last = &crew.first;
  crew.changes = 0;
  crew.closed = crew.ended = false;
  for (intptr_t i = 0; i < JOBS; i++) csched_job_init(&jobs[i], &type, (void *)i);
  owned = (model_cell){0};
  ran = dropped = 0;
  other = NULL;
  left = users;
  model_assert(csched_serial_create(&serial, &crew.target) == 0);
  for (int i = 0; i < workers; i++) model_spawn(work, NULL);
}

static void submit_two(void *context) {
  int first = (int)(intptr_t)context;
  csched_target_submit(csched_serial_target(serial), &jobs[first]);
  csched_target_submit(csched_serial_target(serial), &jobs[first + 1]);
  leave();
}
static void submitted(void) {
  start(2, 2 + 4);
  model_spawn(submit_two, (void *)0);
  model_spawn(submit_two, (void *)2);
}
static int place(int job) {
  for (int i = 0; i < ran; i++)
    if (order[i] == job) return i;
  return -1;
}
static void all_in_order(void) {
  model_assert(ran == JOBS && owned.value == JOBS && place(0) < place(1) && place(2) < place(3));
}

static int results[2];
static void nothing(void *unused) { (void)unused; }

static void suspend_and_resume(void *unused) {
  (void)unused;
  csched_serial_suspend(serial);
  csched_serial_resume(serial);
  leave();
}
static void suspended(void) {
  start(1, 2 + 2);
  model_spawn(submit_two, (void *)0);
  model_spawn(suspend_and_resume, NULL);
}
static void both(void) { model_assert(ran == 2 && owned.value == 2 && place(0) < place(1)); }

static void nothing_begins(void *unused) {
  (void)unused;
  csched_serial_suspend(serial);
  csched_target_submit(csched_serial_target(serial), &jobs[0]);
  csched_target_submit(csched_serial_target(serial), &jobs[1]);
  csched_nap_(100000);
  model_assert(ran == 0);
  csched_serial_resume(serial);
  leave();
}
static void held_back(void) {
  start(1, 1 + 2);
  model_spawn(nothing_begins, NULL);
}

static void by_sync(void *unused) {
  (void)unused;
  model_write(&owned, model_read(&owned) + 1);
  model_assert(csched_serial_sync(serial, by_sync, NULL) == EDEADLK);
}
static void sync_once(void *unused) {
  (void)unused;
  model_assert(csched_serial_sync(serial, by_sync, NULL) == 0);
  leave();
}
static void submit_one(void *unused) {
  (void)unused;
  csched_target_submit(csched_serial_target(serial), &jobs[0]);
  leave();
}
static void synced(void) {
  start(1, 3 + 1);
  model_spawn(sync_once, NULL);
  model_spawn(sync_once, NULL);
  model_spawn(submit_one, NULL);
}
static void three_ran(void) { model_assert(ran == 1 && owned.value == 3); }

// As above, but no thread of the base runs anything before both syncs have returned.
static void leave_and_work(void) {
  leave();
  if (crew.ended) work(NULL); // drain jobs that helpers have left behind
}
static void sync_alone(void *unused) {
  (void)unused;
  model_assert(csched_serial_sync(serial, by_sync, NULL) == 0);
  leave_and_work();
}
static void submit_and_sync(void *unused) {
  csched_target_submit(csched_serial_target(serial), &jobs[0]);
  sync_alone(unused);
}
static void unaided(void) {
  start(0, 2 + 1);
  model_spawn(sync_alone, NULL);
  model_spawn(submit_and_sync, NULL);
}
static void synced_beside_worker(void) {
  start(1, 2 + 1);
  model_spawn(sync_once, NULL);
  model_spawn(submit_and_sync, NULL);
}
static void both_synced(void) { model_assert(ran == 1 && owned.value == 3); }

// A sync of a queue on the queue: the helper runs the drain job of the upper one.
static void sync_upper(void *unused) {
  (void)unused;
  csched_target_submit(csched_serial_target(serial), &jobs[0]);
  model_assert(csched_serial_sync(other, nothing, NULL) == 0);
  leave_and_work();
}
static void sync_alone_upper(void *unused) {
  (void)unused;
  model_assert(csched_serial_sync(other, nothing, NULL) == 0);
  leave_and_work();
}
static void unaided_above(void) {
  start(0, 2 + 1);
  model_assert(csched_serial_create(&other, csched_serial_target(serial)) == 0);
  model_spawn(sync_upper, NULL);
  model_spawn(sync_alone_upper, NULL);
}
static void one_ran(void) { model_assert(ran == 1); }

// A helper's job that asks for what the helper is inside of.
static void ask_for_other(csched_job *unused) {
  (void)unused;
  model_assert(!csched_target_is_inside(csched_serial_target(other)));
  results[0] = csched_serial_sync(other, nothing, NULL);
}
static const csched_job_type asking_type = {ask_for_other, NULL, release};
static void help_inside(void *unused) {
  (void)unused;
  results[1] = csched_serial_sync(serial, nothing, NULL);
}
static void sync_both(void *unused) {
  (void)unused;
  csched_target_submit(csched_serial_target(serial), &jobs[0]);
  model_assert(csched_serial_sync(other, help_inside, NULL) == 0);
  leave_and_work();
}
static void asked(void) {
  start(0, 1 + 1);
  results[0] = results[1] = -1;
  csched_job_init(&jobs[0], &asking_type, NULL);
  model_assert(csched_serial_create(&other, &crew.target) == 0);
  model_spawn(sync_both, NULL);
}
static void asker_refused(void) { model_assert(results[0] == EDEADLK && results[1] == 0); }

// Two queues whose jobs wait for each other.
static void wait_for_other(void *unused) {
  (void)unused;
  results[0] = csched_serial_sync(other, nothing, NULL);
}
static void wait_for_first(void *unused) {
  (void)unused;
  results[1] = csched_serial_sync(serial, nothing, NULL);
}
static void sync_first(void *unused) {
  (void)unused;
  model_assert(csched_serial_sync(serial, wait_for_other, NULL) == 0);
  leave();
}
static void sync_other(void *unused) {
  (void)unused;
  model_assert(csched_serial_sync(other, wait_for_first, NULL) == 0);
  leave();
}
static void crossed(void) {
  start(3, 2); // one thread more than waiters, as in a pool that replaces blocked workers
  results[0] = results[1] = -1;
  model_assert(csched_serial_create(&other, &crew.target) == 0);
  model_spawn(sync_first, NULL);
  model_spawn(sync_other, NULL);
}
static void one_reported(void) {
  for (int i = 0; i < 2; i++) model_assert(results[i] == 0 || results[i] == EDEADLK);
  model_assert(results[0] == 0 || results[1] == 0);
}

static void refuse(void *unused) {
  (void)unused;
  close_crew(true);
  leave();
}
static void refused(void) {
  start(1, 2 + 2);
  model_spawn(submit_two, (void *)0);
  model_spawn(refuse, NULL);
}
static void run_or_dropped(void) { model_assert(ran + dropped == 2); }

static void resume_only(void *unused) {
  (void)unused;
  csched_serial_resume(serial);
}
static void resumed_for_nothing(void) {
  start(0, 1);
  model_expect_panic("is not suspended");
  model_spawn(resume_only, NULL);
}
static void stopped(void) {
  model_assert(model_panics() == 1);
  csched_serial_destroy(serial);
}

const model_check serial_checks[] = {
    {"serial: two submitters, two threads: one at a time, in order", submitted, all_in_order},    // SQ1, SQ2, SQ5
    {"serial: suspend and resume against submissions", suspended, both},                          // SQ3
    {"serial: a suspended queue begins nothing", held_back, both},                                // SQ3
    {"serial: sync, inline or in line, is one of the queue's jobs", synced, three_ran},           // SQ1, SQ7
    {"serial: queues that wait for each other get an error", crossed, one_reported},              // SQ7
    {"serial: syncs need no thread of the base", unaided, both_synced},                           // SQ10, SQ11, HL1
    {"serial: syncs beside a thread of the base", synced_beside_worker, both_synced},             // SQ1, SQ10, SQ11
    {"serial: syncs of a queue on the queue need no thread of the base", unaided_above, one_ran}, // SQ10
    {"serial: a helper's job cannot wait for the helper", asked, asker_refused},                  // SQ7, SQ10, HL2
    {"serial: a base that refuses", refused, run_or_dropped},                                     // SQ6
    {"serial: resume without suspend stops the process", resumed_for_nothing, stopped},           // SQ3
    {NULL, NULL, NULL},
};
