// Places (loops and queues): their list, their state, and the creation and end of loops.

#include "loops.h"

#include <stdlib.h>

place places[PLACES];
loop loops[LOOPS];
static int place_count; // used up by this input

// MARK: the state of a place

bool place_is_held(int at) {
  for (int i = 0; i < place_count; i++)
    if (place_is_queue(i) && places[i].inside > 0 && places[i].bottom == places[at].bottom) return true;
  return false;
}

int place_left(void) { return PLACES - place_count; }

bool place_is_base(int at) {
  for (int i = 0; i < place_count; i++)
    if (places[i].exists && places[i].base == at) return true;
  return false;
}

bool place_is_suspended(int at) {
  for (; at != NOWHERE; at = places[at].base)
    if (places[at].suspensions > 0) return true;
  return false;
}

int place_any(void) {
  int at = (int)fuzz_byte();
  for (int i = 0; i < place_count; i++, at++)
    if (places[at % place_count].exists) return at % place_count;
  return NOWHERE;
}

int place_any_queue(void) {
  int at = (int)fuzz_byte();
  for (int i = 0; i < place_count; i++, at++)
    if (places[at % place_count].exists && place_is_queue(at % place_count)) return at % place_count;
  return NOWHERE;
}

// MARK: creating

int place_new(int loop, int base) {
  int at = place_count++;
  places[at] = (place){.exists = true, .loop = loop, .base = base};
  bool is_on_queue = base != NOWHERE && place_is_queue(base);
  places[at].bottom = is_on_queue ? places[base].bottom : at;
  return at;
}

static void create_loop(int at) {
  loop *loop = &loops[at];
  *loop = (struct loop){.place = place_new(at, NOWHERE)};
  if (csched_loop_create(&loop->loop) != 0) abort();
  places[loop->place].target = csched_loop_target(loop->loop);
  TRACE("loop %d is place %d", at, loop->place);
  unsigned shape = fuzz_byte();
  int base = loop->place;
  for (int i = 0; i < QUEUES; i++) {
    int queue = queue_create(base);
    base = shape >> i & 1 ? queue : loop->place;
  }
}

void places_begin(void) {
  place_count = 0;
  for (int i = 0; i < LOOPS; i++) create_loop(i);
}

// MARK: destroying

static bool can_destroy_loop(int at) {
  if (loops[at].runs > 0) return false;
  for (int i = 0; i < place_count; i++)
    if (places[i].loop == at && places[i].inside > 0) return false;
  return true;
}

void loop_replace(int at, bool again) {
  if (!can_destroy_loop(at) || (again && place_left() < 1 + QUEUES)) return;
  int first = loops[at].place;
  for (int i = first; i < place_count; i++) // no submissions to them from now on
    if (places[i].loop == at) places[i].exists = false;
  for (int i = place_count - 1; i > first; i--)
    if (places[i].loop == at && !places[i].is_destroyed) queue_destroy(i);
  TRACE("destroy loop %d", at);
  csched_loop_destroy(loops[at].loop);
  for (int i = 0; i < ITEMS; i++)
    REQUIRE(places[items[i].place].loop != at || items[i].state == IDLE, "item %d is left in %d by loop %d", i,
            items[i].state, at);
  for (int i = first; i < place_count; i++)
    REQUIRE(places[i].loop != at || places[i].kept == 0, "queue %d keeps its owner", i);
  if (again) create_loop(at);
}

void loop_close(int at, csched_stop_policy policy) {
  if (!loop_exists(at)) return;
  TRACE("close loop %d, %s", at, policy == CSCHED_STOP_DROP ? "drop" : "run");
  bool is_stricter = loops[at].closing != 0 && loops[at].closing < 1 + (int)policy;
  if (is_stricter && loops[at].runs > 0) TRACE("in the middle of its end"); // a branch, so that the fuzzer sees it
  if (loops[at].closing < 1 + (int)policy) loops[at].closing = 1 + (int)policy;
  csched_loop_close(loops[at].loop, policy);
}

void loop_check_settled(int at) {
  for (int i = 0; i < ITEMS; i++)
    REQUIRE(places[items[i].place].loop != at || !item_may_run(&items[i]), "item %d is left in %d, in place %d", i,
            items[i].state, items[i].place);
}
