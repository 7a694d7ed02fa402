// loop.c: LP1 to LP6, LP9; timer.c: W9; serial.c: SQ4. The loop belongs to a thread of the check.

#include "../engine/model.h"

#include <CScheduler/serial.h>

#include "../../../Sources/CScheduler/platform/platform.h"

enum { JOBS = 3, TIMERS = 3 };

static csched_loop *loop;
static csched_job jobs[JOBS];
static csched_timer timers[TIMERS];
static csched_time due[TIMERS];
static model_cell last_words; // written before a stop or a close
static int ran, dropped, order[JOBS + TIMERS];
static uint32_t accepted; // bits: the jobs that the queue has accepted
static unsigned must_run; // bits: those that it had accepted before the close
static int ends;

static void note(csched_job *job) { order[ran++] = (int)(intptr_t)job->context; }
static void drop(csched_job *job) {
  (void)job;
  dropped++;
}
static void note_time(csched_job *job) {
  model_assert(csched_now() >= due[(intptr_t)job->context - JOBS]); // never early
  note(job);
}
static const csched_job_type plain = {note, drop, NULL}, timed = {note_time, drop, NULL};

static void reset(void) {
  for (intptr_t i = 0; i < JOBS; i++) csched_job_init(&jobs[i], &plain, (void *)i);
  for (intptr_t i = 0; i < TIMERS; i++) csched_timer_init(&timers[i], &timed, (void *)(JOBS + i));
  last_words = (model_cell){0};
  ran = dropped = accepted = must_run = ends = 0;
}
static void create(void) { model_assert(csched_loop_create(&loop) == 0); }
static void destroy(void) { csched_loop_destroy(loop); }

static void submit_at(int i, csched_time span) {
  due[i] = csched_time_after(csched_now(), (int64_t)span);
  csched_target_submit_at(csched_loop_target(loop), &timers[i], due[i], 0);
}

// MARK: parking

static void submit_job(void *context) { csched_target_submit(csched_loop_target(loop), &jobs[(intptr_t)context]); }
static void submit_soon(void *unused) {
  (void)unused;
  submit_at(1, 100000);
}
static void stop(void *unused) {
  (void)unused;
  model_write(&last_words, 1);
  csched_loop_end_run(loop);
}
static void run_two_jobs(void *unused) {
  (void)unused;
  create();
  model_spawn(submit_job, (void *)0);
  model_spawn(submit_job, (void *)1);
  while (ran < 2) model_assert(csched_loop_run_once(loop, CSCHED_FOREVER));
}

// The only timer that ends the sleep comes from outside; a far one, or none, is there already.
static void run_until_soon(void *far) {
  create();
  if (far != NULL) csched_target_submit_at(csched_loop_target(loop), &timers[0], CSCHED_FOREVER, 0);
  model_spawn(submit_soon, NULL);
  model_assert(csched_loop_run_once(loop, CSCHED_FOREVER) && ran == 1 && order[0] == JOBS + 1);
}

static void run_until_stopped(void *unused) {
  (void)unused;
  create();
  model_spawn(stop, NULL);
  model_spawn(submit_job, (void *)0);
  model_assert(csched_loop_run(loop) == CSCHED_RUN_ENDED && model_read(&last_words) == 1);
}
static void all_accounted(void) {
  destroy();
  model_assert(ran + dropped == 1);
}

static void run_for_a_while(void *unused) {
  (void)unused;
  create();
  csched_time end = csched_time_after(csched_now(), 200000);
  model_spawn(submit_job, (void *)0);
  model_assert(csched_loop_run_until(loop, end) == CSCHED_RUN_TIMED_OUT && csched_now() >= end);
}

// MARK: order of timers

static void run_timers(void *unused) {
  (void)unused;
  create();
  submit_at(0, 300000);
  submit_at(1, 90000);
  due[2] = due[1]; // equal: in the order of submission
  csched_target_submit_at(csched_loop_target(loop), &timers[2], due[2], 0);
  while (ran < TIMERS) model_assert(csched_loop_run_once(loop, CSCHED_FOREVER));
}
static void in_order(void) {
  model_assert(order[0] == JOBS + 1 && order[1] == JOBS + 2 && order[2] == JOBS);
  destroy();
}

