// What the files of the pool share: its structure, and each one's half. More than 120 lines: it is one structure.
// Depends on: pool.h, thread.h, lock.h, platform.h, deque_internal.h, bsd.h.
#pragma once

#include <CScheduler/lock.h>
#include <CScheduler/pool.h>
#include <CScheduler/thread.h>

#include "../platform/platform.h"
#include "bsd.h"
#include "delivery_internal.h"
#include "deque_internal.h"
#include "job_internal.h"

// After the priorities come the monitor's inboxes: timers to be delivered, and jobs to be discarded, by workers.
enum { CSCHED_PRIORITIES = 4, CSCHED_CARRIED = 4, CSCHED_BINNED = 5, CSCHED_CLASSES = 6 };
enum { CSCHED_CLASS_BITS = 3 }; // of the address of a job, whose classes are priorities
enum { CSCHED_HELPING_MOST = 32, CSCHED_POOL_NAME = 16 };

typedef struct csched_pool_worker csched_pool_worker;
TAILQ_HEAD(csched_worker_queue, csched_pool_worker);

/// One priority: its target and what is queued for it. On three lines: what submitters read; what they write; the consumer's.
typedef struct csched_pool_class {
  csched_target target; ///< first
  csched_pool *pool;
  int nice;
  uint32_t lent[CSCHED_PRIORITIES]; ///< how many threads of that priority wait for a queue on this one; read racily
  CSCHED_CACHE_ALIGNED csched_mpsc inbox;
  uint32_t more;   ///< whether the consumer's half of the inbox has any; read racily
  unsigned passed; ///< how often it was passed over; under `pick`
} csched_pool_class;

_Static_assert(sizeof(csched_pool_class) == 3 * CSCHED_CACHE_LINE, "a class shares no line with another");
_Static_assert(offsetof(csched_pool_class, more) / CSCHED_CACHE_LINE ==
                   offsetof(csched_pool_class, inbox.first) / CSCHED_CACHE_LINE,
               "what each pop writes is on no line of the submitters'");

struct csched_pool_worker {
  CSCHED_CACHE_ALIGNED csched_pool *pool;
  uint32_t number;
  uint32_t signal; ///< futex, see pool_idle.c
  bool is_idle;    ///< in `idle`, under its lock
  TAILQ_ENTRY(csched_pool_worker) link;
  uint32_t standing; ///< see pool_monitor.c
  uint32_t id;       ///< of its thread; 0 while that starts
  uint32_t is_stuck; ///< whether that could not come back from a higher nice value
  // Its own.
  bool is_searching, is_surplus, has_left;
  uint32_t follow_up; ///< see target_internal.h; its own
  unsigned blocking_depth, helping_depth;
  // See pool_monitor.c; under `pick`.
  const csched_target *carries_for;
  csched_job *carried, **last_carried;
  int nice;
  csched_pool_class *class;
  csched_fork *helps_with[CSCHED_HELPING_MOST + 1]; ///< at each level, whose forker waits on another thread
  // Its thread: see pool_worker.c; under `slots`.
  uint32_t life;
  csched_os_thread os, replaced;
  // The monitor's.
  uint32_t id_seen;
  csched_time time_seen;
  csched_deque forks; ///< see fork_join.c
  // See pool_worker.c, C8.
  uint32_t since_look;                 ///< its own: how many jobs ago it has looked at what others keep
  csched_pool_worker *victim;          ///< its own: who keeps a job, as was seen
  uint32_t keeps_seen;                 ///< its own: how many that one had kept
  csched_time kept_since;              ///< its own: when that was seen
  CSCHED_CACHE_ALIGNED uintptr_t kept; ///< a job, and the number of its class in the lowest bits; 0: none
  uint32_t keeps;                      ///< how many it has kept so far; read racily
};

struct csched_pool {
  csched_pool_class classes[CSCHED_CLASSES];
  // Written at the start and at the end.
  CSCHED_CACHE_ALIGNED uint32_t closing; ///< this and the next two: see pool.c
  uint32_t ending;
  uint32_t over; ///< futex
  uint32_t slots_used;
  size_t workers, most_threads, stack_size;
  csched_time idle_exit, spin_for;
  int base_nice;
  bool had_nice;         ///< at the start
  uint32_t tells_of_cap; ///< whether it is still to say when its most threads are too few; read racily
  uint32_t has_nice;     ///< whether a worker may raise its value now, as far as is known; read racily
  char name[CSCHED_POOL_NAME];

  CSCHED_CACHE_ALIGNED uint64_t counts;  ///< see pool_idle.c
  CSCHED_CACHE_ALIGNED csched_lock pick; ///< the consumer's side of the inboxes
  CSCHED_CACHE_ALIGNED csched_lock idle_lock;
  struct csched_worker_queue idle;
  csched_lock slots_lock, join_lock;
  bool is_joined;
  // See pool_monitor.c.
  csched_thread *monitor;
  csched_courier courier; ///< see pool_monitor.c
  uint32_t on_its_way;
  csched_timer tick;
  uint32_t watching;
  csched_atfork atfork;

  csched_pool_worker slots[]; ///< `most_threads` of them
};

/// How a worker's sleep ended.
typedef enum csched_pool_slept {
  CSCHED_SLEPT_LEFT,     ///< by itself: it has left the pool's count
  CSCHED_SLEPT_WOKEN,    ///< it goes on, and is counted as searching
  CSCHED_SLEPT_REPLACED, ///< another thread goes on in its place: it is no worker any more
} csched_pool_slept;

