// The structure of the pool, and the functions that its files share.
// Depends on: pool.h, thread.h, lock.h, platform.h, deque_internal.h, bsd.h.
#pragma once

#include <CScheduler/lock.h>
#include <CScheduler/pool.h>
#include <CScheduler/thread.h>

#include "../base/bsd.h"
#include "../job/deque_internal.h"
#include "../job/job_internal.h"
#include "../job/mpsc.h"
#include "../loop/delivery_internal.h"
#include "../platform/platform.h"

// A class is a kind of work with its own inbox: the four priorities, then two that the monitor fills: timers to
// deliver, and jobs to discard.
enum { CSCHED_PRIORITIES = 4, CSCHED_DELIVERIES = 4, CSCHED_DEFERRED = 5, CSCHED_CLASSES = 6 };
// A kept job: a job that a worker's current job has submitted to the same priority. The worker runs it next, without
// the inbox (pool_pick.c, PP3). The word `kept` is the job's address, with the number of its class (0 to 3) in the
// two lowest bits. CSCHED_CLASS_BITS is the mask of these bits.
enum { CSCHED_CLASS_BITS = 3 };
enum { CSCHED_HELPING_MOST = 32, CSCHED_POOL_NAME = 16 }; // nested jobs that waits run; bytes of a name, with its 0

typedef struct csched_pool_worker csched_pool_worker;
TAILQ_HEAD(csched_worker_queue, csched_pool_worker);

/// A class: its target and its inbox. Three cache lines: what submitters read, what submitters write, and what the
/// consumer writes.
typedef struct csched_pool_class {
  csched_target target; ///< stays first: a target is cast to its class
  csched_pool *pool;
  int nice; ///< nice value of the class's jobs, relative to the pool's `base_nice`
  CSCHED_CACHE_ALIGNED csched_mpsc inbox;
  uint32_t more;                    ///< whether the consumer's half of the inbox (`inbox.first`) has jobs; read racily
  unsigned passed;                  ///< how often another class was picked while this class had work; guarded by `pick`
  size_t left;                      ///< of default priority: length of the consumer's half; guarded by `pick`
  uint32_t lent[CSCHED_PRIORITIES]; ///< how many waiting threads donate each priority to this class; read racily
} csched_pool_class;

_Static_assert(sizeof(csched_pool_class) == 3 * CSCHED_CACHE_LINE, "a class shares no line with another");
_Static_assert(offsetof(csched_pool_class, more) / CSCHED_CACHE_LINE ==
                   offsetof(csched_pool_class, inbox.first) / CSCHED_CACHE_LINE,
               "a pop writes to no cache line that submitters write");

/// A lane: a further inbox of default priority (pool_pick.c, PP7). Only large pools have lanes.
typedef struct csched_pool_lane {
  CSCHED_CACHE_ALIGNED csched_mpsc inbox;
  uint32_t more;                         ///< as of a class, under `lock`
  size_t left;                           ///< length of the consumer's half; guarded by `lock`
  CSCHED_CACHE_ALIGNED csched_lock lock; ///< guards the consumer's side of the inbox
} csched_pool_lane;