static void cancel_first(void *unused) {
  (void)unused;
  csched_timer_cancel(&timers[0]);
}
static void run_and_cancel(void *unused) {
  (void)unused;
  create();
  submit_at(0, 60000);
  submit_at(1, 60000);
  model_spawn(cancel_first, NULL);
  while (ran + dropped < 2) csched_loop_run_once(loop, csched_time_after(csched_now(), 100000));
}
static void one_of_each(void) {
  model_assert(ran + dropped == 2 && order[ran - 1] == JOBS + 1);
  destroy();
}

// MARK: batches

enum { MANY = 18 };       // more than a batch takes of a kind
enum { SOON = 10000000 }; // so that nothing is late when it is submitted
static csched_timer many[MANY];
static csched_job others[MANY];
static csched_serial *queue;
static int counted, counted_at_job, come_again;

static void count(csched_job *job) {
  (void)job;
  counted++;
}
static void note_count(csched_job *job) {
  (void)job;
  counted_at_job = counted;
}
static const csched_job_type counting = {count, drop, NULL}, looking = {note_count, drop, NULL};

static void begin_batches(void) {
  create();
  model_assert(csched_serial_create(&queue, csched_loop_target(loop)) == 0);
  for (int i = 0; i < MANY; i++) {
    csched_timer_init(&many[i], &counting, NULL);
    csched_job_init(&others[i], &counting, NULL);
  }
  counted = come_again = 0;
  counted_at_job = -1;
}
static void run_all(int wanted) {
  while (counted < wanted || counted_at_job < 0) model_assert(csched_loop_run_once(loop, CSCHED_FOREVER));
  csched_serial_destroy(queue);
}
static void in_a_batch(void) {
  model_assert(counted_at_job < MANY);
  destroy();
}

// Timers that ask for an instant that has passed, again and again, and a job that comes while the first of them runs.
static void ask_for_the_past(csched_job *job) {
  if (counted++ == 0) {
    csched_job_init(&jobs[0], &looking, NULL);
    csched_target_submit(csched_loop_target(loop), &jobs[0]);
  }
  if (++come_again < 2 * MANY) csched_target_submit_at(csched_loop_target(loop), (csched_timer *)job, due[0], 0);
}
static const csched_job_type asking = {ask_for_the_past, drop, NULL};
static void run_beside_the_past(void *unused) {
  (void)unused;
  begin_batches();
  due[0] = csched_time_after(csched_now(), SOON);
  for (int i = 0; i < 2; i++) {
    csched_timer_init(&many[i], &asking, NULL);
    csched_target_submit_at(csched_loop_target(loop), &many[i], due[0], 0);
  }
  run_all(2 * MANY);
}
static void next_batch(void) {
  model_assert(counted_at_job <= 2); // each of the two once
  destroy();
}

static void call_job(csched_job *unused) {
  (void)unused;
  csched_job_init(&jobs[0], &looking, NULL);
  csched_target_submit(csched_loop_target(loop), &jobs[0]);
}
static const csched_job_type calling = {call_job, drop, NULL};
static void run_beside_many_timers(void *unused) {
  (void)unused;
  begin_batches();
  csched_time soon = csched_time_after(csched_now(), SOON);
  for (int i = 0; i < MANY; i++) csched_target_submit_at(csched_loop_target(loop), &many[i], soon, 0);
  csched_timer_init(&timers[0], &calling, NULL); // the job comes when the batch has begun
  csched_target_submit_at(csched_loop_target(loop), &timers[0], soon - 1, 0);
  csched_nap_(2 * SOON);
  run_all(MANY);
}
static void run_beside_many_jobs(void *unused) {
  (void)unused;
  begin_batches();
  csched_timer_init(&many[0], &looking, NULL);
  csched_target_submit_at(csched_loop_target(loop), &many[0], csched_time_after(csched_now(), SOON), 0);
  for (int i = 0; i < MANY; i++) csched_target_submit(csched_loop_target(loop), &others[i]);
  csched_nap_(2 * SOON);
  run_all(MANY);
}
static void run_beside_a_queue(void *unused) {
  (void)unused;
  begin_batches();
  for (int i = 0; i < MANY; i++) csched_target_submit(csched_serial_target(queue), &others[i]);
  csched_job_init(&jobs[0], &looking, NULL);
  csched_target_submit(csched_loop_target(loop), &jobs[0]);
  run_all(MANY);
}

