// Target: a loop in a host, with descriptors to wait for, timers and jobs. The descriptors are real, the time is not.
//
// The model checks:
//   readable  the loop's descriptor is readable while the loop has work (a job, a timer at its latest time, a ready
//             source, a stop or a close that was not taken), and not readable once all work is done
//   handlers  a handler is called only for an added source, for its requested events, and if its descriptor has been
//             ready since
//   levels    each complete run reports a ready source; an edge-triggered source is reported once for each edge
//   once      each job is run or dropped; timers are not early, and run in order

#define _GNU_SOURCE
#include "fuzz.h"

#include <CScheduler/loop_fd.h>

#include "../../Sources/CScheduler/platform/platform.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { SOURCES = 5, ITEMS = 12, TIMERS = 6, COPIES = 8, DEEPEST = 6, PATIENCE = 8 };
enum { READ = CSCHED_FD_READ, WRITE = CSCHED_FD_WRITE, EDGE = CSCHED_FD_EDGE };

typedef struct item { // a job or, for the first TIMERS, a timer
  csched_timer timer;
  bool waits, is_timed, is_in_order;
  csched_time deadline, leeway;
  csched_time due_by; // the deadline, or the next nanosecond if the batch of the present one may not take it
  uint64_t order;
} item;

typedef struct source {
  csched_fd_source own[2]; // own[which] is the present source; the other is from before a reuse of the number
  int which;
  int fd; // an eventfd: it can be written always, and read while it is not 0
  bool is_added, has_been_readable, owes_edge;
  unsigned events, times; // as reported since the last reset
} source;

static csched_loop *loop;
static int host;
static item items[ITEMS];
static source sources[SOURCES];
static int copies[COPIES], copy_count; // of descriptors whose number was used again
static uint64_t last_order;
static unsigned depth;
static bool is_stop_pending, is_detached;
static int closing; // 0, or 1 + the policy
static bool is_close_known;
static csched_time ran_at; // when a run ended last

static csched_fd_source *own(source *source) { return &source->own[source->which]; }
static int number(const source *source) { return (int)(source - sources); }

static bool is_readable(int fd) {
  struct pollfd what = {fd, POLLIN, 0};
  return poll(&what, 1, 0) == 1;
}

// MARK: virtual time

static csched_poller *armed_poller;
static csched_time armed = CSCHED_FOREVER;

void __real_csched_poller_set_alarm_(csched_poller *poller, csched_time deadline);
void __wrap_csched_poller_set_alarm_(csched_poller *poller, csched_time deadline);
void __wrap_csched_poller_set_alarm_(csched_poller *poller, csched_time deadline) {
  armed_poller = poller;
  armed = deadline;
  // The real one rings at once, or never.
  __real_csched_poller_set_alarm_(poller, CSCHED_FOREVER);
  if (deadline <= fuzz_now) __real_csched_poller_set_alarm_(poller, 0);
}

static void ring_alarm(void) {
  if (armed > fuzz_now) return;
  __real_csched_poller_set_alarm_(armed_poller, CSCHED_FOREVER);
  __real_csched_poller_set_alarm_(armed_poller, 0);
  armed = CSCHED_FOREVER;
}

static void pass(csched_time span) {
  fuzz_pass(span);
  ring_alarm();
}

// The system's reports for a descriptor that was not removed would keep the loop awake for ever.
static void empty_copies(void) {
  uint64_t value;
  for (int i = 0; i < copy_count; i++)
    if (read(copies[i], &value, sizeof value) < 0) {} // it was empty
}

int __real_csched_poller_wait_(csched_poller *poller, csched_poller_event *events, int most, bool blocks);
int __wrap_csched_poller_wait_(csched_poller *poller, csched_poller_event *events, int most, bool blocks);
int __wrap_csched_poller_wait_(csched_poller *poller, csched_poller_event *events, int most, bool blocks) {
  if (blocks) empty_copies();
  if (blocks && !is_readable(poller->fd)) {
    fuzz_sleep(armed);
    ring_alarm();
  }
  return __real_csched_poller_wait_(poller, events, most, false);
}

// MARK: when the host must be notified

static bool is_source_ready(const source *source) {
  if (!source->is_added || closing != 0) return false;
  if (source->events & EDGE) return source->owes_edge;
  return (source->events & WRITE) != 0 || is_readable(source->fd);
}

static bool must_come(const item *item) {
  if (!item->waits || !item->is_timed) return item->waits;
  return item->due_by <= fuzz_now && fuzz_add(item->deadline, item->leeway) <= fuzz_now;
}