struct csched_pool_worker {
  CSCHED_CACHE_ALIGNED csched_pool *pool;
  uint32_t number;                      ///< 1 + the index of the slot
  uint32_t signal;                      ///< futex: 0: no signal yet; else a csched_pool_slept (pool_idle.c)
  bool is_idle;                         ///< whether the worker is in `pool->idle`; guarded by `idle_lock`
  TAILQ_ENTRY(csched_pool_worker) link; ///< in `pool->idle`; guarded by `idle_lock`
  uint32_t state;                       ///< the worker state, see pool_monitor.c
  uint32_t id;                          ///< the system's number of the worker's thread; 0 while the thread starts
  uint32_t is_stuck;                    ///< whether the thread failed to lower its nice value (pool_worker.c, WK5)
  // Only the worker's own thread uses these fields, up to `helping_depth`.
  bool is_searching;  ///< the worker searches for work, and is counted as SEARCHING
  bool is_surplus;    ///< too many workers run: this one gives its jobs away, then sleeps
  bool has_left;      ///< the worker is no longer counted in THREADS: its thread ends
  uint32_t follow_up; ///< of the current job: one of CSCHED_FOLLOW_UP_… (target_internal.h)
  unsigned blocking_depth,
      helping_depth; ///< nested csched_pool_blocking_begin calls; nested jobs that waits have stolen
  // Deliveries of timers, see pool_monitor.c; guarded by the lock `pick`.
  const csched_target *delivers_for;       ///< NULL, or the user's target for which this worker delivers a timer
  csched_job *following, **last_following; ///< list of later timers for `delivers_for`; where its next entry goes
  int nice;                                ///< own thread only: the thread's nice value above `base_nice`
  csched_pool_class *class;                ///< own thread only: the class of the current job; NULL: no job
  csched_fork *helps_with[CSCHED_HELPING_MOST + 1]; ///< at each `helping_depth`, the stolen spawn that runs, or NULL
  // The slot and its thread; guarded by `slots_lock`.
  uint32_t life;                 ///< the state of the slot: VACANT, LIVE or ENDED (pool_worker.c)
  csched_os_thread os, replaced; ///< the slot's thread; the stuck thread that it replaces and joins (WK5)
  // Only the monitor thread uses these two fields: the worker's `id` and its processor time at the previous tick.
  uint32_t id_seen;
  csched_time time_seen;
  csched_deque spawns;  ///< spawned jobs, see fork_join.c
  csched_deque local;   ///< the local queue, see pool_pick.c, PP6: jobs of default priority
  unsigned local_runs;  ///< own thread only: jobs taken from local queues in a row, since the look at the inboxes
  unsigned passed;      ///< own thread only: how often another class was picked while `local` had jobs
  uint32_t suspect;     ///< own thread only: the slot whose local queue this worker checks (pool_pick.c, PP4)
  uint64_t suspect_top; ///< own thread only: the number of that queue's oldest job at the previous check
  uint32_t looked_at;   ///< own thread only: the slot at which the next look for jobs to steal begins
  // Kept jobs (pool_pick.c: PP3, kept and run next; PP4, stolen).
  uint32_t job_count;         ///< own thread only: counts looks for a job, for checks that come from time to time
  csched_pool_worker *victim; ///< own thread only: the worker whose kept job this worker may steal
  uint32_t keeps_seen;        ///< own thread only: the victim's `keeps` when `victim` was set
  csched_time kept_since;     ///< own thread only: when `victim` was set: the kept job is at least as old
  CSCHED_CACHE_ALIGNED uintptr_t kept; ///< the kept job, with its class in the two lowest bits; 0: none
  uint32_t keeps;                      ///< how many jobs this worker has kept so far; read racily
};

struct csched_pool {
  csched_pool_class classes[CSCHED_CLASSES];
  // Rarely written after the start.
  CSCHED_CACHE_ALIGNED uint32_t closing; ///< 0: open; else 1 + the stop policy, or orphaned (pool.c)
  uint32_t is_closed;                    ///< 1: the inboxes are closed; set under the lock `pick`
  uint32_t is_done;                      ///< 1: a worker has left the ending pool; set under the lock `pick`
  uint32_t over;                         ///< futex: 1: the final worker has left
  uint32_t slots_used;                   ///< slots from this index on were never used, and are not initialised
  // How many workers run at once; how many threads may exist, blocked ones included; bytes of a stack, 0: the system's
  // default.
  size_t workers, most_threads, stack_size;
  size_t slot_count; ///< the length of `slots`: `most_threads` if the user has set it, else more (pool_monitor.c MN9)
  uint32_t spares;   ///< how many threads above `most_threads` may exist; the monitor changes it (MN9); read racily
  csched_pool_lane *lanes;         ///< `lane_count` of them, behind the slots
  size_t lane_count;               ///< 0: outside submitters use the class's inbox
  csched_time idle_exit, spin_for; ///< ns: a worker leaves after so long in `idle`; spins so long before it sleeps
  int base_nice;                   ///< the nice value at which high and default priority run
  bool had_nice;                   ///< the initial value of `has_nice`
  uint32_t may_report_cap; ///< whether the message that `most_threads` is too small may still be printed; read racily
  uint32_t has_nice;       ///< whether a worker may raise its nice value, because it can lower it again; read racily
  char name[CSCHED_POOL_NAME];

