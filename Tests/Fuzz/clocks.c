// Target: timers on the monotonic, the boot and the wall clock (clock/clock.c), of a loop and of a queue on it. The
// system is suspended, and the wall clock is set. The clocks' thread is no thread here: when the input says so, its
// code runs up to its next sleep.
//
// The model checks:
//   early     no timer is delivered before its own clock has reached its deadline
//   order     the timers that one step of the thread delivers run by deadline and order of submission
//   alarms    the alarm of a clock is never set to later than the least deadline + leeway on it
//   all       after a step of the thread and a run of the loop, no due timer waits
//   once      each submission is run or dropped, then released; at once where it waited for its clock. When the system
//             refuses an alarm, it is dropped with the system's error. A shutdown drops waiting timers; the next
//             submission starts the clocks anew

#include "fuzz.h"

#include <CScheduler/clock.h>
#include <CScheduler/loop.h>
#include <CScheduler/serial.h>
#include <CScheduler/shutdown.h>

#include "../../Sources/CScheduler/platform/platform_clocks.h"

#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

enum { ITEMS = 16, CLOCKS = 3, DEEPEST = 8 };
enum { IDLE, WAITS, RUNS, ENDS, DROPS, DROPPED };

typedef struct item {
  csched_timer timer;
  int state;
  csched_clock clock;
  bool on_queue, is_late; // is_late: its time had come when it was submitted
  csched_time deadline, leeway;
  csched_time
      due_by; // on the monotonic clock: the deadline, or the next nanosecond if it came late, for the batch of the present one
  uint64_t order, delivery; // delivery: which one, of the thread's; 0: it waits for its clock, unless it is late
  unsigned submitted, ran, dropped, released;
} item;

static csched_loop *loop;
static csched_serial *queue;
static item items[ITEMS];
static uint64_t last_order, last_delivery;
static unsigned depth;
static int refusals; // how many requests to the system are refused from now on

static int number(const item *item) { return (int)(item - items); }

// MARK: the clocks

static csched_time boot_ahead,
    wall_ahead; // of the monotonic clock; the wall clock may be behind, and then this is below zero

csched_time __wrap_csched_os_clock_now_(int clock);
csched_time __wrap_csched_os_clock_now_(int clock) {
  return fuzz_now + (clock == CSCHED_OS_WALL ? wall_ahead : boot_ahead);
}

static void set_wall(csched_time to) {
  TRACE("set the wall clock to %llu", (unsigned long long)to);
  wall_ahead = (to > FUZZ_LATEST ? FUZZ_LATEST : to) - fuzz_now;
}

static void suspend(csched_time span) {
  TRACE("suspend the system for %llu", (unsigned long long)span);
  boot_ahead = fuzz_add(boot_ahead, span) > FUZZ_LATEST ? FUZZ_LATEST : boot_ahead + span;
  if (fuzz_add(wall_ahead + fuzz_now, span) <= FUZZ_LATEST) wall_ahead += span;
}

// MARK: the port: alarms, and a poller that waits for them

static struct {
  csched_time deadline; // CSCHED_FOREVER: it is not set, or has rung
  bool is_open;
} alarms[CLOCKS];
static bool is_poller_open, is_woken;

static int refuse(int error) {
  if (refusals == 0) return 0;
  refusals--;
  return error;
}

int __wrap_csched_alarm_open_(csched_alarm *alarm, int clock);
int __wrap_csched_alarm_open_(csched_alarm *alarm, int clock) {
  int error = refuse(EMFILE);
  if (error != 0) return error;
  REQUIRE(!alarms[clock].is_open, "the alarm of clock %d is opened again", clock);
  *alarm = (csched_alarm){.fd = 1000 + clock, .clock = clock};
  alarms[clock].is_open = true;
  alarms[clock].deadline = CSCHED_FOREVER;
  return 0;
}

void __wrap_csched_alarm_close_(const csched_alarm *alarm);
void __wrap_csched_alarm_close_(const csched_alarm *alarm) { alarms[alarm->clock].is_open = false; }

void __wrap_csched_alarm_set_(const csched_alarm *alarm, csched_time deadline);
void __wrap_csched_alarm_set_(const csched_alarm *alarm, csched_time deadline) {
  REQUIRE(alarms[alarm->clock].is_open, "an alarm is set that is not open");
  alarms[alarm->clock].deadline = deadline;
}

int __wrap_csched_poller_open_(csched_poller *poller, const char *function);
int __wrap_csched_poller_open_(csched_poller *poller, const char *function) {
  (void)function;
  int error = refuse(EMFILE);
  *poller = (csched_poller){.fd = -1};
  if (error == 0) is_poller_open = true;
  is_woken = false;
  return error;
}

