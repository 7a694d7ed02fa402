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

// After the priorities come two inboxes that the monitor fills for workers: timers to deliver, and jobs to discard.
enum { CSCHED_PRIORITIES = 4, CSCHED_DELIVERIES = 4, CSCHED_DEFERRED = 5, CSCHED_CLASSES = 6 };
enum { CSCHED_CLASS_BITS = 3 }; // mask of a job's lowest address bits: the class of a kept job, a priority
enum { CSCHED_HELPING_MOST = 32, CSCHED_POOL_NAME = 16 };

typedef struct csched_pool_worker csched_pool_worker;
TAILQ_HEAD(csched_worker_queue, csched_pool_worker);

/// One priority: its target and its inbox. On three cache lines: what submitters read, what they write, what
/// the consumer writes.
typedef struct csched_pool_class {
  csched_target target; ///< stays first: a target is cast to its class
  csched_pool *pool;
  int nice;
  uint32_t lent[CSCHED_PRIORITIES]; ///< how many threads of each priority donate it to this one; read racily
  CSCHED_CACHE_ALIGNED csched_mpsc inbox;
  uint32_t more;   ///< whether the consumer's half of the inbox has jobs; read racily
  unsigned passed; ///< how often another priority was picked instead; under `pick`
} csched_pool_class;

_Static_assert(sizeof(csched_pool_class) == 3 * CSCHED_CACHE_LINE, "a class shares no line with another");
_Static_assert(offsetof(csched_pool_class, more) / CSCHED_CACHE_LINE ==
                   offsetof(csched_pool_class, inbox.first) / CSCHED_CACHE_LINE,
               "what each pop writes is on no line of the submitters'");

struct csched_pool_worker {
  CSCHED_CACHE_ALIGNED csched_pool *pool;
  uint32_t number;
  uint32_t signal; ///< futex, see pool_idle.c
  bool is_idle;    ///< whether it is in `idle`; under `idle_lock`
  TAILQ_ENTRY(csched_pool_worker) link;
  uint32_t state;    ///< the worker state, see pool_monitor.c
  uint32_t id;       ///< of its thread; 0 while the thread starts
  uint32_t is_stuck; ///< whether its thread could not lower its nice value again
  // Only its own thread uses these.
  bool is_searching, is_surplus, has_left;
  uint32_t follow_up; ///< see target_internal.h
  unsigned blocking_depth, helping_depth;
  // Deliveries, see pool_monitor.c; under `pick`.
  const csched_target *delivers_for;
  csched_job *following, **last_following;
  int nice;                                         ///< its thread's: the nice value above `base_nice`
  csched_pool_class *class;                         ///< its thread's: of the present job; NULL: none
  csched_fork *helps_with[CSCHED_HELPING_MOST + 1]; ///< at each depth of helping, the fork taken from another worker
  // The slot and its thread; under `slots_lock`.
  uint32_t life; ///< the state of the slot, see pool_worker.c
  csched_os_thread os, replaced;
  // The next two are the monitor thread's.
  uint32_t id_seen;
  csched_time time_seen;
  csched_deque forks; ///< forked jobs, see fork_join.c
  // Kept jobs, see pool_worker.c, WK8 and WK9.
  uint32_t since_look;                 ///< its thread's: counts jobs, for the check of kept jobs
  csched_pool_worker *victim;          ///< its thread's: the last worker that was seen to keep a job
  uint32_t keeps_seen;                 ///< its thread's: the victim's `keeps` at that time
  csched_time kept_since;              ///< its thread's: when that was seen
  CSCHED_CACHE_ALIGNED uintptr_t kept; ///< a kept job, with the number of its class in the lowest bits; 0: none
  uint32_t keeps;                      ///< how many jobs it has kept so far; read racily
};

struct csched_pool {
  csched_pool_class classes[CSCHED_CLASSES];
  // Rarely written after the start.
  CSCHED_CACHE_ALIGNED uint32_t closing; ///< for this field and the next two see pool.c
  uint32_t ending;
  uint32_t over; ///< futex
  uint32_t slots_used;
  size_t workers, most_threads, stack_size;
  csched_time idle_exit, spin_for;
  int base_nice;
  bool had_nice;         ///< `has_nice` at the start
  uint32_t tells_of_cap; ///< whether to report once that `most_threads` is too few; read racily
  uint32_t has_nice;     ///< whether a worker may raise its nice value, as far as known; read racily
  char name[CSCHED_POOL_NAME];