// Due timers of another target than the loop, more than a batch takes, at a close.
static csched_target elsewhere;
static int perform(csched_target *target, csched_job *job) {
  csched_target_perform(target, job);
  return 0;
}
static int wait_in_loop(csched_target *target, csched_timer *timer, csched_time deadline, csched_time leeway) {
  (void)target;
  csched_target *base = csched_loop_target(loop);
  return base->type->deliver_at(base, timer, deadline, leeway);
}
static const csched_target_type performing = {.deliver = perform, .deliver_at = wait_in_loop};
static void close_with_many_due(void *unused) {
  (void)unused;
  begin_batches();
  elsewhere.type = &performing;
  csched_time soon = csched_time_after(csched_now(), SOON);
  for (int i = 0; i < MANY; i++) csched_target_submit_at(&elsewhere, &many[i], soon, 0);
  csched_nap_(2 * SOON);
  csched_loop_close(loop, CSCHED_STOP_RUN);
  model_assert(csched_loop_run(loop) == CSCHED_RUN_CLOSED && counted == MANY);
  counted_at_job = 0;
  csched_serial_destroy(queue);
}

// MARK: equal deadlines, one way and the other

static csched_time instant;
static void
come_late(csched_job *job) { // the one with the first run has another before it in the timers, the second has not
  csched_timer *late = job == &timers[0].job ? &many[0] : &many[1];
  csched_target_submit_at(csched_loop_target(loop), late, instant, 0);
}
static const csched_job_type bringing = {come_late, drop, NULL};
static csched_job_type noting;
static void bring_two(void *unused) {
  (void)unused;
  begin_batches();
  instant = csched_time_after(csched_now(), SOON);
  noting = (csched_job_type){note, drop, NULL};
  for (intptr_t i = 0; i < 2; i++) {
    csched_timer_init(&timers[i], &bringing, NULL);
    csched_timer_init(&many[i], &noting, (void *)i);
    csched_target_submit_at(csched_loop_target(loop), &timers[i], instant, 0);
  }
  csched_nap_(2 * SOON);
  while (ran < 2) model_assert(csched_loop_run_once(loop, CSCHED_FOREVER));
  csched_serial_destroy(queue);
}
static void first_first(void) {
  model_assert(ran == 2 && order[0] == 0 && order[1] == 1);
  destroy();
}

// To a queue on the loop: the first may be on its way there when the second comes late.
static void submit_two_at(void *unused) {
  (void)unused;
  for (int i = 0; i < 2; i++) csched_target_submit_at(csched_serial_target(queue), &many[i], instant, 0);
}
static void run_queue(void *unused) {
  (void)unused;
  begin_batches();
  instant = csched_time_after(csched_now(), 20000);
  noting = (csched_job_type){note, drop, NULL};
  for (intptr_t i = 0; i < 2; i++) csched_timer_init(&many[i], &noting, (void *)i);
  model_spawn(submit_two_at, NULL);
  while (ran < 2) csched_loop_run_once(loop, csched_time_after(csched_now(), 200000));
  csched_serial_destroy(queue);
}

