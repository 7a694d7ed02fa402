// A queue of timers for a loop, a clock or virtual time: a wheel holds the timers that are far from due, a tree the
// near ones.
//
// States
//   owner      of a timer: the queue in which it waits; NULL: it does not wait
//   place      of a waiting timer: the structure that links it. NEAR: `near`, a tree by deadline and order. NEVER:
//              `never`, a list for the deadline CSCHED_FOREVER. SLOT + n: slot n of the wheel, a list without order
//   base       the latest tick (2^22 ns, 4 ms) to which the wheel was advanced. If the clock is set back (clock.c),
//              `base` stays: new timers up to `base` are then linked into `near`
//   wheel      7 wheel levels of 64 slots. A tick has 7 digits of 6 bits. A timer's level is the highest digit in which
//              its tick differs from `base`; its slot is that digit. `occupied` has a bit for each slot that is not
//              empty
//   wake       the least deadline + leeway, or earlier; written under the lock, read without it. `first`: the least
//              deadline, or earlier
//
// Invariants
//   W1  Never early: a timer is popped at its deadline or later.
//   W2  In order: due timers are popped by (deadline, order of submission). `near` holds every timer up to the tick
//       `base`, and the wheel holds the later timers. So the first timer in `near` is the first of all timers.
//   W3  Each occupied slot begins after `base`. The first occupied slot is the lowest slot of the lowest occupied wheel
//       level. `base` moves to a tick before that slot, or to its beginning; its timers then cascade to lower wheel
//       levels or into `near`.
//   W4  No missed wake: `wake` is never later than the least deadline + leeway, and the caller is notified each time
//       `wake` becomes earlier. `wake` may be too early: removing a timer does not raise it, because that would take a
//       search. A pop that finds no due timer raises it.
//   W5  Each timer is removed once, under the lock: by a pop, by a canceller, or by an add or a move that ends its
//       wait.
//   W6  A timer may be submitted to another queue each time, also when the previous queue is freed. It starts and stops
//       waiting under the owner's lock. An idle timer has no owner. A canceller reads the owner only while its own
//       cancel has made the job DROPPING. So that owner is the queue of the present submission, and stays valid during
//       the cancel (timer.h).
//   W7  After close no timer is added.
//   W8  A timer that is cancelled before it is added does not wait until its deadline. The adding thread stores the
//       owner, executes a light fence, and reads the job's state. The canceller makes the job DROPPING, executes a
//       heavy fence, and reads the owner. So one of the two threads removes the timer at once. A move does not clear
//       the owner.
//   W9  Equal deadlines keep their order, also for an overdue timer: its deadline is over when it is submitted. Either
//       it waits behind all earlier timers of the queue (`floor`), or it bypasses the queue: its submitter delivers it
//       at once. It bypasses only while no timer that precedes it waits here or is being delivered. Then each new timer
//       with the same or an earlier deadline bypasses, too (`passed`).
// Costs: insertion and removal are O(1) in the wheel, O(log n) in `near`. A timer cascades at most 7 times, usually
// once or twice.
// Leeway: each wake pops all due timers, and no wake is before the least deadline + leeway. No method needs fewer
//   wakes: between two wakes lies a whole interval [deadline, deadline + leeway]. So timers with 10 ms of leeway cause
//   at most 100 wakes a second. Aligning each wake to a power of two, as systems do to make processes wake together,
//   would cost 119 here (8.4 ms).
// Orderings
//   wake, first: relaxed, ordered by the loop's park and notify owner: release, pairs with withdraw_timer's acquire,
//   carries the initialisation of the queue, which may be newer than the submission; the
//     store of NULL is relaxed, ordered by the job's state
// Assumes: the caller of add or move notifies the sleeping thread when `wake` has become earlier (loop.c, LP1).
// Source: hierarchical wheels are Varghese and Lauck's (1987). Levels by the highest digit that differs, and bitmaps,
//   are common in the kernels' timeouts. Popping all due timers at a delayed wake is Linux's range of soft and hard
//   expiry.
// Models: checks/timer.c, checks/loop.c. Not modelled: W2, W3, which a sorted list checks over millions of operations.

