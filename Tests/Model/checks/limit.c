// limit.c: LM1 to LM5, LM7, LM9, LM10, on a base of two threads, and on a base that refuses.

#include "crew.h"

#include <errno.h>

enum { JOBS = 4 };

// MARK: the limit

static csched_limit *limit;
static csched_job jobs[JOBS];
static model_cell owned; // at a limit of one the permits are its order
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
  crew_start(workers);
  for (intptr_t i = 0; i < JOBS; i++) csched_job_init(&jobs[i], &type, (void *)i);
  owned = (model_cell){0};
  inside = ran = dropped = refusals = 0;
  most = limit_to;
  left = users;
  open = of_jobs;
  model_assert(csched_limit_create(&limit, &crew.target, most) == 0);
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

// The handle is given up when all jobs have been released, as by the owner of timers: the threads that deliver them may
// not have returned.
static void release_told(csched_job *unused) {
  (void)unused;
  if (csched_fetch_add_acq_rel(&open, UINT32_MAX) == 1) csched_futex_wake_(&open, 1);
}
static const csched_job_type told_type = {run, drop, release_told};
static void submit_one(void *job) { submit((int)(intptr_t)job); }
static void give_up(void *unused) {
  (void)unused;
  for (uint32_t seen; (seen = csched_load_acquire(&open)) != 0;) csched_futex_wait_(&open, seen, CSCHED_FOREVER);
  csched_limit_destroy(limit);
  close_crew(false);
}
static void given_up_early(void) {
  start(1, 1, 0, 2);
  for (intptr_t i = 0; i < 2; i++) csched_job_init(&jobs[i], &told_type, (void *)i);
  model_spawn(submit_one, (void *)0);
  model_spawn(submit_one, (void *)1);
  model_spawn(give_up, NULL);
}

static void two_ran(void) { model_assert(ran == 2); }

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

// `barriers` has one bit for each job: set if the job is a barrier. Barriers write the cells, other jobs read them.
static unsigned barriers;
static model_cell written;
static int writers;
static void run_either(csched_job *job) {
  bool is_writer = (barriers >> (intptr_t)job->context & 1) != 0;
  model_assert(csched_target_current() ==
               (is_writer ? csched_limit_barrier_target(limit) : csched_limit_target(limit)));
  inside++;
  writers += is_writer;
  model_assert(writers == 0 || inside == 1);
  if (is_writer) model_write(&written, model_read(&written) + 1);
  else model_read(&written);
  csched_nap_(1000);
  model_assert(writers == 0 || inside == 1);
  order[ran++] = (int)(intptr_t)job->context;
  writers -= is_writer;
  inside--;
}
static const csched_job_type either_type = {run_either, drop, release};
static void start_barriers(int limit_to, unsigned users, unsigned of_jobs, unsigned which) {
  start(limit_to, 2, users, of_jobs);
  for (intptr_t i = 0; i < JOBS; i++) csched_job_init(&jobs[i], &either_type, (void *)i);
  barriers = which;
  written = (model_cell){0};
  writers = 0;
}
static void submit_either(int job) {
  csched_target *target = (barriers >> job & 1) != 0 ? csched_limit_barrier_target(limit) : csched_limit_target(limit);
  model_assert(csched_target_submit(target, &jobs[job]) == 0);
}
static void submit_either_two(void *context) {
  int first = (int)(intptr_t)context;
  submit_either(first);
  submit_either(first + 1);
  leave();
}
static void submit_either_four(void *unused) {
  (void)unused;
  for (int i = 0; i < JOBS; i++) submit_either(i);
  leave();
}
static void one_barrier(void) {
  start_barriers(2, 1, 4, 4); // two, the barrier, one more
  model_spawn(submit_either_four, NULL);
}
static void barrier_between(void) { model_assert(ran == JOBS && place(2) == 2 && place(3) == 3); }
static void two_after(void) {
  start_barriers(2, 1, 4, 2); // the barrier is the second
  model_spawn(submit_either_four, NULL);
}
static const csched_target_type queueing_type = {.deliver = deliver, .may_help_ = may_help, .only_enqueues_ = true};
static void two_after_queued(void) { // permits are submitted as a list
  two_after();
  crew.target.type = &queueing_type;
}
static void barrier_second(void) { model_assert(ran == JOBS && place(0) == 0 && place(1) == 1); }
static void two_barriers(void) {
  start_barriers(2, 2, 4, 2 | 4);
  model_spawn(submit_either_two, (void *)0);
  model_spawn(submit_either_two, (void *)2);
}
static void both_alone(void) {
  model_assert(ran == JOBS && written.value == 2 && place(0) < place(1) && place(2) < place(3));
}

