// Timers that never fire: the harness, and ours.
#include "kit.h"

#include <pthread.h>

static const csched_job_type nothing = {do_nothing, do_nothing, NULL};

static csched_time after(csched_time now, uint32_t milliseconds) { return now + (csched_time)milliseconds * 1000000; }

// MARK: ours: on another thread's loop, and on the caller's own

typedef struct wheel {
  csched_thread *thread; // or
  csched_loop *loop;
  csched_timer *pending;
  csched_timer newest;
  csched_time start;
} wheel;

static void submit(wheel *wheel, csched_timer *timer, uint32_t milliseconds) {
  if (wheel->thread != NULL)
    csched_target_submit_at(csched_thread_target(wheel->thread), timer, after(wheel->start, milliseconds), 0);
  else csched_target_submit_at(csched_loop_target(wheel->loop), timer, after(wheel->start, milliseconds), 0);
}

static void *wheel_make(wheel wheel, long pending, const uint32_t *milliseconds) {
  struct wheel *made = touched(sizeof *made);
  *made = wheel;
  made->pending = touched(sizeof *made->pending * (size_t)(pending + 1));
  made->start = csched_now();
  csched_timer_init(&made->newest, &nothing, NULL);
  for (long i = 0; i < pending; i++) {
    csched_timer_init(&made->pending[i], &nothing, NULL);
    submit(made, &made->pending[i], milliseconds[i]);
  }
  return made;
}

static void *thread_make(long pending, const uint32_t *milliseconds) {
  wheel wheel = {0};
  if (csched_thread_start(&wheel.thread, NULL) != 0) abort();
  return wheel_make(wheel, pending, milliseconds);
}

static void *loop_make(long pending, const uint32_t *milliseconds) {
  wheel wheel = {0};
  if (csched_loop_create(&wheel.loop) != 0) abort();
  return wheel_make(wheel, pending, milliseconds);
}

static void wheel_newest(void *context, long count, const uint32_t *milliseconds) {
  wheel *wheel = context;
  for (long i = 0; i < count; i++) {
    submit(wheel, &wheel->newest, milliseconds[i]);
    csched_timer_cancel(&wheel->newest);
  }
}

static void wheel_replaced(void *context, long count, const uint32_t *which, const uint32_t *milliseconds) {
  wheel *wheel = context;
  for (long i = 0; i < count; i++) {
    csched_timer *timer = &wheel->pending[which[i]];
    csched_timer_cancel(timer);
    submit(wheel, timer, milliseconds[i]);
  }
}

const peer_timers ours_timers[] = {{"csched_thread", 0, thread_make, wheel_newest, wheel_replaced},
                                   {"csched_loop on its own thread", 0, loop_make, wheel_newest, wheel_replaced},
                                   {0}};

// MARK: the harness

static uint32_t spans[PEER_SPANS], which[PEER_SPANS];

typedef struct waiting {
  const peer_timers *kind;
  void *made;
  long pending, place; // how far the tables have been used
} waiting;

// The contender's timers, made at the first call; spans from a minute up to a thousand seconds more.
static waiting *timers_of(int timers, long pending) {
  static waiting one;
  const peer_timers *kind = contender(CBENCH_TIMERS, timers);
  if (one.made != NULL) {
    if (one.pending != pending || one.kind != kind) abort(); // one for each process
    return &one;
  }
  uint64_t state = 1;
  for (int i = 0; i < PEER_SPANS; i++) {
    spans[i] = (uint32_t)(60000 + cbench_random(&state) % 1000000);
    which[i] = (uint32_t)(cbench_random(&state) % (uint64_t)pending);
  }
  one = (waiting){kind, kind->make(pending, spans), pending, 0};
  return &one;
}

void cbench_wait_timers(int timers, long count) {
  const peer_timers *kind = contender(CBENCH_TIMERS, timers);
  uint64_t state = 1;
  for (int i = 0; i < PEER_SPANS; i++) spans[i] = (uint32_t)(3600000 + cbench_random(&state) % 1000000);
  if (kind->make(count, spans) == NULL) abort();
}

// How many can be done before the tables begin anew.
static long some(waiting *waiting, long left) {
  if (waiting->place == PEER_SPANS) waiting->place = 0;
  return left < PEER_SPANS - waiting->place ? left : PEER_SPANS - waiting->place;
}

long cbench_timers_most(int timers) { return ((const peer_timers *)contender(CBENCH_TIMERS, timers))->most; }

bool cbench_timers_can_replace(int timers) {
  return ((const peer_timers *)contender(CBENCH_TIMERS, timers))->replaced != NULL;
}

double cbench_timers_newest(int timers, long pending, long count) {
  waiting *waiting = timers_of(timers, pending);
  csched_time start = csched_now();
  for (long done = 0, next; done < count; done += next, waiting->place += next) {
    next = some(waiting, count - done);
    waiting->kind->newest(waiting->made, next, spans + waiting->place);
  }
  return since(start);
}

double cbench_timers_replaced(int timers, long pending, long count) {
  waiting *waiting = timers_of(timers, pending);
  csched_time start = csched_now();
  for (long done = 0, next; done < count; done += next, waiting->place += next) {
    next = some(waiting, count - done);
    waiting->kind->replaced(waiting->made, next, which + waiting->place, spans + waiting->place);
  }
  return since(start);
}