  CSCHED_CACHE_ALIGNED uint64_t counts;       ///< four counts of workers, see pool_idle.c
  CSCHED_CACHE_ALIGNED csched_lock pick;      ///< guards the consumer's side of the inboxes
  CSCHED_CACHE_ALIGNED csched_lock idle_lock; ///< guards `idle`
  struct csched_worker_queue idle;            ///< idle workers, the most recently idle first
  csched_lock slots_lock, join_lock;          ///< guard the slots' threads; `is_joined`
  bool is_joined;                             ///< all threads were joined
  // See pool_monitor.c. On lines of their own: each delayed job reads `monitor`.
  CSCHED_CACHE_ALIGNED csched_thread *monitor;
  csched_delivery delivery; ///< transfers the monitor's deliveries and discards to workers
  uint32_t undelivered;     ///< how many timers were transferred to workers, and are not delivered yet (delivery.c)
  csched_timer tick;        ///< the monitor's periodic check for blocked workers
  uint32_t watching;        ///< futex: whether and how the monitor checks the workers
  csched_atfork atfork;

  csched_pool_worker slots[]; ///< `slot_count` of them; initialised up to `slots_used`
};

/// Returns: how many slots were ever used. Those before this index are initialised.
static inline uint32_t csched_pool_slots_used_(const csched_pool *pool) {
  return csched_load_acquire(&pool->slots_used); // WK1: pairs with init_slot_locked, carries the initialised slots
}

/// How a worker's sleep ended.
typedef enum csched_pool_slept {
  CSCHED_SLEPT_LEFT,     ///< the worker was idle for `idle_exit`, and is no longer counted: its thread ends
  CSCHED_SLEPT_WOKEN,    ///< the worker continues, and is counted as searching
  CSCHED_SLEPT_REPLACED, ///< another thread has taken the worker's slot: this thread ends
} csched_pool_slept;

// A `kept` word: a job's address, and the number of its class in the two lowest bits.
static inline csched_job *csched_pool_kept_job_(uintptr_t kept) {
  return (csched_job *)(kept & ~(uintptr_t)CSCHED_CLASS_BITS);
}
static inline csched_pool_class *csched_pool_kept_class_(csched_pool *pool, uintptr_t kept) {
  return &pool->classes[kept & CSCHED_CLASS_BITS];
}