// pool_idle.c: who runs, searches, sleeps.
void csched_pool_announce_(csched_pool *pool, size_t count);   ///< after work was added: wakes up to `count`
bool csched_pool_wake_(csched_pool *pool, bool beside_others); ///< returns: whether it did
void csched_pool_wake_all_(csched_pool *pool);
bool csched_pool_may_have_work_(csched_pool *pool); ///< whether there seems to be work
bool csched_pool_has_work_(csched_pool *pool);      ///< whether there is, for sure after a fence
bool csched_pool_may_grow_(
    csched_pool *pool); ///< whether work waits for a worker that is counted as running, but may be blocked
bool csched_pool_is_stuck_at_cap_(csched_pool *pool); ///< whether some are blocked, and no thread may take their place
bool csched_pool_stop_search_(csched_pool_worker *worker); ///< returns: whether the caller has to look and wake another
bool csched_pool_search_(csched_pool_worker *worker);      ///< spins; returns: whether there seems to be work
csched_pool_slept csched_pool_sleep_(csched_pool_worker *worker);
void csched_pool_signal_(csched_pool_worker *worker, csched_pool_slept what); ///< one that was taken out of `idle`
void csched_pool_leave_(csched_pool_worker *worker);
void csched_pool_start_failed_(csched_pool *pool);
void csched_pool_blocked_(csched_pool *pool);          ///< one more is blocked
bool csched_pool_unblocked_(csched_pool *pool);        ///< returns: whether there are too many now
bool csched_pool_is_surplus_(const csched_pool *pool); ///< whether more are running than need be

// pool_worker.c
int csched_pool_start_first_(csched_pool *pool); ///< at the beginning; returns: 0 or an errno value
int csched_pool_start_worker_(csched_pool *pool, const csched_pool_worker *leaving); ///< which is counted already
bool csched_pool_replace_(
    csched_pool_worker *worker); ///< asleep, taken out of `idle`; returns: whether another thread goes on for it
void csched_pool_join_workers_(csched_pool *pool); ///< when it is over
void csched_pool_name_(const csched_pool *pool, unsigned number, char name[CSCHED_POOL_NAME]);
/// The worker whose thread this is; NULL: none. See pool_worker.c.
extern CSCHED_HIDDEN CSCHED_TLS_FAST CSCHED_THREAD_LOCAL csched_pool_worker *csched_pool_worker_here_;
bool csched_pool_leave_in_child_(
    csched_pool *pool); ///< this thread is none of its workers any more; returns: whether it was
csched_priority csched_pool_priority_here_(void); ///< of the worker's job; of a thread that is none: the highest
void csched_pool_perform_(csched_pool_worker *worker, csched_pool_class *class, csched_job *job);
bool csched_pool_is_queued_locked_(csched_pool *pool);
bool csched_pool_keep_(csched_pool_class *class,
                       csched_job *job); ///< returns: whether this thread is a worker that keeps it
uint32_t *csched_pool_follow_up_(const csched_target *target); ///< see target.h
bool csched_pool_keeps_follow_up_(void);      ///< this thread has just kept a job; returns: whether it is a follow-up
bool csched_pool_is_kept_(csched_pool *pool); ///< whether a worker keeps one; exact after a fence
size_t csched_pool_kept_of_(const csched_pool_class *class);                ///< how many are kept
bool csched_pool_find_victim_(csched_pool_worker *worker, csched_time now); ///< notes who keeps one; 0: whoever does

// pool_monitor.c: what workers do for the monitor.
void csched_pool_init_courier_(csched_pool *pool);
bool csched_pool_begin_carrying_locked_(csched_pool_worker *worker,
                                        csched_job *job); ///< returns: false when another will do it
void csched_pool_carry_(csched_pool_worker *worker, csched_job *job);
void csched_pool_end_carrying_(csched_pool_worker *worker); ///< of the one that it carries

// pool.c
bool csched_pool_must_end_(csched_pool *pool);     ///< whether a worker without work has something to do about the end
bool csched_pool_end_(csched_pool_worker *worker); ///< does it; returns: whether the worker may leave
bool csched_pool_is_closing_(const csched_pool *pool);
bool csched_pool_is_dropping_(const csched_pool *pool);
void csched_pool_over_(csched_pool *pool);
void csched_pool_panic_worker_(const csched_pool *pool) CSCHED_NORETURN; ///< a job has come back in a child

// pool_monitor.c
int csched_pool_start_monitor_(csched_pool *pool); ///< at the beginning; returns: 0 or an errno value
int csched_pool_keep_at_(csched_pool *pool, csched_timer *timer, csched_time deadline, csched_time leeway);
csched_timers *csched_pool_timers_(const csched_pool *pool); ///< those that are kept; NULL: there is no monitor
void csched_pool_watch_(csched_pool *pool);                  ///< looks for blocked workers from now on
void csched_pool_close_monitor_(csched_pool *pool, csched_stop_policy policy);
void csched_pool_join_monitor_(csched_pool *pool);
void csched_pool_free_monitor_(csched_pool *pool);                 ///< when it was joined
bool csched_pool_is_monitor_(csched_pool *pool);                   ///< whether the calling thread is
void csched_pool_settle_(csched_pool_worker *worker);              ///< after a job: it is not stalled any more
void csched_pool_stand_(csched_pool_worker *worker, bool is_idle); ///< before and after a sleep
void csched_pool_orphan_worker_(csched_pool_worker *worker);       ///< in a child of fork: never to work again

// fork_join.c
bool csched_pool_is_forked_(csched_pool *pool);
void csched_pool_forget_forks_(csched_pool_worker *worker); ///< that went with their frames
void csched_pool_end_help_(csched_pool_worker *worker);     ///< those that it ran for others count as done
bool csched_pool_help_(
    csched_pool_worker *worker); ///< runs a forked job of another worker; returns: whether there was one
