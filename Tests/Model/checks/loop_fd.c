// loop_fd.c: FD1 and FD2, and what loop.c owes a host. The host is a thread of the check that waits for the loop's
// descriptor.

#include "../engine/model.h"

enum { JOBS = 3 };

static csched_loop *loop;
static csched_job jobs[JOBS];
static csched_timer timer;
static csched_time due;
static csched_fd_source source;
static model_cell last_words; // written before a stop or a close
static int ran, dropped;

static void count(csched_job *job) {
  (void)job;
  ran++;
}
static void drop(csched_job *job) {
  (void)job;
  dropped++;
}
static void count_due(csched_job *job) {
  model_assert(csched_now() >= due); // never early
  count(job);
}
static const csched_job_type plain = {count, drop, NULL}, timed = {count_due, drop, NULL};

static void reset(void) {
  for (int i = 0; i < JOBS; i++) csched_job_init(&jobs[i], &plain, NULL);
  csched_timer_init(&timer, &timed, NULL);
  last_words = (model_cell){0};
  ran = dropped = 0;
}
static void create(void) { model_assert(csched_loop_create(&loop) == 0); }
static void destroy(void) {
  csched_loop_destroy(loop);
  model_assert(ran + dropped <= JOBS);
}

static void submit_job(void *context) { csched_target_submit(csched_loop_target(loop), &jobs[(intptr_t)context]); }
static void submit_soon(void *unused) {
  (void)unused;
  due = csched_time_after(csched_now(), 100000);
  csched_target_submit_at(csched_loop_target(loop), &timer, due, 0);
}
static void stop(void *unused) {
  (void)unused;
  model_write(&last_words, 1);
  csched_loop_end_run(loop);
}
static void close_run(void *unused) {
  (void)unused;
  model_write(&last_words, 1);
  csched_loop_close(loop, CSCHED_STOP_RUN);
}

// MARK: a host

static int fd_of(csched_loop *loop) {
  int fd = -1;
  model_assert(csched_loop_fd(loop, &fd) == 0);
  return fd;
}

// Runs ready jobs, `max` at a time, until `until` jobs have run. A host that is never woken is a deadlock.
static int host(int until, size_t max) {
  int fd = fd_of(loop), rounds = 0;
  for (; ran < until; rounds++) {
    model_poll(fd);
    csched_loop_run_ready(loop, max);
  }
  return rounds;
}

static void host_two(void *max) {
  create();
  model_spawn(submit_job, (void *)0);
  model_spawn(submit_job, (void *)1);
  host(2, max != NULL ? 1 : SIZE_MAX);
}

// The loop gets its host inside of a run, and another run inside of that ends before it.
static void take_fd(csched_job *job) {
  fd_of(loop);
  csched_target_submit(csched_loop_target(loop), &jobs[2]);
  csched_loop_run_ready(loop, SIZE_MAX); // leaves nothing, and the loop where it is
  count(job);
}
static const csched_job_type taking = {take_fd, drop, NULL};
static void host_inside(void *unused) {
  (void)unused;
  create();
  csched_job_init(&jobs[0], &taking, NULL);
  csched_target_submit(csched_loop_target(loop), &jobs[0]);
  model_spawn(submit_job, (void *)1);
  csched_loop_run_ready(loop, SIZE_MAX);
  host(3, 1);
}

static void host_timer(void *unused) {
  (void)unused;
  create();
  model_spawn(submit_soon, NULL);
  host(1, 1);
}

// An announcement without work for the loop, and a submission behind it: one wake may announce both.
static csched_activation elsewhere;
static void stop_and_submit(void *unused) {
  (void)unused;
  csched_activation_end_run(&elsewhere);
  csched_target_submit(csched_loop_target(loop), &jobs[0]);
}
static void host_one(void *unused) {
  (void)unused;
  create();
  csched_activation_init(&elsewhere, loop);
  model_spawn(stop_and_submit, NULL);
  host(1, SIZE_MAX);
}

static void host_until(csched_run_result wanted) {
  int fd = fd_of(loop);
  while (csched_loop_run_until(loop, 0) != wanted) {
    model_poll(fd);
    csched_loop_run_ready(loop, SIZE_MAX);
  }
  model_assert(model_read(&last_words) == 1);
}
static void host_until_stopped(void *unused) {
  (void)unused;
  create();
  model_spawn(stop, NULL);
  model_spawn(submit_job, (void *)0);
  host_until(CSCHED_RUN_ENDED);
}
static void host_until_closed(void *unused) {
  (void)unused;
  create();
  csched_target_submit(csched_loop_target(loop), &jobs[1]);
  model_spawn(close_run, NULL);
  model_spawn(submit_job, (void *)0);
  host_until(CSCHED_RUN_CLOSED);
}
static void none_lost(void) {
  model_assert(ran + dropped == 2 && ran >= 1);
  destroy();
}

