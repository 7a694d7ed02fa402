// The model of the target "loops": items (jobs and timers) and places (loops, and the queues on them).
// Depends on: fuzz.h.
#pragma once

#include "../fuzz.h"

#include <CScheduler/serial.h>

enum { LOOPS = 3, QUEUES = 3, PLACES = 100, ITEMS = 28, TIMERS = 20, DEEPEST = 20 };
enum { NOWHERE = -1 };

// MARK: items

typedef enum item_state {
  IDLE,
  WAITS,   ///< submitted, not begun
  RUNS,    ///< its run is on the stack
  ENDS,    ///< its run has ended: the release comes next
  DROPS,   ///< its drop is on the stack
  DROPPED, ///< dropped: the release comes, at the latest when its queue or loop dequeues it
} item_state;

/// A job or, for the first TIMERS of them, a timer.
typedef struct item {
  csched_timer timer;
  item_state state;
  int place;        ///< to which it was submitted last
  uint64_t order;   ///< of all submissions and rearms
  bool is_timed;    ///< it was submitted with a deadline;
  bool is_in_order; ///< which was to come then, so that it keeps its place among the timers;
  bool was_late;    ///< which had come: it may wait as a timer, or as a job
  csched_time deadline, leeway;
  csched_time
      due_by; ///< when it must be ready: the deadline, or the next nanosecond if the batch at the present one may not take it
  unsigned submitted, ran, dropped, released;
} item;

extern item items[ITEMS];
static inline int item_number(const item *item) { return (int)(item - items); }

void items_begin(void);
void item_submit(item *item, int place, bool is_timed);
void item_cancel(item *item, bool as_timer, bool waits);
void item_rearm(item *item, int loop);
/// Checks what holds for an item at any time.
void item_check(const item *item);
/// Checks that the item's last submission has been released.
void item_check_end(const item *item);
/// Returns: whether it surely waits among a loop's timers.
bool item_is_among_timers(const item *item);
/// Returns: the latest instant at which its loop must wake for it.
csched_time item_latest(const item *item);
/// Returns: whether a run of its loop would come past it now, for sure.
bool item_may_run(const item *item);

// MARK: places

typedef struct place {
  bool exists;       ///< its handle may be used; items may be there after it
  bool is_destroyed; ///< csched_serial_destroy has been called
  int loop;          ///< that it is, or that is its lowest base
  int base;          ///< its target; NOWHERE: it is a loop
  int bottom;        ///< the queue of its tree whose base is the loop; itself where it is a loop
  csched_target *target;
  csched_serial *queue;
  int suspensions;
  unsigned inside;  ///< its items and syncs that are on the stack
  unsigned entered; ///< those syncs
  int kept;         ///< by the queue, as its owner
} place;

/// One of the loops; another takes its place when it is destroyed.
typedef struct loop {
  csched_loop *loop;
  int place;
  unsigned runs;        ///< of it that are on the stack
  bool is_stop_pending; ///< csched_loop_end_run, not taken yet
  int closing;          ///< 0, or 1 + the policy
  csched_time ran_at;   ///< when a run of it ended last
  bool is_quiet;        ///< all that could run has, and nothing has been done to its queues since
} loop;

extern place places[PLACES];
extern loop loops[LOOPS];

/// Does: forgets the places of the input before, and creates the loops.
void places_begin(void);
int place_new(int loop, int base);
/// Returns: how many more there can be.
int place_left(void);
static inline bool place_is_queue(int at) { return places[at].base != NOWHERE; }
/// Returns: whether it is the base of a queue that exists.
bool place_is_base(int at);
/// Returns: whether work of this queue, or of another one of its tree, is on the stack.
bool place_is_held(int at);
/// Returns: whether it, or one of its bases, is suspended.
bool place_is_suspended(int at);
/// Returns: a place that exists, chosen by the input; NOWHERE if there is none.
int place_any(void);
int place_any_queue(void);

int queue_create(int base);
void queue_destroy(int at);
/// Does: destroys it, unless it has been entered or is a base, and creates another one.
void queue_replace(int at);
void queue_suspend(int at);
void queue_resume(int at);
void queue_sync(int at);
void queue_enter(int at);

static inline bool loop_exists(int at) { return places[loops[at].place].exists; }
/// Does: destroys it, unless something of it is on the stack; then creates another one, if `again`.
void loop_replace(int at, bool again);
void loop_close(int at, csched_stop_policy policy);
/// Checks that no waiting item of the loop could run.
void loop_check_settled(int at);

// MARK: runs

void runs_begin(void);
void loop_stop(int at);
void loop_run_ready(int at, size_t most);
void loop_run_until(int at, csched_time deadline);
void loop_run_once(int at, csched_time deadline);
void loop_run_activation(int at, csched_time deadline, bool is_stopped_before);
/// Does: stops one of the activations that run.
void stop_activation(unsigned which);

// MARK: operations

extern unsigned depth;
/// Does: some operations, as many as the input says, `most` at the most; none when the stack is deep.
void act_some(unsigned most);
/// As act_some, for a drop or a release: no operation that runs a loop.
void act_lightly(void);
