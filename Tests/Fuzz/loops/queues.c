// Queues on loops: their life, suspending, and entering them from outside of their jobs.

#include "loops.h"

#include <errno.h>
#include <stdlib.h>

// MARK: create and destroy

static void retain_keeper(void *keeper) { ((place *)keeper)->kept++; }
static void release_keeper(void *keeper) {
  place *place = keeper;
  REQUIRE(place->kept > 0, "a queue releases a keeper that it has not retained");
  place->kept--;
}

int queue_create(int base) {
  int at = place_new(places[base].loop, base);
  place *place = &places[at];
  if (csched_serial_create(&place->queue, places[base].target) != 0) abort();
  csched_serial_own(place->queue, retain_keeper, release_keeper, place);
  place->target = csched_serial_target(place->queue);
  TRACE("queue %d on %d", at, base);
  return at;
}

// A queue must not be destroyed while a timer is pending on it.
static void cancel_timers_of(int at) {
  for (int i = 0; i < TIMERS; i++)
    if (items[i].place == at && items[i].state != IDLE && items[i].is_timed) item_cancel(&items[i], true, false);
}

void queue_destroy(int at) {
  places[at].exists = false;
  places[at].is_destroyed = true;
  cancel_timers_of(at);
  TRACE("destroy queue %d", at);
  places[at].suspensions = 0; // its waiting jobs still run
  loops[places[at].loop].is_quiet = false;
  csched_serial_destroy(places[at].queue);
}

void queue_replace(int at) {
  if (at == NOWHERE || places[at].entered > 0 || place_is_base(at) || place_left() == 0) return;
  queue_destroy(at);
  queue_create(places[at].base);
}

// MARK: suspending

void queue_suspend(int at) {
  if (at == NOWHERE) return;
  TRACE("suspend %d", at);
  places[at].suspensions++;
  loops[places[at].loop].is_quiet = false;
  csched_serial_suspend(places[at].queue);
}

void queue_resume(int at) {
  if (at == NOWHERE || places[at].suspensions == 0) return;
  TRACE("resume %d", at);
  places[at].suspensions--;
  loops[places[at].loop].is_quiet = false;
  csched_serial_resume(places[at].queue);
}

// MARK: entering

// Whether a job waits there that came before.
static bool has_jobs(int at) {
  for (int i = 0; i < ITEMS; i++)
    if (items[i].place == at && items[i].state == WAITS && !items[i].is_timed) return true;
  return false;
}

static void check_entered(int at, bool is_entered) {
  bool must_not = place_is_suspended(at) || place_is_held(at) || has_jobs(at);
  if (is_entered) REQUIRE(!must_not, "queue %d is entered", at);
  else REQUIRE(must_not || !loops[places[at].loop].is_quiet, "queue %d is idle, and not entered", at);
}

// Whether items of the tree's bottom queue still wait: they run after the sync.
static bool has_left_something(int at) {
  for (int i = 0; i < ITEMS; i++)
    if (items[i].state != IDLE && places[items[i].place].bottom == places[at].bottom) return true;
  return false;
}

static void act_inside(int at) {
  REQUIRE(csched_target_current() == places[at].target, "place %d is not current", at);
  places[at].inside++;
  places[at].entered++;
  act_some(3);
  places[at].entered--;
  places[at].inside--;
  if (has_left_something(at)) loops[places[at].loop].is_quiet = false;
}

typedef struct sync_context {
  int place;
  bool is_called;
} sync_context;

static void sync_body(void *context) {
  sync_context *sync = context;
  sync->is_called = true;
  TRACE("sync on %d", sync->place);
  check_entered(sync->place, true);
  act_inside(sync->place);
}

void queue_sync(int at) {
  if (at == NOWHERE) return;
  sync_context sync = {.place = at};
  int answer = csched_serial_sync(places[at].queue, sync_body, &sync);
  TRACE("sync on %d: %d", at, answer);
  REQUIRE(sync.is_called == (answer == 0), "sync on %d says %d", at, answer);
  if (answer == 0 || loops[places[at].loop].closing != 0) return;
  REQUIRE(answer == EDEADLK, "sync on %d says %d", at, answer);
  check_entered(at, false);
}

void queue_enter(int at) {
  if (at == NOWHERE) return;
  csched_target_inside inside;
  bool is_entered = csched_serial_try_enter(places[at].queue, &inside);
  TRACE("enter %d: %d", at, is_entered);
  if (is_entered || loops[places[at].loop].closing == 0) check_entered(at, is_entered);
  if (!is_entered) return;
  act_inside(at);
  csched_serial_leave(places[at].queue, &inside);
}