// A wake is over when the loop has run; then two that submit to a loop that is parked in its host wake it once.
static int readable;
static void park_and_look(void *unused) {
  (void)unused;
  create();
  readable = fd_of(loop);
  model_assert(model_wakes(readable) == 0);
  csched_target_submit(csched_loop_target(loop), &jobs[2]);
  model_assert(model_wakes(readable) == 1);
  model_assert(csched_loop_run_ready(loop, 1) == 1 && model_wakes(readable) == 0); // it has not checked for more jobs
  csched_loop_end_run(loop);
  model_assert(csched_loop_run_ready(loop, SIZE_MAX) == 0 &&
               model_wakes(readable) == 1); // the stop is still to be taken
  model_assert(csched_loop_run_until(loop, 0) == CSCHED_RUN_ENDED && model_wakes(readable) == 0);
  model_spawn(submit_job, (void *)0);
  model_spawn(submit_job, (void *)1);
}
static void one_wake(void) {
  model_assert(model_wakes(readable) == 1);
  destroy();
}

// The host's thread checks whether it may run a job inline. Meanwhile other threads submit and cancel, and a timer
// comes due.
static void submit_and_cancel(void *unused) {
  (void)unused;
  csched_target_submit(csched_loop_target(loop), &jobs[0]);
  csched_job_cancel(&jobs[0]);
}
static void host_looking(void *unused) {
  (void)unused;
  create();
  int fd = fd_of(loop);
  model_spawn(submit_and_cancel, NULL);
  model_spawn(submit_job, (void *)1);
  csched_loop_is_free_(loop);
  csched_target_submit(csched_loop_target(loop), &jobs[2]);
  model_assert(!csched_loop_is_free_(loop));
  while (ran + dropped < JOBS) {
    model_poll(fd);
    csched_loop_run_ready(loop, SIZE_MAX);
  }
}
static void all_idle(void) {
  destroy();
  for (int i = 0; i < JOBS; i++) model_assert(csched_job_is_idle(&jobs[i]));
}
static void host_looking_at_timer(void *unused) {
  (void)unused;
  create();
  int fd = fd_of(loop);
  submit_soon(NULL);
  model_spawn(submit_and_cancel, NULL);
  while (ran < 1) {
    model_poll(fd);
    bool is_due = csched_now() >= due, is_free = csched_loop_is_free_(loop);
    model_assert(!is_due || !is_free);
    csched_loop_run_ready(loop, is_free ? 0 : SIZE_MAX);
  }
}

// A host with a queue of its own, here another loop, which runs our jobs in the order of that queue: each submission
// asks for a run as far as a mark behind it. Each submitter's own order holds across both.
enum { TURNS = 4 };
static csched_loop *other;
static csched_job marks[TURNS], runs[TURNS], theirs[2];
static int journal[8], noted;
static void note_down(csched_job *job) { journal[noted++] = (int)(intptr_t)job->context; }
static void nothing(csched_job *job) { (void)job; }
static const csched_job_type noting = {note_down, nothing, NULL};
static const csched_job_type marking = {nothing, nothing, NULL};
static uint32_t asked;
static void run_to_mark(csched_job *run) {
  bool will_run_again = csched_fetch_add_relaxed(&asked, UINT32_MAX) > 1;
  csched_loop_run_through_(loop, run->context, will_run_again);
}
static const csched_job_type running = {run_to_mark, nothing, NULL};

static void ask(int i) {
  csched_target_submit(csched_loop_target(loop), &marks[i]);
  csched_fetch_add_relaxed(&asked, 1u);
  csched_target_submit(csched_loop_target(other), &runs[i]);
}
static void submit_told(int i) {
  csched_target_submit(csched_loop_target(loop), &jobs[i]);
  ask(i);
}
static void ours_theirs_ours(void *unused) {
  (void)unused;
  submit_told(0);
  csched_target_submit(csched_loop_target(other), &theirs[0]);
  submit_told(1);
}
static void theirs_ours(void *unused) {
  (void)unused;
  csched_target_submit(csched_loop_target(other), &theirs[1]);
  submit_told(2);
}
// What the host does when the descriptor is readable. It may find that for nothing.
static void run_due(csched_job *run) {
  (void)run;
  bool has_more = csched_loop_run_through_(loop, NULL, false);
  if (has_more && csched_job_is_idle(&marks[3]) && csched_job_is_idle(&runs[3])) ask(3);
}
static const csched_job_type looking = {run_due, nothing, NULL};
static csched_job look;
static void look_there(void *unused) {
  (void)unused;
  csched_target_submit(csched_loop_target(other), &look);
}
static int place_of(int id) {
  for (int i = 0; i < noted; i++)
    if (journal[i] == id) return i;
  return -1;
}
static void create_both(void) {
  create();
  model_assert(csched_loop_create(&other) == 0);
  noted = 0;
  for (int i = 0; i < TURNS; i++) {
    csched_job_init(&marks[i], &marking, NULL);
    csched_job_init(&runs[i], &running, &marks[i]);
  }
  for (int i = 0; i < JOBS; i++) csched_job_init(&jobs[i], &noting, (void *)(intptr_t)i);
  for (int i = 0; i < 2; i++) csched_job_init(&theirs[i], &noting, (void *)(intptr_t)(10 + i));
  csched_job_init(&look, &looking, NULL);
  asked = 0;
}
static void run_other(int count) {
  while (noted < count) csched_loop_run_once(other, CSCHED_FOREVER);
}
static void host_in_order(void *unused) {
  (void)unused;
  create_both();
  fd_of(loop);
  model_spawn(ours_theirs_ours, NULL);
  model_spawn(theirs_ours, NULL);
  model_spawn(look_there, NULL);
  run_other(JOBS + 2);
  model_assert(place_of(0) < place_of(10) && place_of(10) < place_of(1));
  model_assert(place_of(11) < place_of(2));
}
// One submits without asking for a run: the watcher sees to it, once, after the runs that were promised.
static void host_untold(void *unused) {
  (void)unused;
  create_both();
  int fd = fd_of(loop);
  submit_told(0);
  submit_told(1);
  model_spawn(submit_job, (void *)2);
  csched_loop_run_ready(other, 2);
  while (noted < JOBS) {
    model_poll(fd);
    run_due(NULL);
    csched_loop_run_ready(other, SIZE_MAX);
  }
}
static void destroy_both(void) {
  csched_loop_destroy(other);
  destroy();
}