void __wrap_csched_poller_close_(const csched_poller *poller);
void __wrap_csched_poller_close_(const csched_poller *poller) {
  (void)poller;
  is_poller_open = false;
}

static uint64_t tags[CLOCKS];

int __wrap_csched_poller_set_(csched_poller *poller, int fd, unsigned before, unsigned events, uint64_t tag);
int __wrap_csched_poller_set_(csched_poller *poller, int fd, unsigned before, unsigned events, uint64_t tag) {
  (void)poller, (void)before, (void)events;
  tags[fd - 1000] = tag;
  return refuse(ENOMEM);
}

int __wrap_csched_poller_wake_(const csched_poller *poller);
int __wrap_csched_poller_wake_(const csched_poller *poller) {
  (void)poller;
  is_woken = true;
  return 0;
}

// The library arms it to retry a delivery for which there is no worker. Here the thread can deliver all timers itself.
void __wrap_csched_poller_set_alarm_(csched_poller *poller, csched_time deadline);
void __wrap_csched_poller_set_alarm_(csched_poller *poller, csched_time deadline) {
  (void)poller;
  REQUIRE(deadline == CSCHED_FOREVER, "something is left for others to deliver");
}

// MARK: the clocks' thread

static struct {
  void (*body)(void *);
  void *context;
  jmp_buf sleeps;
} thread;

static void note_deliveries(csched_clock clock);

// Here the thread sleeps, unless an alarm has rung. Whatever it has in its frame it finds again when it begins anew.
int __wrap_csched_poller_wait_(csched_poller *poller, csched_poller_event *events, int most, bool blocks);
int __wrap_csched_poller_wait_(csched_poller *poller, csched_poller_event *events, int most, bool blocks) {
  (void)poller;
  int count = 0;
  REQUIRE(is_poller_open && blocks && most >= CLOCKS - 1, "the thread waits");
  for (int clock = CSCHED_CLOCK_BOOT; clock <= CSCHED_CLOCK_WALL; clock++) {
    if (alarms[clock].deadline == CSCHED_FOREVER || alarms[clock].deadline > csched_clock_now((csched_clock)clock))
      continue;
    TRACE("the alarm of clock %d rings", clock);
    alarms[clock].deadline = CSCHED_FOREVER;
    events[count++] = (csched_poller_event){.tag = tags[clock], .events = CSCHED_POLLER_READ};
    note_deliveries((csched_clock)clock);
  }
  if (count == 0 && !is_woken) longjmp(thread.sleeps, 1);
  is_woken = false;
  return count;
}

// Runs the thread until it would sleep. Returns: whether it has ended.
static bool run_clock_thread(void) {
  if (thread.body == NULL) return false;
  if (setjmp(thread.sleeps) != 0) return false;
  thread.body(thread.context);
  return true;
}

int __wrap_csched_os_thread_start_(csched_os_thread *handle, size_t stack_size, void (*body)(void *), void *context);
int __wrap_csched_os_thread_start_(csched_os_thread *handle, size_t stack_size, void (*body)(void *), void *context) {
  (void)stack_size;
  int error = refuse(EAGAIN);
  if (error != 0) return error;
  REQUIRE(thread.body == NULL, "a second thread for the clocks");
  *handle = (csched_os_thread){0};
  thread.body = body;
  thread.context = context;
  return 0;
}

void __wrap_csched_os_thread_join_(csched_os_thread handle);
void __wrap_csched_os_thread_join_(csched_os_thread handle) {
  (void)handle;
  bool has_ended = run_clock_thread();
  REQUIRE(has_ended, "the clocks' thread does not end");
  thread.body = NULL;
}

void __wrap_csched_os_thread_set_name_(const char *name);
void __wrap_csched_os_thread_set_name_(const char *name) { (void)name; }

// MARK: the model

static bool waits_for_clock(const item *item) {
  return item->state == WAITS && item->clock != CSCHED_CLOCK_MONOTONIC && !item->is_late && item->delivery == 0;
}

// The effect of an alarm: all timers that are due by then run, in order.
static void note_deliveries(csched_clock clock) {
  for (;;) {
    item *first = NULL;
    for (int i = 0; i < ITEMS; i++) {
      item *each = &items[i];
      if (!waits_for_clock(each) || each->clock != clock || each->deadline > csched_clock_now(clock)) continue;
      if (first == NULL || each->deadline < first->deadline ||
          (each->deadline == first->deadline && each->order < first->order))
        first = each;
    }
    if (first == NULL) return;
    first->delivery = ++last_delivery;
  }
}