// The first one goes on until the last one has run, which a cancelled barrier must not keep from going.
static uint32_t last_ran; // futex
static void await_last(csched_job *unused) {
  (void)unused;
  while (csched_load_acquire(&last_ran) == 0) csched_futex_wait_(&last_ran, 0, CSCHED_FOREVER);
  ran++;
}
static void be_last(csched_job *unused) {
  (void)unused;
  ran++;
  csched_store_release(&last_ran, 1u);
  csched_futex_wake_(&last_ran, 1);
}
static const csched_job_type awaiting_type = {await_last, drop, release}, last_type = {be_last, drop, release};
static void cancel_barrier(void *unused) {
  (void)unused;
  for (int i = 0; i < 2; i++) submit_either(i);
  csched_job_cancel(&jobs[1]);
  submit_either(2);
  leave();
}
static void cancelled_barrier(void) {
  start_barriers(2, 1, 3, 2);
  last_ran = 0;
  csched_job_init(&jobs[0], &awaiting_type, NULL);
  csched_job_init(&jobs[2], &last_type, NULL);
  model_spawn(cancel_barrier, NULL);
}
static void passed_over(void) { model_assert(ran == 2 && dropped == 1); }

// A queue on it whose jobs are waited for from inside of a permit.
static csched_serial *queue;
static csched_target *outside; // what the job is submitted to that waits
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
  model_assert(csched_target_submit(outside, &jobs[0]) == 0);
  while (!csched_job_is_idle(&jobs[0])) csched_nap_(1000);
  close_crew(false);
}
static const csched_job_type waiting_type = {wait_inside, NULL, waited};
static void start_waiting(int limit_to, bool in_barrier, bool for_barrier) {
  start(limit_to, 2, 1, 0);
  csched_job_init(&jobs[0], &waiting_type, NULL);
  csched_target *targets[] = {csched_limit_target(limit), csched_limit_barrier_target(limit)};
  outside = targets[in_barrier];
  model_assert(csched_serial_create(&queue, targets[for_barrier]) == 0);
  model_spawn(end_crew, NULL);
}
static void wait_at_one(void) { start_waiting(1, false, false); }
static void wait_at_two(void) { start_waiting(2, false, false); }
static void wait_in_barrier(void) { start_waiting(2, true, false); }
static void wait_for_barrier(void) { start_waiting(2, false, true); }
static void is_deadlock(void) { model_assert(result == EDEADLK); }
static void let_through(void) { model_assert(result == 0); }

// Syncs of a queue on it, which need no thread of the base: the crew begins when they have returned.
static uint32_t syncing;
static void sync_queue(void *inside) {
  if (inside != NULL) model_assert(csched_target_submit(csched_limit_target(limit), inside) == 0);
  model_assert(csched_serial_sync(queue, nothing, NULL) == 0);
  if (csched_fetch_add_acq_rel(&syncing, UINT32_MAX) != 1) return;
  csched_serial_destroy(queue);
  leave();
  close_crew(false);
  work(NULL);
}
static void start_helping(int limit_to, int workers, unsigned helpers) {
  start(limit_to, workers, 1, 0);
  syncing = helpers;
  open = JOBS + 1; // the last sync ends the crew
  model_assert(csched_serial_create(&queue, csched_limit_target(limit)) == 0);
  for (unsigned i = 0; i < helpers; i++) model_spawn(sync_queue, &jobs[i]);
}
static void helped_at_one(void) { start_helping(1, 0, 2); }
static void helped_at_two(void) { start_helping(2, 0, 2); }
static void helped_beside(void) { start_helping(2, 1, 2); }

