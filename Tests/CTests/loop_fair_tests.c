#include "testing.h"

#include <sys/eventfd.h>
#include <unistd.h>

// How long one kind of work waits for another on a loop. Counted in pieces of work, not in time, so that it holds on a
// slow machine too.

typedef enum kind { JOBS, LATE_TIMERS, PAST_TIMERS, DUE_TIMERS, SOURCES, QUEUED_JOBS, QUEUED_TIMERS, KINDS } kind;
enum { FLOOD = 40, QUEUES = 4, BATCH = 16 };

typedef struct party party;
typedef struct member {
  probe probe;
  csched_fd_source source;
  party *party;
  csched_serial *queue;
  csched_time due;
} member;

struct party {
  csched_loop *loop;
  kind floods, waits;
  member members[FLOOD], victim;
  csched_serial *queues[QUEUES + 1];
  csched_time cost;
  int pieces;      // of the flood, since the victim last ran
  int most, turns; // the most of them; how often the victim has run
  bool is_over;
};

static void come_again(member *member, kind kind) {
  party *party = member->party;
  if (party->is_over) return;
  probe *probe = &member->probe;
  switch (kind) {
  case JOBS: CHECK_EQUAL(csched_target_submit(csched_loop_target(party->loop), job_of(probe)), 0); break;
  case LATE_TIMERS:
    member->due += 1000; // ever later, because each run takes longer than that
    CHECK_EQUAL(csched_target_submit_at(csched_loop_target(party->loop), &probe->timer, member->due, 0), 0);
    break;
  case PAST_TIMERS:
    CHECK_EQUAL(csched_target_submit_at(csched_loop_target(party->loop), &probe->timer, member->due, 0), 0);
    break;
  case DUE_TIMERS:
    CHECK_EQUAL(csched_target_submit_at(csched_loop_target(party->loop), &probe->timer, csched_now() + 2 * US, 0), 0);
    break;
  case QUEUED_JOBS: CHECK_EQUAL(csched_target_submit(csched_serial_target(member->queue), job_of(probe)), 0); break;
  case QUEUED_TIMERS:
    CHECK_EQUAL(csched_target_submit_at(csched_serial_target(member->queue), &probe->timer, member->due, 0), 0);
    break;
  default: break; // a source that stays ready
  }
}

static void be_served(member *member) {
  party *party = member->party;
  if (member != &party->victim) {
    burn(party->cost);
    party->pieces++;
    come_again(member, party->floods);
    return;
  }
  if (party->turns++ > 0 && party->pieces > party->most) party->most = party->pieces;
  party->pieces = 0;
  if (party->turns == 30) {
    party->is_over = true;
    csched_loop_end_run(party->loop);
  }
  come_again(member, party->waits);
}

static void serve_probe(probe *probe) { be_served(probe->context); }
static void serve_source(csched_fd_source *source, unsigned events) {
  (void)events;
  be_served(source->context);
}

static void join_party(party *party, member *member, kind kind, csched_serial *queue) {
  member->party = party;
  member->queue = queue;
  member->due = csched_now();
  probe_init(&member->probe, serve_probe, member);
  csched_fd_source_init(&member->source, -1, CSCHED_FD_READ, serve_source, member);
  if (kind == SOURCES) {
    member->source.fd = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
    CHECK_EQUAL(csched_loop_add_fd(party->loop, &member->source), 0);
  }
  come_again(member, kind);
}

// Runs the loop until the victim has had its turns. `in_host`: as a host would, some at a time.
static void run_party(party *party, bool in_host) {
  while (!party->is_over && in_host) csched_loop_run_ready(party->loop, 7);
  if (!in_host) CHECK_EQUAL(csched_loop_run(party->loop), CSCHED_RUN_ENDED);
}

static void leave_party(member *member) {
  if (member->source.fd >= 0) close(member->source.fd);
}

static int most_pieces(kind floods, kind waits, csched_time cost, bool in_host) {
  party *party = calloc(1, sizeof *party);
  *party = (struct party){.floods = floods, .waits = waits, .cost = cost};
  CHECK_EQUAL(csched_loop_create(&party->loop), 0);
  for (int i = 0; i <= QUEUES; i++)
    CHECK_EQUAL(csched_serial_create(&party->queues[i], csched_loop_target(party->loop)), 0);
  for (int i = 0; i < FLOOD; i++) join_party(party, &party->members[i], floods, party->queues[i % QUEUES]);
  join_party(party, &party->victim, waits, party->queues[QUEUES]);
  run_party(party, in_host);
  csched_loop_destroy(party->loop);
  for (int i = 0; i <= QUEUES; i++) csched_serial_destroy(party->queues[i]);
  for (int i = 0; i < FLOOD; i++) leave_party(&party->members[i]);
  leave_party(&party->victim);
  int most = party->most;
  free(party);
  return most;
}

