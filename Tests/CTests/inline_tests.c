#include "testing.h"

#include <setjmp.h>
#include <sys/wait.h>
#include <unistd.h>

// Queues, limits and events on a target of the user's that runs each job within `deliver`.

static int perform_at_once(csched_target *target, csched_job *job) {
  csched_target_perform(target, job);
  return 0;
}
static const csched_target_type inline_type = {.deliver = perform_at_once};
static csched_target base = {.type = &inline_type};

enum {
  QUEUE,
  LIMIT,
  LIMIT_OF_THREE,
  BARRIERS,
  MIXED,
  QUEUE_ON_LIMIT,
  LIMIT_ON_QUEUE,
  LIMIT_ON_LIMIT,
  KINDS
}; // the kinds of target on `base`

enum { STACK_MOST = 20000 }; // bytes, also with a sanitizer

/// The second operation of the job in the middle.
typedef enum deed { NOTHING, JUMP, FORK } deed;

typedef struct line {
  csched_target *plain, *barriers; // NULL: none
  csched_job first, *jobs;
  int count, ran, is_wrong;
  char *low, *high; // the stack that the jobs have seen
  deed middle;
  pid_t child;
} line;

static jmp_buf back;

static void run_next(csched_job *job) {
  line *line = job->context;
  char *here = __builtin_frame_address(0); // not of a variable: AddressSanitizer keeps those elsewhere
  if (line->low == NULL || here < line->low) line->low = here;
  if (here > line->high) line->high = here;
  line->is_wrong |= job != &line->jobs[line->ran];
  line->ran++;
  if (line->ran != line->count / 2 || line->middle == NOTHING) return;
  if (line->middle == JUMP) longjmp(back, 1);
  line->child = fork();
}

static void submit_all(csched_job *first) {
  line *line = first->context;
  for (int i = 0; i < line->count; i++) {
    bool is_barrier = line->plain == NULL || (line->barriers != NULL && i % 3 == 0);
    csched_target_submit(is_barrier ? line->barriers : line->plain, &line->jobs[i]);
  }
}

static const csched_job_type next_type = {.run = run_next}, first_type = {.run = submit_all};

// Returns: what has to be destroyed is left: a process of its own runs each test.
static void make_target(line *line, int kind) {
  csched_target *on = &base;
  csched_limit *limit;
  csched_serial *queue;
  if (kind == QUEUE_ON_LIMIT || kind == LIMIT_ON_LIMIT) {
    CHECK_EQUAL(csched_limit_create(&limit, on, 2), 0);
    on = csched_limit_target(limit);
  }
  if (kind == LIMIT_ON_QUEUE || kind == QUEUE || kind == QUEUE_ON_LIMIT) {
    CHECK_EQUAL(csched_serial_create(&queue, on), 0);
    line->plain = on = csched_serial_target(queue);
  }
  if (kind == QUEUE || kind == QUEUE_ON_LIMIT) return;
  CHECK_EQUAL(csched_limit_create(&limit, on, kind == LIMIT_OF_THREE || kind == MIXED ? 3 : 1), 0);
  line->plain = kind == BARRIERS ? NULL : csched_limit_target(limit);
  line->barriers =
      kind == BARRIERS || kind == MIXED || kind == LIMIT_OF_THREE ? csched_limit_barrier_target(limit) : NULL;
}

// Returns: how much of the stack the jobs have used.
static ptrdiff_t run_line(int kind, int count, deed middle) {
  static line line; // static: it is used after a longjmp
  line = (struct line){.count = count, .jobs = calloc((size_t)count, sizeof(csched_job)), .middle = middle};
  make_target(&line, kind);
  csched_target *first_to =
      line.barriers != NULL ? line.barriers : line.plain; // a barrier: all others wait for its end
  if (kind == LIMIT_OF_THREE) line.barriers = NULL;
  for (int i = 0; i < count; i++) csched_job_init(&line.jobs[i], &next_type, &line);
  csched_job_init(&line.first, &first_type, &line);
  if (setjmp(back) == 0) csched_target_submit(first_to, &line.first);
  csched_target_is_inside(&base); // finds the unwound jobs
  if (middle == FORK && line.child == 0) _exit(line.ran == line.count && !line.is_wrong ? 0 : 1);
  if (middle == FORK) {
    int status = -1;
    CHECK_EQUAL(waitpid(line.child, &status, 0), line.child);
    CHECK_EQUAL(status, 0);
  }
  CHECK_EQUAL(line.ran, count);
  CHECK(!line.is_wrong);
  free(line.jobs);
  return line.high - line.low;
}

TEST("jobs on a target that runs them at once are in order, and need no stack of their number") { // LM3, LM11, SQ12
  for (int kind = 0; kind < KINDS; kind++) CHECK(run_line(kind, times_least(1000000, 100000), NOTHING) < STACK_MOST);
}

TEST("jobs on a target that runs them at once continue after a longjmp out of one") { // LM6, SQ8
  for (int kind = 0; kind < KINDS; kind++) run_line(kind, 1000, JUMP);
}

// LM8, SQ9
TEST_UNLESS(QEMU, "forks", "jobs on a target that runs them at once continue in both processes after a fork in one") {
  for (int kind = 0; kind < KINDS; kind++) run_line(kind, 1000, FORK);
}

// MARK: events

typedef struct chain {
  int left;
  char *low, *high;
} chain;

static void merge_again(csched_event *event, uint64_t value) {
  chain *chain = event->context;
  char *here = __builtin_frame_address(0);
  (void)value;
  if (chain->low == NULL || here < chain->low) chain->low = here;
  if (here > chain->high) chain->high = here;
  if (--chain->left > 0) csched_event_merge(event, 1);
}

static ptrdiff_t run_chain(int count) {
  chain chain = {.left = count};
  csched_event event;
  csched_event_init(&event, &base, CSCHED_MERGE_ADD, merge_again, &chain);
  CHECK_EQUAL(csched_event_merge(&event, 1), 0);
  CHECK_EQUAL(chain.left, 0);
  CHECK(csched_event_is_idle(&event));
  return chain.high - chain.low;
}

TEST("an event on a target that runs jobs at once needs no stack of the number of its merges") { // EV6
  CHECK(run_chain(times_least(1000000, 100000)) < STACK_MOST);
}