static void check_alarms(void) {
  for (int i = 0; i < ITEMS; i++) {
    const item *item = &items[i];
    if (!waits_for_clock(item) || item->deadline == CSCHED_FOREVER) continue;
    REQUIRE(thread.body != NULL && alarms[item->clock].deadline <= fuzz_add(item->deadline, item->leeway),
            "the alarm of clock %d is set to %llu, too late for item %d", (int)item->clock,
            (unsigned long long)alarms[item->clock].deadline, i);
  }
}

// Called after a step of the thread and a complete run of the loop. (An overdue timer waits behind earlier deadlines.)
static void check_all_done(void) {
  for (int i = 0; i < ITEMS; i++) {
    const item *item = &items[i];
    csched_time latest = item->clock == CSCHED_CLOCK_MONOTONIC ? item->due_by : fuzz_add(item->deadline, item->leeway);
    bool must = item->delivery != 0 || latest <= csched_clock_now(item->clock);
    REQUIRE((item->state != WAITS && item->state != DROPPED) || !must, "item %d is left in %d", i, item->state);
  }
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
  TRACE("%d runs", number(item));
  REQUIRE(item->state == WAITS, "item %d runs in %d", number(item), item->state);
  REQUIRE(item->clock == CSCHED_CLOCK_MONOTONIC ? item->deadline <= fuzz_now : item->is_late || item->delivery != 0,
          "item %d is early", number(item));
  for (int i = 0; i < ITEMS && item->delivery != 0; i++)
    REQUIRE(items[i].state != WAITS || items[i].on_queue != item->on_queue || items[i].delivery == 0 ||
                items[i].delivery >= item->delivery,
            "item %d overtakes %d", number(item), i);
  uint64_t order = item->order;
  item->state = RUNS;
  item->ran++;
  act_some(3);
  if (item->state == RUNS && item->order == order) item->state = ENDS;
}

static void drop(csched_job *job) {
  item *item = (struct item *)job;
  REQUIRE(item->state == WAITS, "item %d is dropped in %d", number(item), item->state);
  item->state = DROPPED;
  item->dropped++;
}

static void release(csched_job *job) {
  item *item = (struct item *)job;
  REQUIRE(item->state == ENDS || item->state == DROPPED, "item %d is released in %d", number(item), item->state);
  item->state = IDLE;
  item->released++;
}

static const csched_job_type type = {run, drop, release};

// MARK: operations

static void submit(item *item, csched_clock clock, bool on_queue) {
  if (item->state != IDLE && item->state != RUNS) return;
  if (item->state == RUNS) item->released++;
  csched_time now = csched_clock_now(clock);
  item->state = WAITS;
  item->clock = clock;
  item->on_queue = on_queue;
  item->deadline = fuzz_instant(now);
  item->leeway = fuzz_below(3) == 0 ? fuzz_span() : 0;
  item->is_late = item->deadline <= now;
  item->due_by = item->is_late ? now + 1 : item->deadline;
  item->order = ++last_order;
  item->delivery = 0;
  item->submitted++;
  TRACE("submit %d on clock %d to the %s at %llu + %llu, now %llu", number(item), (int)clock,
        on_queue ? "queue" : "loop", (unsigned long long)item->deadline, (unsigned long long)item->leeway,
        (unsigned long long)now);
  csched_target *target = on_queue ? csched_serial_target(queue) : csched_loop_target(loop);
  int before = refusals;
  int answer = csched_target_submit_at_clock(target, clock, &item->timer, item->deadline, item->leeway);
  REQUIRE((answer == EMFILE || answer == ENOMEM || answer == EAGAIN) == (refusals < before) &&
              (answer == 0 || refusals < before),
          "submission says %d", answer);
  if (answer != 0) REQUIRE(item->state == IDLE, "item %d was refused, and is in %d", number(item), item->state);
}

static void cancel(item *item) {
  int before = item->state;
  bool waited = waits_for_clock(item);
  csched_cancel_result result = csched_timer_cancel(&item->timer);
  TRACE("cancel %d in %d: %d", number(item), before, (int)result);
  REQUIRE(result == (before == WAITS  ? CSCHED_CANCEL_DROPPED
                     : before == RUNS ? CSCHED_CANCEL_RUNNING
                                      : CSCHED_CANCEL_FINISHED),
          "cancel of %d says %d", number(item), (int)result);
  if (waited) REQUIRE(item->state == IDLE, "timer %d was cancelled, and is not released", number(item));
}