// Each kind of work waits for no more than a few pieces of each other kind, and each of its own kind for no more than
// all of those.
static void loop_fair(bool in_host) {
  for (kind floods = JOBS; floods < KINDS; floods++)
    for (kind waits = JOBS; waits < KINDS; waits++) {
      csched_time cost = waits == SOURCES ? 50 * US : 2 * US; // the poller is checked after half a millisecond
      int most = most_pieces(floods, waits, cost, in_host);
      // From one piece of a kind to the next at the most: its own phase, the two others, and its own phase again;
      // behind the whole flood, if the flood is of the same kind.
      if (most <= 4 * BATCH + 3 * FLOOD) continue;
      char text[100];
      snprintf(text, sizeof text, "kind %d waited for %d pieces of kind %d", waits, most, floods);
      test_fail(HERE, text);
    }
}

TEST_UNLESS(HELGRIND, "it is one thread, busy for long", "no kind of work starves another on a loop") { // LP3
  loop_fair(false);
  loop_fair(true);
}

// MARK: a batch

typedef struct many {
  csched_loop *loop;
  csched_serial *queue;
  probe probes[100], other;
  int ran, at_other; // how many had run when the other one did
} many;

static void count_one(probe *probe) { ((many *)probe->context)->ran++; }
static void count_and_call_other(probe *probe) { // which comes when the batch has begun
  many *many = probe->context;
  many->ran++;
  CHECK_EQUAL(csched_target_submit(csched_loop_target(many->loop), job_of(&many->other)), 0);
}
static void look_at_count(probe *probe) {
  many *many = probe->context;
  many->at_other = many->ran;
}

static void begin_many(many *many) {
  *many = (struct many){.at_other = -1};
  CHECK_EQUAL(csched_loop_create(&many->loop), 0);
  CHECK_EQUAL(csched_serial_create(&many->queue, csched_loop_target(many->loop)), 0);
  for (int i = 0; i < 100; i++) probe_init(&many->probes[i], count_one, many);
  probe_init(&many->other, look_at_count, many);
}
static void end_many(many *many, int most) {
  while (csched_loop_run_ready(many->loop, SIZE_MAX) > 0) {}
  CHECK_EQUAL(many->ran, 100);
  CHECK(many->at_other >= 0 && many->at_other <= most);
  csched_loop_destroy(many->loop);
  csched_serial_destroy(many->queue);
}

// Late enough for a hundred slow submissions: a timer that is due at its submission is ordered differently.
static csched_time soon(void) { return csched_now() + 40 * MS; }
static void nap_until(csched_time due) {
  while (csched_now() <= due) nap(MS);
}

// A hundred that are ready, and one of another kind behind them.
static void loop_batches(void) {
  many many;
  begin_many(&many); // timers, a job
  csched_time due = soon();
  many.probes[0].body = count_and_call_other;
  for (int i = 0; i < 100; i++)
    CHECK_EQUAL(csched_target_submit_at(csched_loop_target(many.loop), &many.probes[i].timer, due, 0), 0);
  nap_until(due);
  end_many(&many, BATCH);
  begin_many(&many); // jobs, a timer
  due = soon();
  CHECK_EQUAL(csched_target_submit_at(csched_loop_target(many.loop), &many.other.timer, due, 0), 0);
  for (int i = 0; i < 100; i++)
    CHECK_EQUAL(csched_target_submit(csched_loop_target(many.loop), job_of(&many.probes[i])), 0);
  nap_until(due);
  end_many(&many, BATCH);
  begin_many(&many); // a queue's jobs, a job
  for (int i = 0; i < 100; i++)
    CHECK_EQUAL(csched_target_submit(csched_serial_target(many.queue), job_of(&many.probes[i])), 0);
  CHECK_EQUAL(csched_target_submit(csched_loop_target(many.loop), job_of(&many.other)), 0);
  end_many(&many, BATCH);
  begin_many(&many); // a queue's timers, a job
  due = soon();
  for (int i = 0; i < 100; i++)
    CHECK_EQUAL(csched_target_submit_at(csched_serial_target(many.queue), &many.probes[i].timer, due, 0), 0);
  nap_until(due);
  CHECK_EQUAL(csched_target_submit(csched_loop_target(many.loop), job_of(&many.other)), 0);
  end_many(&many, BATCH);
}

// LP3, SQ4
TEST("a batch takes few of each kind") { loop_batches(); }