#include "timer_internal.h"
#include "../job/job_internal.h"
#include "../job/frames_internal.h"
#include "../platform/platform.h"

enum { TICK_BITS = 22, DIGIT_BITS = 6 }; // a tick is 2^22 ns; each digit of its number selects a slot of a level
enum { NEAR = 1, NEVER = 2, SLOT = 3 };  // values of `place` of a waiting timer: see States

_Static_assert(TICK_BITS + DIGIT_BITS * CSCHED_WHEEL_LEVELS == 64, "the wheel reaches to the end of time");
_Static_assert(1 << DIGIT_BITS == CSCHED_WHEEL_SLOTS, "a digit is a slot");

static int compare(const csched_timer *a, const csched_timer *b) { // W2: by deadline, then order; < 0: `a` first
  if (a->deadline != b->deadline) return a->deadline < b->deadline ? -1 : 1;
  return a->order < b->order ? -1 : a->order > b->order;
}

RB_GENERATE_INTERNAL(csched_timer_tree, csched_timer, node, compare, CSCHED_UNUSED static) // the tree's functions

// Returns: `timer`'s deadline + leeway: the latest time at which the sleeping thread must wake to pop it.
static csched_time wake_of(const csched_timer *timer) {
  csched_time latest = timer->deadline + timer->leeway;
  return latest < timer->deadline ? CSCHED_FOREVER : latest; // overflow
}

// Does: stores `wake`, and clears the record that it may be too early.
static void set_wake(csched_timers *timers, csched_time wake) {
  csched_store_relaxed(&timers->wake, wake); // W4: the sleeping thread sees it by the caller's notify
  timers->is_wake_low = false;
}

// MARK: the wheel

// Does: links `timer` into `near`, a slot or `never`, by its deadline and the present `base`.
static void link_timer(csched_timers *timers, csched_timer *timer) {
  uint32_t place = NEAR; // unless changed below
  uint64_t tick = timer->deadline >> TICK_BITS;
  if (timer->deadline == CSCHED_FOREVER) {
    TAILQ_INSERT_TAIL(&timers->never, timer, node);
    timers->never_count++;
    place = NEVER;
  } else if (tick <= timers->base) {
    RB_INSERT(csched_timer_tree, &timers->near, timer);
  } else { // W3: the level is the highest digit that differs from `base`; the slot is that digit of `tick`
    unsigned level = (unsigned)(63 - __builtin_clzll(tick ^ timers->base)) / DIGIT_BITS;
    unsigned index = tick >> DIGIT_BITS * level & (CSCHED_WHEEL_SLOTS - 1);
    struct csched_timer_slot *slot = &timers->slots[level][index];
    csched_time wake = wake_of(timer);
    if (LIST_EMPTY(&slot->timers) || wake < slot->wake) slot->wake = wake; // W4: the least of its timers
    LIST_INSERT_HEAD(&slot->timers, timer, node);
    timers->occupied[level] |= (uint64_t)1 << index;
    place = SLOT + level * CSCHED_WHEEL_SLOTS + index;
  }
  timer->node.place = place;
}

static void unlink_timer(csched_timers *timers, csched_timer *timer) { // the reverse of link_timer
  uint32_t place = timer->node.place;
  if (place == NEVER) {
    TAILQ_REMOVE(&timers->never, timer, node);
    timers->never_count--;
  } else if (place == NEAR) {
    RB_REMOVE(csched_timer_tree, &timers->near, timer);
  } else {
    unsigned level = (place - SLOT) / CSCHED_WHEEL_SLOTS, index = (place - SLOT) % CSCHED_WHEEL_SLOTS;
    LIST_REMOVE(timer, node);
    if (LIST_EMPTY(&timers->slots[level][index].timers)) timers->occupied[level] &= ~((uint64_t)1 << index);
  }
}