// MARK: own runs on the poller

static void add_source(void) {
  csched_fd_source_init(&source, 0, CSCHED_FD_READ, NULL, NULL);
  model_assert(csched_loop_add_fd(loop, &source) == 0);
}
static void run_two(void *unused) {
  (void)unused;
  create();
  model_spawn(submit_job, (void *)0);
  add_source(); // while one may be in the middle of a wake
  model_spawn(submit_job, (void *)1);
  while (ran < 2) model_assert(csched_loop_run_once(loop, CSCHED_FOREVER));
}

static void run_timer(void *unused) {
  (void)unused;
  create();
  add_source();
  model_spawn(submit_soon, NULL);
  model_assert(csched_loop_run_once(loop, CSCHED_FOREVER) && ran == 1);
}

static void run_until_stopped(void *unused) {
  (void)unused;
  create();
  add_source();
  model_spawn(stop, NULL);
  model_assert(csched_loop_run(loop) == CSCHED_RUN_ENDED && model_read(&last_words) == 1);
}

// The loop's first sleep is on the futex, and ends by time. The wake of a push may come after that.
static void sleep_then_open(void *unused) {
  (void)unused;
  create();
  model_spawn(submit_job, (void *)0);
  csched_loop_run_until(loop, csched_time_after(csched_now(), 60000));
  add_source();
  model_spawn(submit_job, (void *)1);
  while (ran < 2) model_assert(csched_loop_run_once(loop, CSCHED_FOREVER));
}

const model_check loop_fd_checks[] = {
    {"host: submissions against the park in a host", reset, destroy, THREADS({host_two})},         // FD1, FD2, LP1, LP2
    {"host: one job at a time, the rest is announced", reset, destroy, THREADS({host_two, true})}, // LP1
    {"host: handed over inside of a run", reset, destroy, THREADS({host_inside})},                 // LP1
    {"host: a submission behind another's announcement", reset, destroy, THREADS({host_one})},     // FD2, LP1
    {"host: a first timer from outside", reset, destroy, THREADS({host_timer})},                   // FD2, LP1
    {"host: stop against submit and the park in a host", reset, destroy, THREADS({host_until_stopped})}, // LP1, LP5
    {"host: a close is reported, and nothing is lost", reset, none_lost, THREADS({host_until_closed})},  // LP1, LP6
    {"host: one wake for a park", reset, one_wake, THREADS({park_and_look})},                            // LP2
    {"host: its thread checks whether the loop is free", reset, all_idle, THREADS({host_looking})}, // LP1, LP2, LP11
    {"host: its thread checks for timers", reset, destroy, THREADS({host_looking_at_timer})},       // LP1, LP11
    {"host: our jobs in the order of the host's queue", reset, destroy_both, THREADS({host_in_order})},     // LP10
    {"host: a submission that asks for no run beside others", reset, destroy_both, THREADS({host_untold})}, // LP1, LP10
    {"poller: submissions against the poller", reset, destroy, THREADS({run_two})},                         // FD1, FD2
    {"poller: a timer from outside ends the sleep", reset, destroy, THREADS({run_timer})},                  // FD2
    {"poller: a stop ends the sleep", reset, destroy, THREADS({run_until_stopped})},                        // FD2
    {"poller: opened while a wake is under way", reset, destroy, THREADS({sleep_then_open})},               // FD1
    {NULL, NULL, NULL},
};