// All timers that are due when the loop is closed run, whatever their number and target.
static void loop_closed_with_many_due(void) {
  for (int on_queue = 0; on_queue < 2; on_queue++) {
    many many;
    begin_many(&many);
    csched_target *target = on_queue ? csched_serial_target(many.queue) : csched_loop_target(many.loop);
    csched_time due = csched_now() + MS;
    for (int i = 0; i < 100; i++) CHECK_EQUAL(csched_target_submit_at(target, &many.probes[i].timer, due, 0), 0);
    nap(2 * MS);
    csched_loop_close(many.loop, CSCHED_STOP_RUN);
    CHECK_EQUAL(csched_loop_run(many.loop), CSCHED_RUN_CLOSED);
    if (!on_queue) CHECK_EQUAL(many.ran, 100);
    for (int i = 0; i < 100; i++)
      CHECK_PROBE(&many.probes[i], atomic_load(&many.probes[i].runs), 1 - atomic_load(&many.probes[i].runs));
    csched_loop_destroy(many.loop);
    csched_serial_destroy(many.queue);
  }
}

// LP6
TEST("due work runs at a close, whatever its amount") { loop_closed_with_many_due(); }

// MARK: order

typedef struct equals {
  journal journal;
  csched_time deadline;
} equals;

static void note_equal(probe *probe) { journal_add(&((equals *)probe->context)->journal, probe->id); }

// One thread submits for one instant that is just coming: some wait, some are on their way, some come late. They keep
// their order.
static void timer_late_keep_their_place(int place, int rounds) {
  csched_thread *thread = start_thread("timers");
  csched_target *target = csched_loop_target(csched_thread_loop(thread));
  csched_pool *pool = NULL;
  csched_serial *queue = NULL;
  if (place == 2) {
    CHECK_EQUAL(csched_pool_create(&pool, &(csched_pool_options){.workers = 2}), 0);
    target = csched_pool_target(pool, CSCHED_PRIORITY_DEFAULT);
  }
  if (place > 0) {
    CHECK_EQUAL(csched_serial_create(&queue, target), 0);
    target = csched_serial_target(queue);
  }
  for (int round = 0; round < rounds; round++) {
    equals test = {0};
    probe probes[8];
    csched_time deadline = csched_now() + 60 * US;
    for (int i = 0; i < 8; i++) {
      probe_init(&probes[i], note_equal, &test);
      probes[i].id = i;
      CHECK_EQUAL(csched_target_submit_at(target, &probes[i].timer, deadline, 0), 0);
      burn((csched_time)(round % 20) * US);
    }
    for (int i = 0; i < 8; i++) CHECK_SOON(atomic_load(&probes[i].releases) == 1);
    CHECK_JOURNAL(&test.journal, "0,1,2,3,4,5,6,7");
  }
  if (queue != NULL) csched_serial_destroy(queue);
  if (pool != NULL) csched_pool_destroy(pool);
  stop_and_join(thread, CSCHED_STOP_RUN);
}

TEST("equal deadlines keep their order, late ones included") { // LP9, W9
  for (int place = 0; place < 3; place++) timer_late_keep_their_place(place, times(500));
}

// As above, submitted from inside of timers: without a rule for overdue timers, the two late ones would wait or
// overtake.
typedef struct inside {
  csched_loop *loop;
  journal journal;
  probe first[2], late[2];
  csched_time deadline;
} inside;

static void submit_late(probe *probe) {
  inside *test = probe->context;
  struct probe *late = &test->late[probe->id];
  CHECK_EQUAL(csched_target_submit_at(csched_loop_target(test->loop), &late->timer, test->deadline, 0), 0);
}
static void note_late(probe *probe) { journal_add(&((inside *)probe->context)->journal, probe->id); }

static void timer_late_inside(void) {
  inside test = {0};
  CHECK_EQUAL(csched_loop_create(&test.loop), 0);
  test.deadline = csched_now() + MS;
  for (int i = 0; i < 2; i++) {
    probe_init(&test.first[i], submit_late, &test);
    probe_init(&test.late[i], note_late, &test);
    test.first[i].id = test.late[i].id = i;
    CHECK_EQUAL(csched_target_submit_at(csched_loop_target(test.loop), &test.first[i].timer, test.deadline, 0), 0);
  }
  nap(2 * MS);
  while (csched_loop_run_ready(test.loop, SIZE_MAX) > 0) {}
  CHECK_JOURNAL(&test.journal, "0,1");
  csched_loop_destroy(test.loop);
}

TEST("equal deadlines keep the order of submission, inside of timers, too") { timer_late_inside(); }