// Returns: the first tick of a slot: the digits of `base` above `level`, then `index`, then zeros.
static uint64_t slot_begin(const csched_timers *timers, unsigned level, unsigned index) {
  unsigned shift = DIGIT_BITS * level;
  return (timers->base >> shift & ~(uint64_t)(CSCHED_WHEEL_SLOTS - 1)) << shift | (uint64_t)index << shift;
}

// Returns: the lowest wheel level with an occupied slot; CSCHED_WHEEL_LEVELS: the wheel is empty.
static unsigned first_level(const csched_timers *timers) {
  unsigned level = 0;
  while (level < CSCHED_WHEEL_LEVELS && timers->occupied[level] == 0) level++;
  return level;
}

// Does: if the first occupied slot begins at or before `tick`, cascades its timers and returns true. Else advances
// `base` to `tick`; returns false.
static bool cascade_first_slot(csched_timers *timers, uint64_t tick) {
  unsigned level = first_level(timers);
  unsigned index = level < CSCHED_WHEEL_LEVELS ? (unsigned)__builtin_ctzll(timers->occupied[level]) : 0;
  uint64_t begin = level < CSCHED_WHEEL_LEVELS ? slot_begin(timers, level, index) : UINT64_MAX;
  if (begin > tick) { // W3: `base` stays before the first slot
    if (timers->base < tick) timers->base = tick;
    return false;
  }
  timers->base = begin; // W3: relative to the new `base`, the slot's timers belong to lower levels or to `near`
  for (csched_timer *timer; (timer = LIST_FIRST(&timers->slots[level][index].timers)) != NULL; timers->steps++) {
    LIST_REMOVE(timer, node);
    link_timer(timers, timer); // `steps` counts it, for tests
  }
  timers->occupied[level] &= ~((uint64_t)1 << index); // the slot is empty now
  return true;
}

// MARK: when to wake

// Returns: the least deadline + leeway. The search stops at deadlines and slots that begin after the least sum so far
// (`best`).
static csched_time find_wake(csched_timers *timers) {
  csched_time best = CSCHED_FOREVER;
  csched_timer *each = RB_MIN(csched_timer_tree, &timers->near);
  for (; each != NULL && each->deadline < best; each = RB_NEXT(csched_timer_tree, &timers->near, each)) {
    if (wake_of(each) < best) best = wake_of(each);
    timers->steps++; // for tests: how many timers and slots were checked
  }
  for (unsigned level = 0; level < CSCHED_WHEEL_LEVELS; level++)
    for (uint64_t left = timers->occupied[level]; left != 0; left &= left - 1) { // clears the lowest set bit
      unsigned index = (unsigned)__builtin_ctzll(left);
      if (slot_begin(timers, level, index) << TICK_BITS >= best) return best; // all other slots begin later
      if (timers->slots[level][index].wake < best) best = timers->slots[level][index].wake;
      timers->steps++;
    }
  return best;
}

// Returns: the least deadline, or the beginning of the slot that contains it.
static csched_time find_first(const csched_timers *timers) {
  csched_timer *timer = RB_MIN(csched_timer_tree, (struct csched_timer_tree *)&timers->near); // RB_MIN only reads
  if (timer != NULL) return timer->deadline;
  unsigned level = first_level(timers);
  if (level == CSCHED_WHEEL_LEVELS) return CSCHED_FOREVER;
  return slot_begin(timers, level, (unsigned)__builtin_ctzll(timers->occupied[level])) << TICK_BITS;
}

// Does: links and counts `timer`. A deadline before `floor` (LP3 in loop.c) becomes `floor`. Returns: whether `wake`
// has become earlier.
static bool insert_timer(csched_timers *timers, csched_timer *timer, csched_time deadline) {
  csched_time floor = csched_load_relaxed(&timers->floor); // W9: only the loop's own thread must see its latest write
  timer->deadline = deadline;
  if (CSCHED_UNLIKELY(deadline < floor)) { // W9: waits behind all earlier timers
    csched_time latest = wake_of(timer);
    timer->leeway = latest > floor ? latest - floor : 0; // keeps deadline + leeway
    timer->deadline = deadline = timers->latest_floor = floor;
  }
  timer->order = ++timers->last_order;
  link_timer(timers, timer);
  if (deadline == CSCHED_FOREVER) return false; // it needs no wake
  timers->pending++;
  if (deadline < csched_load_relaxed(&timers->first)) // W4: changes only under this lock
    csched_store_relaxed(&timers->first, deadline);   // W4: the caller's notify publishes it
  csched_time wake = wake_of(timer);
  if (wake >= csched_load_relaxed(&timers->wake)) return false; // W4: changes only under this lock
  set_wake(timers, wake);
  return true;
}

