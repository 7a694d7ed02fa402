// limit.c: LM1 to LM5, LM7, on a base of two threads, and on one that refuses.

#include "../engine/model.h"

#include "../../../Sources/CScheduler/platform/platform.h"

#include <errno.h>

enum { JOBS = 4, WORKERS = 2 };

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
static const csched_target_type crew_type = {.deliver = deliver};

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

// MARK: the limit

static csched_limit *limit;
static csched_job jobs[JOBS];
static model_cell owned; // at a limit of one the lanes are its order
static int most, inside, ran, dropped, refusals, order[JOBS];
static uint32_t left; // users of the handle
static uint32_t open; // jobs that have not been released

// The last one to leave gives the handle up, and the last job, which may be released later, lets the base end.
static void leave(void) {
  if (csched_fetch_add_acq_rel(&left, UINT32_MAX) == 1) csched_limit_destroy(limit);
}

static void run(csched_job *job) {
  model_assert(csched_target_current() == csched_limit_target(limit));
  model_assert(++inside <= most);
  if (most == 1) model_write(&owned, model_read(&owned) + 1);
  csched_nap_(1000);
  order[ran++] = (int)(intptr_t)job->context;
  inside--;
}
static void drop(csched_job *job) {
  (void)job;
  dropped++;
}
static void release(csched_job *job) {
  (void)job;
  if (csched_fetch_add_acq_rel(&open, UINT32_MAX) == 1) close_crew(false);
}
static const csched_job_type type = {run, drop, release};

static void start(int limit_to, int workers, unsigned users, unsigned of_jobs) {
  crew.target.type = &crew_type;
  crew.lock.owner = 0;
  crew.first = NULL;
  crew.last = &crew.first;
  crew.changes = 0;
  crew.closed = crew.ended = false;
  for (intptr_t i = 0; i < JOBS; i++) csched_job_init(&jobs[i], &type, (void *)i);
  owned = (model_cell){0};
  inside = ran = dropped = refusals = 0;
  most = limit_to;
  left = users;
  open = of_jobs;
  model_assert(csched_limit_create(&limit, &crew.target, most) == 0);
  for (int i = 0; i < workers; i++) model_spawn(work, NULL);
}

static void submit(int job) {
  if (csched_target_submit(csched_limit_target(limit), &jobs[job]) != 0) refusals++;
}
static void submit_two(void *context) {
  int first = (int)(intptr_t)context;
  submit(first);
  submit(first + 1);
  leave();
}
static void one_lane(void) {
  start(1, 2, 2, 4);
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

static void submit_four(void *unused) {
  (void)unused;
  for (int i = 0; i < JOBS; i++) submit(i);
  leave();
}
static void two_lanes(void) {
  start(2, 2, 1, 4);
  model_spawn(submit_four, NULL);
}
static void all_ran(void) { model_assert(ran == JOBS); }

static void refuse(void *unused) {
  (void)unused;
  close_crew(true);
  leave();
}
static void submit_three(void *unused) {
  (void)unused;
  for (int i = 0; i < 3; i++) submit(i);
  leave();
}
static void refused(void) {
  start(1, 1, 2, 3);
  model_spawn(submit_three, NULL);
  model_spawn(refuse, NULL);
}
static void run_or_dropped(void) { model_assert(ran + dropped == 3 && refusals <= dropped); }

// A queue on it whose jobs are waited for from inside of a lane.
static csched_serial *queue;
static int result;
static void nothing(void *unused) { (void)unused; }
static void wait_inside(csched_job *unused) {
  (void)unused;
  result = csched_serial_sync(queue, nothing, NULL);
}
static void waited(csched_job *unused) {
  (void)unused;
  csched_serial_destroy(queue);
  leave();
}
static void end_crew(void *unused) {
  (void)unused;
  model_assert(csched_target_submit(csched_limit_target(limit), &jobs[0]) == 0);
  while (!csched_job_is_idle(&jobs[0])) csched_nap_(1000);
  close_crew(false);
}
static const csched_job_type waiting_type = {wait_inside, NULL, waited};
static void start_waiting(int limit_to) {
  start(limit_to, 2, 1, 0);
  csched_job_init(&jobs[0], &waiting_type, NULL);
  model_assert(csched_serial_create(&queue, csched_limit_target(limit)) == 0);
  model_spawn(end_crew, NULL);
}
static void wait_at_one(void) { start_waiting(1); }
static void wait_at_two(void) { start_waiting(2); }
static void told(void) { model_assert(result == EDEADLK); }
static void let_through(void) { model_assert(result == 0); }

const model_check limit_checks[] = {
    {"limit: two submitters, one lane: one at a time, in order", one_lane, all_in_order}, // LM1, LM2, LM3, LM5
    {"limit: two lanes, four jobs", two_lanes, all_ran},                                  // LM1, LM2, LM5
    {"limit: a base that refuses", refused, run_or_dropped},                              // LM4
    {"limit: a wait inside of the only lane is told", wait_at_one, told},                 // LM7
    {"limit: a wait inside of one of two lanes ends", wait_at_two, let_through},          // LM7
    {NULL, NULL, NULL},
};