// Whether something is to be done by a run of all that is ready.
static bool has_work(void) {
  for (int i = 0; i < ITEMS; i++)
    if (must_come(&items[i])) return true;
  for (int i = 0; i < SOURCES; i++)
    if (is_source_ready(&sources[i])) return true;
  return false;
}

// A close is reported once. No run takes a stop after it.
static bool has_end(void) { return closing != 0 ? !is_close_known : is_stop_pending; }

static void check_readable(void) {
  if (is_detached) return;
  REQUIRE((!has_end() && !has_work()) || is_readable(host),
          "there is something to do, and the descriptor is not readable");
}

static void check_quiet(void) {
  empty_copies();
  REQUIRE(closing != 0 || has_end() || has_work() || !is_readable(host),
          "there is nothing to do, and the descriptor is readable");
}

// MARK: jobs

static void act(void);

static void act_some(unsigned most) {
  if (depth >= DEEPEST) return;
  depth++;
  for (unsigned n = fuzz_below(most + 1); n > 0 && !fuzz_is_over(); n--) act();
  depth--;
}

static void run(csched_job *job) {
  item *item = (struct item *)job;
  int this = (int)(item - items);
  REQUIRE(item->waits && closing != 1 + CSCHED_STOP_DROP, "item %d runs", this);
  REQUIRE(!item->is_timed || item->deadline <= fuzz_now, "item %d is early", this);
  TRACE("%d runs", this);
  for (int i = 0; i < ITEMS; i++) {
    const struct item *other = &items[i];
    if (!other->waits || other->is_timed != item->is_timed || !other->is_in_order || !item->is_in_order) continue;
    REQUIRE(other->deadline > item->deadline || (other->deadline == item->deadline && other->order >= item->order),
            "item %d overtakes %d", this, i);
  }
  item->waits = false;
  act_some(2);
}

static void drop(csched_job *job) {
  item *item = (struct item *)job;
  REQUIRE(item->waits, "item %d is dropped", (int)(item - items));
  item->waits = false;
}

static const csched_job_type type = {run, drop, NULL};

// MARK: operations on sources

// The first run after a close removes them all.
static void look_for_close(source *source) {
  if (closing != 0 && own(source)->owner == NULL) source->is_added = false;
}

static void look_at(source *source) {
  look_for_close(source);
  if (source->is_added && is_readable(source->fd)) source->has_been_readable = true;
}

static void handle(csched_fd_source *ready, unsigned events);

static void prepare(source *source, unsigned events) {
  csched_fd_source_init(own(source), source->fd, events, handle, source);
}

static void add(source *source) {
  int answer = csched_loop_add_fd(loop, own(source));
  TRACE("add source %d: %d", number(source), answer);
  int expected = source->is_added ? EEXIST : closing != 0 && answer == ECANCELED ? ECANCELED : 0;
  REQUIRE(answer == expected, "add of %d says %d", number(source), answer);
  if (answer != 0) return;
  source->is_added = true;
  source->has_been_readable = false;
  source->events = own(source)->events;
  source->owes_edge = (source->events & WRITE) != 0 || is_readable(source->fd);
}

static void modify(source *source, unsigned events) {
  int answer = csched_loop_modify_fd(loop, own(source), events);
  TRACE("modify source %d to %u: %d", number(source), events, answer);
  REQUIRE(answer == (source->is_added ? 0 : ENOENT), "modify of %d says %d", number(source), answer);
  if (answer != 0) return;
  source->events = events;
  source->owes_edge = (events & WRITE) != 0 || is_readable(source->fd); // an earlier change is reported anew
}

static void take_out(source *source, unsigned events) {
  int answer = csched_loop_remove_fd(loop, own(source));
  TRACE("remove source %d: %d", number(source), answer);
  REQUIRE(answer == (source->is_added ? 0 : ENOENT), "remove of %d says %d", number(source), answer);
  source->is_added = false;
  prepare(source, events);
}

static void put_in(source *source) {
  uint64_t one = 1;
  if (write(source->fd, &one, sizeof one) != sizeof one) abort();
  if (source->events & READ) source->owes_edge = true;
}

static void take_from(source *source) {
  uint64_t value;
  if (read(source->fd, &value, sizeof value) < 0) return;
  if ((source->events & WRITE) == 0) source->owes_edge = false; // perhaps
}