// Does: unlinks `timer`, which keeps its owner, and subtracts it from the counts. It does not raise `wake`, but records
// that it may be too early.
static void unlink_and_uncount(csched_timers *timers, csched_timer *timer) {
  unlink_timer(timers, timer);
  if (timer->deadline == CSCHED_FOREVER) return; // not in `pending`, and `wake` ignores it
  timers->pending--;
  if (wake_of(timer) <= csched_load_relaxed(&timers->wake)) timers->is_wake_low = true; // W4: may be too early now
}

// Does: resets `first` and `wake` if no timer with a finite deadline waits.
static void reset_if_empty(csched_timers *timers) {
  if (timers->pending != 0) return;
  csched_store_relaxed(&timers->first, CSCHED_FOREVER); // W4: no timer with a finite deadline waits
  set_wake(timers, CSCHED_FOREVER);
}

// Does: removes `timer` from the queue, and clears its owner. The caller then runs, delivers or drops it.
static void remove_locked(csched_timers *timers, csched_timer *timer) { // W5: locked, so only one thread removes it
  unlink_and_uncount(timers, timer);
  csched_store_relaxed(&timer->owner, NULL); // W6: ordered by the job's state: a canceller changes it first
  reset_if_empty(timers);
}

// Returns: whether `timer` waits in `timers`, whose lock the caller holds.
static bool waits_in(const csched_timers *timers, const csched_timer *timer) {
  return csched_load_relaxed(&timer->owner) == timers; // W6: changed from or to `timers` only under this lock
}

// MARK: operations of the queue

void csched_timers_init_(csched_timers *timers) {
  timers->wake = timers->first = CSCHED_FOREVER;
  TAILQ_INIT(&timers->never);
}

// Returns: REFUSED: closed; LATE: the caller delivers `timer`; ADDED: it waits; ADDED_FIRST: it waits, and the caller
// notifies the sleeping thread.
csched_timer_added csched_timers_add_(csched_timers *timers, csched_timer *timer, csched_time deadline,
                                      csched_time leeway) {
  csched_timer_added added = CSCHED_TIMER_REFUSED;
  bool is_cancelled = false;
  csched_lock_lock(&timers->lock);
  if (!timers->is_closed && deadline < timers->passed) {
    added = CSCHED_TIMER_LATE;                   // W9: bypasses (see `passed`); the caller delivers it
  } else if (!timers->is_closed) {               // W7: if closed: REFUSED
    csched_store_release(&timer->owner, timers); // W6: pairs with withdraw_timer's acquire; W8: before the fence
    timer->leeway = leeway;
    added = insert_timer(timers, timer, deadline) ? CSCHED_TIMER_ADDED_FIRST : CSCHED_TIMER_ADDED;
    csched_fence_light_(); // W8: between the owner and the job's state; pairs with the heavy fence of a cancel
    is_cancelled = csched_job_is_cancelled_(&timer->job);
    if (CSCHED_UNLIKELY(is_cancelled)) remove_locked(timers, timer); // W5: by this add, so that it cannot wait here
  }
  csched_lock_unlock(&timers->lock);
  if (CSCHED_UNLIKELY(is_cancelled)) csched_job_discard_(&timer->job); // W8: the canceller drops it: only releases it
  return added;
}