static void rearm(item *item) {
  if (item->clock == CSCHED_CLOCK_MONOTONIC || item->state != WAITS) return;
  REQUIRE(!csched_loop_rearm(loop, &item->timer, fuzz_instant(fuzz_now)), "the loop rearms what waits elsewhere");
}

static void run_all(void) {
  run_clock_thread();
  TRACE("run all");
  depth++;
  csched_loop_run_ready(loop, 10000);
  depth--;
  if (depth == 0) {
    run_clock_thread(); // for timers submitted meanwhile
    csched_loop_run_ready(loop, 10000);
  }
}

// The loop would sleep. Until then clocks may ring, and their thread may deliver something.
static void sleep(csched_time deadline) {
  csched_time next = deadline;
  for (int clock = CSCHED_CLOCK_BOOT; clock <= CSCHED_CLOCK_WALL; clock++) {
    csched_time now = csched_clock_now((csched_clock)clock), rings = alarms[clock].deadline;
    if (!alarms[clock].is_open || rings == CSCHED_FOREVER) continue;
    csched_time at = rings <= now ? fuzz_now : fuzz_add(fuzz_now, rings - now);
    if (at < next) next = at;
  }
  fuzz_sleep(next);
  run_clock_thread();
}

static void create(void) {
  if (csched_loop_create(&loop) != 0 || csched_serial_create(&queue, csched_loop_target(loop)) != 0) abort();
}

// A timer that waits for a clock waits in no target: it must be cancelled before its target is destroyed.
static void destroy(void) {
  for (int i = 0; i < ITEMS; i++)
    if (items[i].state == WAITS || items[i].state == DROPPED) cancel(&items[i]);
  csched_serial_destroy(queue);
  csched_loop_destroy(loop);
  for (int i = 0; i < ITEMS; i++) REQUIRE(items[i].state == IDLE, "item %d is left in %d", i, items[i].state);
}

static void shut_down(void) {
  TRACE("shut down");
  bool waited[ITEMS];
  for (int i = 0; i < ITEMS; i++) waited[i] = waits_for_clock(&items[i]);
  csched_shutdown(CSCHED_STOP_RUN);
  for (int i = 0; i < ITEMS; i++) // one whose alarm had rung may be delivered before the end
    REQUIRE(!waited[i] || items[i].state == IDLE || items[i].delivery != 0, "item %d is left in %d", i, items[i].state);
  REQUIRE(thread.body == NULL && !is_poller_open, "something is left of the clocks");
}

static void act(void) {
  unsigned what = fuzz_byte(), which = fuzz_byte();
  item *item = &items[which % ITEMS];
  csched_clock clock = (csched_clock)(which / ITEMS % CLOCKS);
  switch (what % 16) {
  case 0:
  case 1:
  case 2:
  case 3: submit(item, clock, what & 16); break;
  case 4:
  case 5: cancel(item); break;
  case 6: rearm(item); break;
  case 7: fuzz_pass(fuzz_span() & (((csched_time)1 << 50) - 1)); break;
  case 8: suspend(fuzz_span() & (((csched_time)1 << 50) - 1)); break;
  case 9: set_wall(fuzz_instant(csched_clock_now(CSCHED_CLOCK_WALL))); break;
  case 10: run_clock_thread(); break;
  case 11: csched_loop_run_ready(loop, which % 20); break;
  case 12: run_all(); break;
  case 13: csched_loop_run_until(loop, fuzz_now + (fuzz_span() & (((csched_time)1 << 40) - 1))); break;
  case 14: refusals = which % 8 < 3 ? which / 8 % 4 : 0; break;
  default:
    if (depth > 0) break;
    if (which % 4 == 0) shut_down();
    if (which % 4 == 1) destroy();
    if (which % 4 == 1) create();
  }
  check_alarms();
}

// MARK: one input

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_begin(data, size);
  fuzz_on_sleep = sleep;
  depth = 0;
  refusals = 0;
  boot_ahead = fuzz_byte();
  wall_ahead = 0;
  last_order = last_delivery = 0;
  memset(items, 0, sizeof items);
  for (int i = 0; i < ITEMS; i++) csched_timer_init(&items[i].timer, &type, NULL);
  create();
  while (!fuzz_is_over()) act();
  run_all();
  check_all_done();
  destroy();
  shut_down();
  for (int i = 0; i < ITEMS; i++)
    REQUIRE(items[i].submitted == items[i].ran + items[i].dropped && items[i].submitted == items[i].released,
            "item %d: %u submitted, %u ran, %u dropped, %u released", i, items[i].submitted, items[i].ran,
            items[i].dropped, items[i].released);
  return 0;
}