// A wait inside of each permit: the waiting jobs make room for the queue that they wait for.
static void wait_together(csched_job *unused) {
  (void)unused;
  csched_fetch_add_relaxed(&open, UINT32_MAX);
  while (csched_load_relaxed(&open) > 0) csched_nap_(1000); // all permits are IN USE
  model_assert(csched_serial_sync(queue, nothing, NULL) == 0);
}
static void waited_together(csched_job *unused) {
  (void)unused;
  if (csched_fetch_add_acq_rel(&syncing, UINT32_MAX) != 1) return;
  csched_serial_destroy(queue);
  leave();
  close_crew(false);
}
static const csched_job_type together_type = {wait_together, NULL, waited_together};
static void submit_together(void *unused) {
  (void)unused;
  for (int i = 0; i < 2; i++) {
    csched_job_init(&jobs[i], &together_type, NULL);
    model_assert(csched_target_submit(csched_limit_target(limit), &jobs[i]) == 0);
  }
}
static void waits_in_all(void) {
  start(2, 2, 1, 2);
  syncing = 2;
  model_assert(csched_serial_create(&queue, csched_limit_target(limit)) == 0);
  model_spawn(submit_together, NULL);
}
static void nothing_more(void) {}

// A job waits for a queue on the limit, behind a barrier, which waits for the job.
static void run_nothing(csched_job *unused) { (void)unused; }
static const csched_job_type alone_type = {run_nothing, NULL, waited_together};
static void wait_behind(csched_job *unused) {
  (void)unused;
  model_assert(csched_target_submit(csched_limit_barrier_target(limit), &jobs[1]) == 0);
  model_assert(csched_serial_sync(queue, nothing, NULL) == 0);
  csched_job_init(&jobs[2], &alone_type, NULL); // behind the barrier, from where the queue's work was taken
  model_assert(csched_target_submit(csched_limit_target(limit), &jobs[2]) == 0);
}
static const csched_job_type behind_type = {wait_behind, NULL, waited_together};
static void submit_behind(void *unused) {
  (void)unused;
  csched_job_init(&jobs[0], &behind_type, NULL);
  csched_job_init(&jobs[1], &alone_type, NULL);
  model_assert(csched_target_submit(csched_limit_target(limit), &jobs[0]) == 0);
}
static void waits_behind_barrier(void) {
  start(2, 2, 1, 0);
  syncing = 3;
  model_assert(csched_serial_create(&queue, csched_limit_target(limit)) == 0);
  model_spawn(submit_behind, NULL);
}

// A base that runs each job within `deliver`.
static _Thread_local int deliveries; // on this thread's stack
static int perform_at_once(csched_target *target, csched_job *job) {
  model_assert(++deliveries <= 2); // LM11: without it, one for each job
  csched_target_perform(target, job);
  deliveries--;
  return 0;
}
static const csched_target_type inline_type = {.deliver = perform_at_once};
static csched_target inline_base = {.type = &inline_type};
static void inline_lanes(int limit_to, unsigned which) {
  start_barriers(1, 2, 4, which);
  close_crew(false);
  csched_limit_destroy(limit);
  model_assert(csched_limit_create(&limit, &inline_base, limit_to) == 0);
  model_spawn(submit_either_two, (void *)0);
  model_spawn(submit_either_two, (void *)2);
}
static void run_at_once(void) { inline_lanes(1, 0); }
static void barriers_at_once(void) { inline_lanes(2, 2 | 4); }