// Returns: whether an overdue timer may bypass the queue (W9): then the caller delivers it at once. `passed`: 1 + the
// latest deadline that has bypassed. From then on a timer with a deadline below `passed` bypasses, too: no timer that
// it must follow waits here.
bool csched_timers_try_bypass_(csched_timers *timers, csched_time deadline) {
  csched_lock_lock(&timers->lock);
  csched_time first = csched_load_relaxed(&timers->first);          // W9: changes only under this lock
  bool passes = deadline < first && timers->latest_floor < first && // W9: no earlier one waits, also at a `floor`,
                csched_load_relaxed(&timers->is_delivering) == 0;   // W9: and the loop delivers none
  if (passes && timers->passed <= deadline) timers->passed = deadline + 1; // W9: then later timers bypass, too
  csched_lock_unlock(&timers->lock);
  return passes;
}

// Returns: as csched_timers_add_; REFUSED: `timer` does not wait in `timers`, and was not moved.
csched_timer_added csched_timers_move_(csched_timers *timers, csched_timer *timer, csched_time deadline) {
  csched_timer_added added = CSCHED_TIMER_REFUSED;
  csched_lock_lock(&timers->lock);
  if (waits_in(timers, timer) && deadline < timers->passed) {
    remove_locked(timers, timer);
    added = CSCHED_TIMER_LATE; // W9: bypasses the queue (see `passed`); the caller delivers it
  } else if (waits_in(timers, timer)) {
    unlink_and_uncount(timers, timer); // W8: the owner stays set, so that a canceller finds it
    added = insert_timer(timers, timer, deadline) ? CSCHED_TIMER_ADDED_FIRST : CSCHED_TIMER_ADDED;
    reset_if_empty(timers); // if the new deadline is CSCHED_FOREVER, no finite one may be left to wake for
  }
  csched_lock_unlock(&timers->lock);
  return added;
}

csched_timer *csched_timers_pop_(csched_timers *timers, csched_time now) { // Returns: NULL: no timer is due
  csched_lock_lock(&timers->lock);
  csched_timer *timer;
  while ((timer = RB_MIN(csched_timer_tree, &timers->near)) == NULL && cascade_first_slot(timers, now >> TICK_BITS)) {
  } // W2: cascades slots up to `now`, until `near` has a timer
  if (timer == NULL && now == CSCHED_FOREVER) timer = TAILQ_FIRST(&timers->never);
  if (timer != NULL && timer->deadline > now) timer = NULL; // W1: the first one is not due
  if (timer != NULL) remove_locked(timers, timer);          // W5: locked, so no cancel removes it as well
  csched_store_relaxed(&timers->first, find_first(timers)); // W4: raises `first`
  if (timer == NULL && (timers->is_wake_low || csched_load_relaxed(&timers->wake) <= now))
    set_wake(timers, find_wake(timers)); // W4: no timer is due: raises a `wake` that is too early
  csched_lock_unlock(&timers->lock);
  return timer;
}

csched_time csched_timers_wake_(csched_timers *timers) {
  csched_lock_lock(&timers->lock);
  if (timers->is_wake_low) set_wake(timers, find_wake(timers)); // W4: raises a `wake` that is too early
  csched_time wake = csched_load_relaxed(&timers->wake);        // W4: under the lock
  csched_lock_unlock(&timers->lock);
  return wake;
}

size_t csched_timers_count_(csched_timers *timers, bool with_never) {
  csched_lock_lock(&timers->lock);
  size_t count = timers->pending + (with_never ? timers->never_count : 0);
  csched_lock_unlock(&timers->lock);
  return count;
}

// A search, for dumps, that counts the timers of `target`. `left`: how many more timers it may check; `first`: the
// least deadline found.
typedef struct timer_search {
  const struct csched_target *target;
  size_t left, count;
  csched_time first;
} timer_search;

// Does: checks `timer`. Returns: false, without the check, if the search may check no more timers.
static bool search_timer(timer_search *search, const csched_timer *timer) {
  if (search->left == 0) return false;
  search->left--;
  if (timer->target != search->target) return true;
  search->count++;
  if (timer->deadline < search->first) search->first = timer->deadline;
  return true;
}