// Two of this thread, which come late, and two of another one, whose instant is earlier: the first of those may come in
// when its instant has passed already. This thread's come at the end of a batch, or in the middle.
static csched_time earlier;
static void submit_earlier(void *unused) {
  (void)unused;
  for (int i = 2; i < 4; i++) csched_target_submit_at(csched_loop_target(loop), &many[i], earlier, 0);
}
static void come_both_late(csched_job *unused) {
  (void)unused;
  while ((instant = csched_now()) < earlier) {} // others may stand still meanwhile, which a nap would not allow
  for (int i = 0; i < 2; i++) csched_target_submit_at(csched_loop_target(loop), &many[i], instant, 0);
}
static const csched_job_type bringing_both = {come_both_late, drop, NULL};
static void run_two_late(void *fillers) {
  begin_batches();
  noting = (csched_job_type){note, drop, NULL};
  for (intptr_t i = 0; i < 4; i++) csched_timer_init(&many[i], &noting, (void *)i);
  for (intptr_t i = 0; i < (intptr_t)fillers; i++) csched_target_submit(csched_loop_target(loop), &others[i]);
  csched_job_init(&jobs[0], &bringing_both, NULL);
  csched_target_submit(csched_loop_target(loop), &jobs[0]);
  earlier =
      csched_time_after(csched_now(), 45000); // not yet due at the next reading of the clock, due some readings later
  model_spawn(submit_earlier, NULL);
  while (ran < 4) csched_loop_run_once(loop, csched_time_after(csched_now(), 200000));
  csched_serial_destroy(queue);
}
static void each_in_order(void) {
  int place[4];
  model_assert(ran == 4);
  for (int i = 0; i < 4; i++) place[order[i]] = i;
  model_assert(place[0] < place[1] && place[2] < place[3]);
  destroy();
}

// MARK: closing

static void close_run(void *unused) {
  (void)unused;
  model_write(&last_words, 1);
  csched_loop_close(loop, CSCHED_STOP_RUN);
}
static void close_drop(void *unused) {
  (void)unused;
  model_write(&last_words, 1);
  csched_loop_close(loop, CSCHED_STOP_DROP);
}
static void run_until_closed(void *policy) {
  create();
  csched_target_submit(csched_loop_target(loop), &jobs[0]);
  csched_target_submit_at(csched_loop_target(loop), &timers[0], CSCHED_FOREVER, 0);
  model_spawn(policy != NULL ? close_drop : close_run, NULL);
  model_spawn(submit_job, (void *)1);
  model_assert(csched_loop_run(loop) == CSCHED_RUN_CLOSED && model_read(&last_words) == 1);
}
// A queue on the loop. What it has accepted before the close runs, also if a thread is still inside of its submission.
static csched_serial *queue;
static void submit_to_queue(void *context) {
  intptr_t i = (intptr_t)context;
  if (csched_target_submit(csched_serial_target(queue), &jobs[i]) == 0) csched_fetch_add_release(&accepted, 1u << i);
}
static void close_with_queue(void *unused) {
  (void)unused;
  must_run = csched_load_acquire(&accepted);
  csched_loop_close(loop, CSCHED_STOP_RUN);
}
static void run_with_queue(void *unused) {
  (void)unused;
  create();
  model_assert(csched_serial_create(&queue, csched_loop_target(loop)) == 0);
  for (intptr_t i = 0; i < 2; i++) model_spawn(submit_to_queue, (void *)i);
  model_spawn(close_with_queue, NULL);
  model_assert(csched_loop_run(loop) == CSCHED_RUN_CLOSED);
}
static void accepted_ran(void) {
  model_assert(ran + dropped == 2);
  for (int i = 0; i < ran; i++) must_run &= ~(1u << order[i]);
  model_assert(must_run == 0);
  csched_serial_destroy(queue);
  destroy();
}

static void far_timer_dropped(void) {
  model_assert(ran + dropped == 3 && ran >= 1 && dropped >= 1);
  destroy();
}
static void none_lost(void) {
  model_assert(ran + dropped == 3);
  destroy();
}

// MARK: nesting

static csched_activation outer, inner;
static void run_inner(csched_job *job) {
  (void)job;
  csched_run_result result = csched_loop_run_activation(loop, &inner, CSCHED_FOREVER);
  model_assert(result == CSCHED_RUN_ENDED && csched_load_relaxed(&inner.ended) == 1);
  ends = ends * 10 + 1;
}
static const csched_job_type nesting = {run_inner, drop, NULL};
static void stop_outer(void *unused) {
  (void)unused;
  model_write(&last_words, 1);
  csched_activation_end_run(&outer);
}
static void stop_inner(void *unused) {
  (void)unused;
  csched_activation_end_run(&inner);
}
static void own_a_loop(void *unused) {
  (void)unused;
  create();
  csched_activation_init(&outer, loop);
  csched_activation_init(&inner, loop);
  csched_job_init(&jobs[0], &nesting, NULL);
  csched_target_submit(csched_loop_target(loop), &jobs[0]);
  model_spawn(stop_outer, NULL);
  model_spawn(stop_inner, NULL);
  model_assert(csched_loop_run_activation(loop, &outer, CSCHED_FOREVER) == CSCHED_RUN_ENDED);
  model_assert(model_read(&last_words) == 1);
  ends = ends * 10 + 2;
}
static void inner_first(void) {
  model_assert(ends == 12 || ends == 2); // the inner one ends first, or the outer was stopped before it began
  destroy();
}