  CSCHED_CACHE_ALIGNED uint64_t counts;  ///< see pool_idle.c
  CSCHED_CACHE_ALIGNED csched_lock pick; ///< guards the consumer's side of the inboxes
  CSCHED_CACHE_ALIGNED csched_lock idle_lock;
  struct csched_worker_queue idle;
  csched_lock slots_lock, join_lock;
  bool is_joined;
  // See pool_monitor.c.
  csched_thread *monitor;
  csched_delivery delivery; ///< hands deliveries to workers
  uint32_t on_its_way;      ///< see delivery.c
  csched_timer tick;
  uint32_t watching;
  csched_atfork atfork;

  csched_pool_worker slots[]; ///< `most_threads` of them
};

/// How a worker's sleep ended.
typedef enum csched_pool_slept {
  CSCHED_SLEPT_LEFT,     ///< it was idle too long, and has left the pool's count
  CSCHED_SLEPT_WOKEN,    ///< it continues, and is counted as searching
  CSCHED_SLEPT_REPLACED, ///< another thread has taken its slot: this thread is no longer a worker
} csched_pool_slept;

// pool_idle.c: running, searching, sleeping.
void csched_pool_announce_(csched_pool *pool, size_t count);   ///< after work was added: wakes up to `count` workers
bool csched_pool_wake_(csched_pool *pool, bool beside_others); ///< returns: whether it woke a worker
void csched_pool_wake_all_(csched_pool *pool);
bool csched_pool_may_have_work_(csched_pool *pool); ///< whether there seems to be work
bool csched_pool_has_work_(csched_pool *pool);      ///< whether there is work; exact after a fence
bool csched_pool_may_grow_(
    csched_pool *pool); ///< whether waiting work depends on workers that count as running, but may be blocked
bool csched_pool_is_stuck_at_cap_(csched_pool *pool); ///< whether workers are blocked, and no thread may be added
/// Returns: whether it was the last that searched. The caller then checks for work, and wakes a worker if there is some.
bool csched_pool_stop_search_(csched_pool_worker *worker);
bool csched_pool_search_(csched_pool_worker *worker); ///< spins; returns: whether there seems to be work
csched_pool_slept csched_pool_sleep_(csched_pool_worker *worker);
void csched_pool_signal_(csched_pool_worker *worker, csched_pool_slept what); ///< after its removal from `idle`
void csched_pool_leave_(csched_pool_worker *worker);
void csched_pool_start_failed_(csched_pool *pool);
void csched_pool_blocked_(csched_pool *pool);          ///< one more worker is blocked
bool csched_pool_unblocked_(csched_pool *pool);        ///< one worker fewer; returns: whether too many run now
bool csched_pool_is_surplus_(const csched_pool *pool); ///< whether more than `workers` are running

// pool_worker.c: choosing and running jobs; threads.
int csched_pool_start_first_(csched_pool *pool); ///< in pool_idle.c: the first worker; returns: 0 or an errno value
int csched_pool_start_worker_(csched_pool *pool,
                              const csched_pool_worker *leaving); ///< Requires: the caller has counted it
/// Returns: whether another thread has taken the slot of `worker`. Requires: the worker sleeps, and was removed from `idle`.
bool csched_pool_replace_(csched_pool_worker *worker);
void csched_pool_join_workers_(csched_pool *pool); ///< when the pool has ended
void csched_pool_name_(const csched_pool *pool, unsigned number, char name[CSCHED_POOL_NAME]);
/// The worker of the calling thread; NULL: the thread is not a worker.
extern CSCHED_HIDDEN CSCHED_TLS_FAST CSCHED_THREAD_LOCAL csched_pool_worker *csched_pool_worker_here_;
bool csched_pool_leave_in_child_(
    csched_pool *pool); ///< the calling thread stops being a worker of the pool; returns: whether it was one