// Closes the descriptor, and opens another one under its number. A source that is not removed stays in the loop's
// table, and where a copy keeps the descriptor open, also in the system's. The events of that copy must reach no
// source.
static void use_number_again(source *source, bool is_removed) {
  if (is_removed) {
    if (source->is_added) take_out(source, source->events);
  } else {
    if (copy_count == COPIES || !source->is_added || closing != 0 || (source->events & WRITE) != 0) return;
    copies[copy_count++] = dup(source->fd);
    source->which ^= 1; // the loop has the old one, until the new one is added
    prepare(source, source->events);
  }
  TRACE("source %d: the number is used again%s", number(source), is_removed ? "" : ", without being removed");
  int fd = eventfd(0, EFD_NONBLOCK);
  if (fd < 0 || dup2(fd, source->fd) < 0) abort();
  close(fd);
  source->is_added = false;
  if (!is_removed) add(source);
}

static void put_in_copy(unsigned which) {
  uint64_t one = 1;
  if (copy_count > 0 && write(copies[which % (unsigned)copy_count], &one, sizeof one) != sizeof one) abort();
}

// A source that stays ready would keep a run from its end.
static void calm_down(source *source) {
  source->times = 0;
  take_from(source);
  if (source->is_added && (source->events & WRITE) != 0) take_out(source, source->events);
}

static void handle(csched_fd_source *ready, unsigned events) {
  source *source = ready->context;
  TRACE("source %d gets %u", number(source), events);
  REQUIRE(source->is_added, "source %d is called, and is not added", number(source));
  REQUIRE(events != 0 && (events & ~(source->events & (READ | WRITE))) == 0, "source %d gets %u, and asked for %u",
          number(source), events, source->events);
  REQUIRE((events & READ) == 0 || source->has_been_readable, "source %d gets an event of another one", number(source));
  source->owes_edge = false;
  act_some(2);
  if (++source->times >= PATIENCE) calm_down(source);
}

// MARK: operations on the loop

static void submit(item *item, bool is_timed) {
  if (item->waits || !csched_job_is_idle(&item->timer.job)) return;
  item->is_timed = is_timed;
  item->order = ++last_order;
  item->deadline = is_timed ? fuzz_instant(fuzz_now) : 0;
  item->leeway = is_timed && fuzz_below(3) == 0 ? fuzz_span() : 0;
  item->is_in_order = item->deadline > fuzz_now || !is_timed;
  bool may_wait = is_timed && item->deadline <= fuzz_now && (depth > 0 || ran_at == fuzz_now);
  item->due_by = may_wait ? fuzz_now + 1 : item->deadline;
  if (item->deadline <= fuzz_now) item->leeway = 0; // for the model: it must come now
  item->waits = true;
  TRACE("submit %d at %llu + %llu", (int)(item - items), (unsigned long long)item->deadline,
        (unsigned long long)item->leeway);
  int answer = is_timed ? csched_target_submit_at(csched_loop_target(loop), &item->timer, item->deadline, item->leeway)
                        : csched_target_submit(csched_loop_target(loop), &item->timer.job);
  REQUIRE(answer == (closing != 0 ? ECANCELED : 0) && item->waits == (answer == 0), "submission says %d", answer);
}

static void cancel(item *item) {
  bool waits = item->waits;
  csched_cancel_result result = csched_timer_cancel(&item->timer);
  REQUIRE((result == CSCHED_CANCEL_DROPPED) == waits && !item->waits, "cancel says %d", (int)result);
}

static void run_ready(size_t most) {
  TRACE("run %zu", most);
  depth++;
  size_t ran = csched_loop_run_ready(loop, most);
  depth--;
  TRACE("%zu ran", ran);
  ran_at = fuzz_now;
  if (depth == 0 && closing != 0) is_close_known = true;
  if (ran == most) return;
  for (int i = 0; i < ITEMS; i++) REQUIRE(!must_come(&items[i]), "item %d is left", i);
  if (depth == 0) check_quiet();
}

static void run_until(csched_time deadline) {
  TRACE("run until %llu", (unsigned long long)deadline);
  depth++;
  csched_run_result result = csched_loop_run_until(loop, deadline);
  depth--;
  ran_at = fuzz_now;
  csched_run_result expected = closing != 0      ? CSCHED_RUN_CLOSED
                               : is_stop_pending ? CSCHED_RUN_ENDED
                                                 : CSCHED_RUN_TIMED_OUT;
  REQUIRE(result == expected, "the run ends by %d", (int)result);
  if (result == CSCHED_RUN_ENDED) is_stop_pending = false;
  if (depth == 0 && closing != 0) is_close_known = true;
}