// Two threads submit to a limit of one, where one job may wait: each waits for room.
static int accepted, started;
static void run_counted(csched_job *job) {
  started++;
  run(job);
}
static const csched_job_type counted_type = {run_counted, drop, release};
static void submit_for_room(int job) {
  if (csched_target_submit(csched_limit_target(limit), &jobs[job]) != 0) {
    refusals++;
    return;
  }
  accepted++;
  model_assert(crew.closed || accepted - started <= 2); // one waits, and one has the permit; or some are being dropped
}
static void submit_two_for_room(void *context) {
  int first = (int)(intptr_t)context;
  submit_for_room(first);
  submit_for_room(first + 1);
  leave();
}
static void start_full(int workers, unsigned users) {
  start(1, workers, users, 4);
  accepted = started = 0;
  for (intptr_t i = 0; i < JOBS; i++) csched_job_init(&jobs[i], &counted_type, (void *)i);
  csched_limit_bound(limit, 1, CSCHED_FULL_BLOCK);
  model_spawn(submit_two_for_room, (void *)0);
  model_spawn(submit_two_for_room, (void *)2);
}
static void full(void) { start_full(1, 2); }
static void full_of_queues(void) { // the base has no helpers: the submitters sleep
  start_full(1, 2);
  static const csched_target_type plain_type = {.deliver = deliver};
  crew.target.type = &plain_type;
}
static void full_and_refused(void) {
  start_full(1, 3);
  model_spawn(refuse, NULL);
}
// On a base that keeps what it gets: what waits is counted, and no more when it has got a permit.
static csched_job *kept;
static int keep(csched_target *target, csched_job *job) {
  (void)target;
  model_assert(kept == NULL);
  kept = job;
  return 0;
}
static void perform_kept(void) {
  csched_job *job = kept;
  kept = NULL;
  csched_target_perform(&crew.target, job);
}
static void fill_again(void *unused) {
  (void)unused;
  submit(0);
  submit(1);
  submit(2);
  model_assert(refusals == 1 && dropped == 1);
  perform_kept();
  submit(3);
  model_assert(refusals == 1);
  while (kept != NULL) perform_kept();
  leave();
}
static void bounded(void) {
  static const csched_target_type keeping_type = {.deliver = keep};
  start(1, 0, 1, 4);
  crew.target.type = &keeping_type;
  csched_limit_bound(limit, 1, CSCHED_FULL_REFUSE);
  model_spawn(fill_again, NULL);
}
static void three_ran(void) { model_assert(ran == 3 && kept == NULL); }

static void all_run_or_dropped(void) { model_assert(ran + dropped == JOBS && refusals <= dropped); }

const model_check limit_checks[] = {
    {"limit: two submitters, one permit: one at a time, in order", one_lane, all_in_order},      // LM1, LM2, LM3, LM5
    {"limit: two permits, four jobs", two_lanes, all_ran},                                       // LM1, LM2, LM5
    {"limit: submissions wait for room, and run jobs meanwhile", full, all_in_order},            // LM13, LM14, LM10
    {"limit: submissions wait for room, asleep", full_of_queues, all_in_order},                  // LM13, LM14
    {"limit: a wait for room ends when the base refuses", full_and_refused, all_run_or_dropped}, // LM14, LM4
    {"limit: a bound counts what waits", bounded, three_ran},                                    // LM13
    {"limit: given up while its jobs' submitters return", given_up_early, two_ran},              // LM5
    {"limit: a base that refuses", refused, run_or_dropped},                                     // LM4
    {"limit: a wait inside of the only permit is reported", wait_at_one, is_deadlock},           // LM7
    {"limit: a wait inside of one of two permits ends", wait_at_two, let_through},               // LM7
    {"limit: syncs need no thread of the base, at a limit of one", helped_at_one, two_ran},      // LM10, LM1
    {"limit: syncs need no thread of the base, at a limit of two", helped_at_two, two_ran},      // LM10, LM2
    {"limit: syncs beside a thread of the base", helped_beside, two_ran},                        // LM10, LM1, LM5
    {"limit: waits inside of all permits end", waits_in_all, nothing_more},                      // LM10
    {"limit: a wait behind a barrier ends", waits_behind_barrier, nothing_more},                 // LM9, LM10
    {"limit: of one, on a base that runs jobs at once", run_at_once, all_ran},                   // LM11, LM3, LM5
    {"limit: with barriers, on a base that runs jobs at once", barriers_at_once, all_ran},       // LM11, LM9
    {"limit: a barrier behind two jobs, and one job behind it", one_barrier, barrier_between},   // LM9, LM2
    {"limit: two jobs behind a barrier", two_after, barrier_second},                             // LM9, LM2
    {"limit: two jobs behind a barrier, on a base that only queues", two_after_queued, barrier_second}, // LM9, LM2
    {"limit: two submitters of barriers", two_barriers, both_alone},                                    // LM9, LM3, LM5
    {"limit: a barrier that is cancelled", cancelled_barrier, passed_over},                             // LM9
    {"limit: a wait inside of a barrier is reported", wait_in_barrier, is_deadlock},                    // LM7
    {"limit: a wait for a barrier inside of a permit is reported", wait_for_barrier, is_deadlock},      // LM7
    {NULL, NULL, NULL},
};