// Does: checks the timers of `timers`, until `left` is 0. Returns: whether it has checked all.
static bool search_all_locked(csched_timers *timers, timer_search *search) {
  csched_timer *each;
  RB_FOREACH(each, csched_timer_tree, &timers->near)
  if (!search_timer(search, each)) return false;
  TAILQ_FOREACH(each, &timers->never, node) if (!search_timer(search, each)) return false;
  for (int i = 0; i < CSCHED_WHEEL_LEVELS; i++)
    for (int j = 0; j < CSCHED_WHEEL_SLOTS; j++)
      LIST_FOREACH(each, &timers->slots[i][j].timers, node) if (!search_timer(search, each)) return false;
  return true;
}

bool csched_timers_count_for_(csched_timers *timers, const struct csched_target *target, size_t most, size_t *count,
                              csched_time *first) {
  timer_search search = {.target = target, .left = most, .first = CSCHED_FOREVER};
  csched_lock_lock(&timers->lock);
  bool is_whole = search_all_locked(timers, &search);
  csched_lock_unlock(&timers->lock);
  *count = search.count;
  *first = search.first;
  return is_whole;
}

void csched_timers_close_(csched_timers *timers) {
  csched_lock_lock(&timers->lock);
  timers->is_closed = true; // W7: each later add sees it under the lock, and is refused
  csched_lock_unlock(&timers->lock);
}

// MARK: atfork

void csched_timers_atfork_(csched_timers *timers, csched_atfork_phase phase, bool are_orphaned) {
  if (phase == CSCHED_ATFORK_BEFORE) csched_lock_lock(&timers->lock);
  if (phase == CSCHED_ATFORK_IN_PARENT) csched_lock_unlock(&timers->lock);
  if (phase != CSCHED_ATFORK_IN_CHILD_FIRST) return;
  timers->lock = (csched_lock)CSCHED_LOCK_INIT; // an unlock would wake sleepers, which are threads of the parent
  if (!are_orphaned) return;
  timers->is_closed = true;                      // W7: the queue's loop or clock has no thread in the child
  timers->first = timers->wake = CSCHED_FOREVER; // no timer needs a wake in the child
}

// MARK: cancelling

// Does: for a cancel, removes `timer` from its queue, if it waits. Requires: this thread has made the job DROPPING.
// Returns: whether it was removed.
static bool withdraw_timer(csched_timer *timer) {
  csched_timers *timers = csched_load_acquire(&timer->owner); // W6: pairs with add's release; W8: after the fence
  if (timers == NULL) return false;                           // not added yet, popped, or bypassing (W9)
  csched_lock_lock(&timers->lock);
  bool is_here = waits_in(timers, timer);
  if (is_here) remove_locked(timers, timer); // W5: locked, so no pop removes it as well
  csched_lock_unlock(&timers->lock);
  return is_here;
}

void csched_timer_end_cancel_(csched_timer *timer) { // drops a timer that the caller has made DROPPING
  bool is_out = withdraw_timer(timer);               // true: this thread, not the queue, must release the job
  if (!is_out) {
    csched_fence_heavy_(); // W8: pairs with add's light fence: the add sees DROPPING, or this thread the owner
    is_out = withdraw_timer(timer);
  }
  csched_job_end_cancel_(&timer->job, is_out); // the final access: `drop` may free the timer and its queue
}

csched_cancel_result csched_timer_cancel(csched_timer *timer) {
  csched_cancel_result result = csched_job_begin_cancel_(&timer->job);
  if (result == CSCHED_CANCEL_DROPPED) csched_timer_end_cancel_(timer); // W6: DROPPING: the owner is valid
  return result;
}

CSCHED_NOINLINE csched_cancel_result csched_timer_cancel_and_wait(csched_timer *timer) {
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME()); // job.c, J7: ends a run that was unwound
  csched_cancel_result result = csched_timer_cancel(timer);
  if (result == CSCHED_CANCEL_RUNNING) csched_job_wait_(&timer->job, "csched_timer_cancel_and_wait");
  return result;
}