static void stop(void) {
  TRACE("stop");
  is_stop_pending = true;
  csched_loop_end_run(loop);
}

static void close_loop(csched_stop_policy policy) {
  TRACE("close, %d", (int)policy);
  if (closing < 1 + (int)policy) closing = 1 + (int)policy;
  csched_loop_close(loop, policy);
}

// Between runs a host may detach the loop from its thread, and attach it to another thread.
static void reattach(void) {
  csched_loop_detach(loop);
  is_detached = true;
  if (fuzz_below(2)) submit(&items[ITEMS - 1], false);
  csched_loop_attach(loop);
  is_detached = false;
}

static void act_on_source(unsigned what, unsigned which) {
  source *source = &sources[which % SOURCES];
  unsigned events = 1 + which / SOURCES % 3 + (which & 128 ? EDGE : 0);
  look_for_close(source);
  switch (what % 9) {
  case 0:
  case 1: add(source); break;
  case 2: modify(source, events); break;
  case 3: take_out(source, events); break;
  case 4:
  case 5: put_in(source); break;
  case 6: take_from(source); break;
  case 7: use_number_again(source, which / SOURCES % 2); break;
  default: put_in_copy(which);
  }
}

static void act(void) {
  unsigned what = fuzz_byte(), which = fuzz_byte();
  if (what >= 128) {
    act_on_source(what, which);
  } else {
    switch (what % 13) {
    case 0:
    case 1: submit(&items[which % ITEMS], false); break;
    case 2:
    case 3: submit(&items[which % TIMERS], true); break;
    case 4: cancel(&items[which % ITEMS]); break;
    case 5: run_ready(which % 9); break;
    case 6:
    case 7: run_ready(depth == 0 ? 200 : which % 9); break;
    case 8: run_until(fuzz_now + (fuzz_span() & (((csched_time)1 << 40) - 1))); break;
    case 9: run_until(0); break;
    case 10: pass(fuzz_span() & (((csched_time)1 << 50) - 1)); break;
    case 11: stop(); break;
    default:
      if (which == 7 || which == 8) close_loop(which == 7 ? CSCHED_STOP_RUN : CSCHED_STOP_DROP);
      else if (depth == 0) reattach();
    }
  }
  for (int i = 0; i < SOURCES; i++) look_at(&sources[i]);
  if (depth == 0) check_readable();
}

// MARK: one input

// Its descriptor is kept from one input to the next.
static void begin_source(source *source) {
  static bool is_open[SOURCES];
  int i = number(source), fd = is_open[i] ? source->fd : eventfd(0, EFD_NONBLOCK);
  if (fd < 0) abort();
  is_open[i] = true;
  *source = (struct source){.fd = fd};
  take_from(source);
  prepare(source, READ);
}

static void begin(void) {
  depth = 0;
  is_stop_pending = is_detached = is_close_known = false;
  closing = 0;
  last_order = ran_at = 0;
  armed = CSCHED_FOREVER;
  memset(items, 0, sizeof items);
  for (int i = 0; i < ITEMS; i++) csched_timer_init(&items[i].timer, &type, NULL);
  for (int i = 0; i < SOURCES; i++) begin_source(&sources[i]);
  if (csched_loop_create(&loop) != 0 || csched_loop_fd(loop, &host) != 0) abort();
}

// Does all work. After that the host must not be notified.
static void finish(void) {
  empty_copies();
  for (int i = 0; i < SOURCES; i++) {
    look_for_close(&sources[i]);
    take_from(&sources[i]);
    if (sources[i].is_added) modify(&sources[i], READ);
  }
  if (is_stop_pending || closing != 0) run_until(0);
  for (int n = 0; n < 200 && is_readable(host); n++) csched_loop_run_ready(loop, 3);
  for (int i = 0; i < ITEMS; i++) REQUIRE(!must_come(&items[i]), "item %d is left", i);
  REQUIRE(!is_readable(host), "there is nothing to do, and the descriptor is readable");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_begin(data, size);
  begin();
  while (!fuzz_is_over()) act();
  finish();
  csched_loop_destroy(loop);
  for (int i = 0; i < ITEMS; i++) REQUIRE(!items[i].waits && csched_job_is_idle(&items[i].timer.job), "item %d", i);
  while (copy_count > 0) close(copies[--copy_count]);
  return 0;
}