// MARK: runs until done

static void submit_and_unref(void *unused) {
  (void)unused;
  csched_target_submit(csched_loop_target(loop), &jobs[0]);
  model_write(&last_words, 1);
  csched_loop_unref(loop);
}
static void run_until_done(void *unused) {
  (void)unused;
  create();
  csched_loop_ref(loop);
  model_spawn(submit_and_unref, NULL);
  model_assert(csched_loop_run_until_done(loop) == CSCHED_RUN_DONE && model_read(&last_words) == 1);
}
static void done_and_ran(void) {
  model_assert(ran == 1);
  destroy();
}

const model_check loop_checks[] = {
    {"loop: a run until done ends when another thread's work has come", reset, done_and_ran,
     THREADS({run_until_done})},                                                                             // LP1, LP5
    {"loop: submissions against parking", reset, destroy, THREADS({run_two_jobs})},                          // LP1, LP2
    {"loop: an earlier timer from outside ends the sleep", reset, destroy, THREADS({run_until_soon, true})}, // LP1
    {"loop: a first timer from outside ends the sleep", reset, destroy, THREADS({run_until_soon})},          // LP1
    {"loop: stop against submit and parking", reset, all_accounted, THREADS({run_until_stopped})},           // LP1, LP5
    {"loop: a run with a deadline ends, not before it", reset, all_accounted, THREADS({run_for_a_while})},   // LP5
    {"loop: timers run in order, never early", reset, in_order, THREADS({run_timers})},                      // LP3, LP4
    {"loop: a timer against its cancel, beside another", reset, one_of_each, THREADS({run_and_cancel})},     // LP4
    {"loop: timers that ask for the past wait for the next batch", reset, next_batch,
     THREADS({run_beside_the_past})},                                                            // LP3, W9
    {"loop: a job among many due timers", reset, in_a_batch, THREADS({run_beside_many_timers})}, // LP3
    {"loop: a due timer among many jobs", reset, in_a_batch, THREADS({run_beside_many_jobs})},   // LP3
    {"loop: a job among many of a queue", reset, in_a_batch, THREADS({run_beside_a_queue})},     // LP3, SQ4
    {"loop: closed to run: all due timers of other targets are delivered", reset, in_a_batch,
     THREADS({close_with_many_due})},                                                                     // LP6
    {"loop: equal deadlines that come late, inside of timers", reset, first_first, THREADS({bring_two})}, // LP9, W9
    {"loop: equal deadlines of a queue, one in delivery", reset, first_first, THREADS({run_queue})},      // LP9, W9
    {"loop: equal deadlines that come late, beside earlier ones", reset, each_in_order,
     THREADS({run_two_late})}, // LP9, W9
    {"loop: equal deadlines that come late at the end of a batch", reset, each_in_order,
     THREADS({run_two_late, 15})}, // LP9, W9
    {"loop: closed to run: accepted jobs are run, far timers are dropped", reset, far_timer_dropped,
     THREADS({run_until_closed})}, // LP6
    {"loop: closed to run: a queue on it runs what it has accepted", reset, accepted_ran,
     THREADS({run_with_queue})},                                                                    // LP14, SQ13
    {"loop: closed to drop: nothing is lost", reset, none_lost, THREADS({run_until_closed, true})}, // LP6
    {"loop: nested activations end by their own stops", reset, inner_first, THREADS({own_a_loop})}, // LP5
    {NULL, NULL, NULL},
};