// pool_idle.c: running, searching, sleeping.
void csched_pool_announce_(csched_pool *pool, size_t count); ///< after `count` jobs were added: wakes workers for them
/// Does: wakes or starts a worker, unless enough workers run, or one is searching and `beside_others` is false.
/// Returns: false: no wake was needed.
bool csched_pool_wake_(csched_pool *pool, bool beside_others);
void csched_pool_wake_all_(csched_pool *pool); ///< wakes all workers that sleep in `idle`
/// Returns: whether the inbox of `class` seems to have a job; racy: rechecked under `pick`.
static inline bool csched_pool_seems_queued_(const csched_pool_class *class) {
  return csched_load_relaxed(&class->more) != 0 || csched_mpsc_has_new_jobs(&class->inbox);
}
bool csched_pool_may_have_queued_(csched_pool *pool); ///< whether a class's inbox seems to have a job; racy
bool csched_pool_may_have_lanes_(csched_pool *pool);  ///< whether a lane seems to have a job; racy
/// Returns: whether an inbox seems to have a job, or a few workers, others at each call, seem to have jobs to steal.
bool csched_pool_may_have_work_(csched_pool_worker *worker);
bool csched_pool_has_work_(csched_pool *pool); ///< whether there is work; exact after a fence
/// Returns: whether queued work depends on workers that count as running, but may be blocked: no worker searches. Then
/// the monitor must watch them.
bool csched_pool_may_grow_(csched_pool *pool);
bool csched_pool_is_stuck_at_cap_(csched_pool *pool); ///< whether workers are blocked, and no thread may be added
/// Does: if every worker is blocked, and no thread may be added, permits one thread more, unless the user has set the
/// limit. Returns: whether it did.
bool csched_pool_add_spare_(csched_pool *pool);
void csched_pool_drop_spares_(csched_pool *pool); ///< permits no threads above `most_threads`; those that exist remain
/// Does: stops counting `worker` as searching. Returns: whether no worker searches now: the caller must check for work,
/// and wake a worker if any.
bool csched_pool_stop_search_(csched_pool_worker *worker);
bool csched_pool_search_(csched_pool_worker *worker);             ///< spins; returns: whether there seems to be work
csched_pool_slept csched_pool_sleep_(csched_pool_worker *worker); ///< sleeps in `idle`; returns: why the sleep ended
void csched_pool_signal_(csched_pool_worker *worker, csched_pool_slept what); ///< ends a sleep; requires: not in `idle`
/// Does: at the pool's end, stops counting `worker`. Returns: false: it continues, because work has come, or it is not
/// surplus any more.
bool csched_pool_leave_(csched_pool_worker *worker);
void csched_pool_start_failed_(csched_pool *pool);           ///< stops counting a thread that the system did not start
void csched_pool_count_blocked_(csched_pool_worker *worker); ///< also gives its local queue back
bool csched_pool_count_unblocked_(csched_pool *pool);  ///< one blocked worker fewer; returns: whether too many run
bool csched_pool_is_surplus_(const csched_pool *pool); ///< whether more than `workers` are running
// pool_worker.c: choosing and running jobs; threads.
int csched_pool_start_first_(csched_pool *pool); ///< starts the first worker; returns: 0 or an errno value
/// Does: starts a thread in a free slot, in place of the worker `leaving`; if that is NULL, waits for a slot. Requires:
/// the caller has counted it.
int csched_pool_start_worker_(csched_pool *pool, const csched_pool_worker *leaving);
/// Does: if the thread of `worker`, which sleeps outside `idle`, is stuck at a high nice value, starts another in its
/// slot. Returns: whether it did.
bool csched_pool_replace_(csched_pool_worker *worker);
void csched_pool_join_workers_(csched_pool *pool); ///< Requires: the pool has ended
/// Does: writes the name of the pool's thread `number` (0: the monitor), cut to fit; empty if the pool has no name.
void csched_pool_name_(const csched_pool *pool, unsigned number, char name[CSCHED_POOL_NAME]);
/// The worker of the calling thread; NULL: the thread is not a worker.
extern CSCHED_HIDDEN CSCHED_TLS_FAST CSCHED_THREAD_LOCAL csched_pool_worker *csched_pool_worker_here_;
/// Does: in a child of fork, the calling thread stops being a worker of the pool. Returns: whether it was one.
bool csched_pool_leave_in_child_(csched_pool *pool);
// pool_pick.c: which job runs next.
/// Returns: the worker's next job, its class in `*chosen`; NULL: none found. A surplus worker gets a job only if the
/// inboxes are closed.
csched_job *csched_pool_next_job_(csched_pool_worker *worker, csched_pool_class **chosen);
/// Returns: whether a waiting thread donates the priority of `best`, or a higher one, to `class`.
bool csched_pool_is_waited_for_(const csched_pool_class *class, const csched_pool_class *best);
csched_priority csched_pool_priority_here_(void); ///< the priority of this worker's job; elsewhere the highest
/// Does: runs `job` and its follow-up on this thread, as a job of `class`, at the nice value of `class`.
void csched_pool_perform_(csched_pool_worker *worker, csched_pool_class *class, csched_job *job);
/// Returns: whether an inbox or a lane has a job. Requires: the caller holds `pick`.
bool csched_pool_is_queued_locked_(csched_pool *pool);
/// Returns: where the calling thread submits jobs of `class`: its lane or the inbox of the class.
csched_mpsc *csched_pool_inbox_(csched_pool_class *class);
/// Does: transfers the kept job of `from` to the caller. Returns: the `kept` word; 0: none, or another worker has it.
uintptr_t csched_pool_claim_kept_(csched_pool_worker *from);
// Kept jobs, see CSCHED_CLASS_BITS. A follow-up is kept until the current queue has ended its batch.
/// Does: keeps `job` for this worker's next run, if no other work waits. Returns: whether it did; false also on a
/// thread that is no such worker.
bool csched_pool_keep_(csched_pool_class *class, csched_job *job);
uint32_t *csched_pool_follow_up_(const csched_target *target); ///< the current job's follow-up state; NULL: none
bool csched_pool_keeps_follow_up_(void); ///< whether the job that this worker has just kept is its follow-up
/// Does: adds `job` to this worker's local queue. Returns: false: not added, because the queue is full, the job's
/// priority is not the default one, or this thread is no worker of the pool.
bool csched_pool_add_local_(csched_pool_class *class, csched_job *job);
void csched_pool_give_back_(csched_pool_worker *worker); ///< moves its local queue to the inbox
/// Returns: whether a worker has a spawned job, a kept job or a job in its local queue; exact after a fence.
bool csched_pool_has_local_(csched_pool *pool);
/// Returns: how many jobs of `class` workers keep or have in their local queues.
size_t csched_pool_count_local_(const csched_pool_class *class);
/// Does: sets `worker->victim` to a worker that keeps a job, or NULL. Returns: whether to steal it now: its age is
/// KEPT_AGE, or `now` is 0.
bool csched_pool_find_victim_(csched_pool_worker *worker, csched_time now);
// pool_monitor.c: workers deliver due timers to their targets, in place of the monitor.
void csched_pool_init_delivery_(csched_pool *pool); ///< sets `delivery`, by which the monitor gives timers to workers
/// Returns: true when `worker` must deliver the timer `job`; false when the timer now waits behind another worker's
/// delivery to that target.
bool csched_pool_begin_delivery_locked_(csched_pool_worker *worker, csched_job *job);
void csched_pool_deliver_(csched_pool_worker *worker, csched_job *job); ///< delivers or discards the timer `job`
void csched_pool_end_delivery_(csched_pool_worker *worker); ///< moves `following` back to the front of the inbox
// pool.c: the pool's end.
bool csched_pool_must_end_(csched_pool *pool);  ///< whether the inboxes are closed: a worker without work leaves
bool csched_pool_may_leave_(csched_pool *pool); ///< whether no queue of the pool has a job; racy; requires: must_end
void csched_pool_close_inboxes_(csched_pool *pool);     ///< on the monitor, after its last delivery
bool csched_pool_is_closing_(const csched_pool *pool);  ///< whether the pool was stopped or orphaned
bool csched_pool_is_dropping_(const csched_pool *pool); ///< whether a stop drops the jobs that have not started
void csched_pool_wake_joiners_(
    csched_pool *pool); ///< the final worker has left: ends the monitor, wakes the callers of csched_pool_join