csched_priority csched_pool_priority_here_(void); ///< of the worker's job; elsewhere the highest
void csched_pool_perform_(csched_pool_worker *worker, csched_pool_class *class, csched_job *job);
bool csched_pool_is_queued_locked_(csched_pool *pool);
// A worker may keep one job that it submits: it runs the job next, without the queue. A follow-up is kept for after the current queue's batch.
bool csched_pool_keep_(csched_pool_class *class,
                       csched_job *job); ///< returns: whether this thread is a worker, and keeps the job
uint32_t *csched_pool_follow_up_(const csched_target *target); ///< see csched_target_type.follow_up_
bool csched_pool_keeps_follow_up_(void); ///< returns: whether the job that this thread has just kept is a follow-up
bool csched_pool_is_kept_(csched_pool *pool);                ///< whether a worker keeps a job; exact after a fence
size_t csched_pool_kept_of_(const csched_pool_class *class); ///< how many jobs of it are kept
bool csched_pool_find_victim_(
    csched_pool_worker *worker,
    csched_time now); ///< returns: whether `victim` is a worker whose kept job has waited too long

// pool_monitor.c: workers submit timers that are due to their targets, in place of the monitor.
void csched_pool_init_delivery_(csched_pool *pool);
bool csched_pool_begin_delivery_locked_(csched_pool_worker *worker,
                                        csched_job *job); ///< returns: false when another worker will deliver it
void csched_pool_deliver_(csched_pool_worker *worker, csched_job *job);
void csched_pool_end_delivery_(csched_pool_worker *worker); ///< its delivery has ended

// pool.c: the pool's end.
bool csched_pool_must_end_(csched_pool *pool);     ///< whether a worker without work must call csched_pool_end_
bool csched_pool_end_(csched_pool_worker *worker); ///< ends the pool; returns: whether the worker may leave
bool csched_pool_is_closing_(const csched_pool *pool);
bool csched_pool_is_dropping_(const csched_pool *pool);
void csched_pool_over_(csched_pool *pool);                               ///< the last worker has left
void csched_pool_panic_worker_(const csched_pool *pool) CSCHED_NORETURN; ///< a job returned in a fork's child

// pool_monitor.c: the monitor thread, blocked workers.
int csched_pool_start_monitor_(csched_pool *pool); ///< returns: 0 or an errno value
int csched_pool_keep_at_(csched_pool *pool, csched_timer *timer, csched_time deadline, csched_time leeway);
csched_timers *csched_pool_timers_(const csched_pool *pool); ///< those on the monitor; NULL: there is no monitor
void csched_pool_watch_(csched_pool *pool);                  ///< starts the search for blocked workers
void csched_pool_close_monitor_(csched_pool *pool, csched_stop_policy policy);
void csched_pool_join_monitor_(csched_pool *pool);
void csched_pool_free_monitor_(csched_pool *pool);                    ///< Requires: it was joined
bool csched_pool_is_monitor_(csched_pool *pool);                      ///< whether the calling thread is the monitor
void csched_pool_after_job_(csched_pool_worker *worker);              ///< after a job: the worker is running again
void csched_pool_set_idle_(csched_pool_worker *worker, bool is_idle); ///< before and after a sleep
void csched_pool_orphan_worker_(csched_pool_worker *worker); ///< in a child of fork: the worker never works again

// fork_join.c
bool csched_pool_is_forked_(csched_pool *pool);
void csched_pool_forget_forks_(csched_pool_worker *worker); ///< forks whose frames are gone
void csched_pool_end_help_(csched_pool_worker *worker);     ///< the jobs that it ran for others count as done
bool csched_pool_help_(
    csched_pool_worker *worker); ///< runs a forked job, preferably another worker's; returns: whether there was one

/// Returns: the target whose entry in the fork list is `atfork`; NULL if the entry is of another kind. Thread: inside csched_os_atfork_visit_.
const csched_target *csched_pool_of_atfork_(const csched_atfork *atfork);

/// Returns: the timers of `target`, if it is of this kind; else NULL.
csched_timers *csched_pool_timers_seen_(const csched_target *target);