void csched_pool_panic_worker_(const csched_pool *pool) CSCHED_NORETURN; ///< a job returned in a fork's child
// pool_monitor.c: the monitor thread, blocked workers.
int csched_pool_start_monitor_(csched_pool *pool); ///< returns: 0 or an errno value
/// Does: gives `timer` to the monitor, which transfers it to a worker at its deadline. Returns: 0 or ECANCELED, as
/// `deliver_at` of a target.
int csched_pool_add_timer_(csched_pool *pool, csched_timer *timer, csched_time deadline, csched_time leeway);
csched_timers *csched_pool_timers_(const csched_pool *pool); ///< the monitor's timers; NULL: there is no monitor
void csched_pool_start_watch_(csched_pool *pool);            ///< makes the monitor check for blocked workers
void csched_pool_close_monitor_(csched_pool *pool, csched_stop_policy policy); ///< stops the monitor; does not wait
void csched_pool_end_monitor_(csched_pool *pool);        ///< all workers have left, or none was started; does not wait
void csched_pool_join_monitor_(csched_pool *pool);       ///< waits for the end of the monitor thread
void csched_pool_free_monitor_(csched_pool *pool);       ///< requires: it was joined
bool csched_pool_is_monitor_(csched_pool *pool);         ///< whether the calling thread is the monitor
void csched_pool_after_job_(csched_pool_worker *worker); ///< after a job: counts a blocked worker as running again
void csched_pool_set_idle_(csched_pool_worker *worker, bool is_idle); ///< sets `state` to IDLE or RUNNING
void csched_pool_orphan_worker_(csched_pool_worker *worker); ///< in a child of fork: the worker must run no more jobs
// fork_join.c
void csched_pool_forget_spawns_(csched_pool_worker *worker); ///< empties the deque: the thread's stack frames are gone
void csched_pool_end_help_(csched_pool_worker *worker);      ///< marks its stolen spawns as done: its thread ends
/// Does: runs a spawned job, preferably another worker's. Returns: whether there was one. Requires: the worker runs no
/// job, so it holds nothing.
bool csched_pool_help_(csched_pool_worker *worker);
/// Returns: the pool's target whose entry in the fork list is `atfork`; NULL if the entry is of another kind. Thread:
/// inside csched_os_atfork_visit_.
const csched_target *csched_pool_of_atfork_(const csched_atfork *atfork);
/// Returns: the timers of `target`, if it is a pool's; else NULL.
csched_timers *csched_pool_timers_seen_(const csched_target *target);
