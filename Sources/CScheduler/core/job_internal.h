// What the schedulers do with jobs: the other half of job.h. More than 120 lines: one page of declarations.
// Depends on: job.h.
#pragma once

#include <CScheduler/atomic.h>
#include <CScheduler/job.h>

/// Does: marks `job` as submitted, before it is linked anywhere. Stops the process if it is pending already.
void csched_job_submitted_(csched_job *job, const char *function);

// The word of a job; the protocol is that of job.c.
enum {
  CSCHED_JOB_IDLE = 0,
  CSCHED_JOB_QUEUED = 1,
  CSCHED_JOB_RUNNING = 2,
  CSCHED_JOB_CANCELLED = 3,
  CSCHED_JOB_DROPPING = 4,
  CSCHED_JOB_PASSED = 5,
  CSCHED_JOB_ORPHANED = 6,
  CSCHED_JOB_STATE = 7, // and above it
  CSCHED_JOB_UNWANTED = 8,
  CSCHED_JOB_RESUBMISSION = 0x10,
  CSCHED_JOB_RESUBMISSIONS = 0xF0,
  CSCHED_JOB_LIFE = 0x100,
};

static inline unsigned csched_job_state_(uint64_t word) { return (unsigned)(word & CSCHED_JOB_STATE); }
static inline uint64_t csched_job_in_state_(uint64_t word, unsigned state) {
  return (word & ~(uint64_t)CSCHED_JOB_STATE) | state;
}

/// Does: the same for one that is idle. Returns: whether it was; if not, csched_job_submitted_ does.
static inline bool csched_job_mark_(csched_job *job) {
  uint64_t word = csched_load_relaxed(&job->word); // racy read: finds misuse
  if (CSCHED_UNLIKELY(csched_job_state_(word) != CSCHED_JOB_IDLE)) return false;
  csched_store_release(&job->word,
                       word | CSCHED_JOB_QUEUED); // J1: release; pairs with cancel's acquire; carries the job
  return true;
}

/// Does: runs `job` unless it was cancelled, then releases it. Requires: it has been unlinked.
void csched_job_perform_(csched_job *job);

/// Does: drops `job` unless it was cancelled, then releases it. Inside of another drop on this thread that is put off to its end.
/// Requires: it has been unlinked.
void csched_job_discard_(csched_job *job);

/// Jobs of the library's own, which are never put off: their drops call nothing of the user's but csched_job_discard_.
extern const csched_job_type csched_serial_drain_type_, csched_serial_sync_type_, csched_limit_lane_type_,
    csched_pool_tick_type_;

/// Who discards jobs in place of a thread that may not call what is the user's; from there it calls csched_job_discard_.
typedef struct csched_bin {
  void (*take)(struct csched_bin *bin, csched_job *job);
} csched_bin;

/// Does: has `bin` discard what this thread would from now on; NULL: nobody does. Returns: who did before.
csched_bin *csched_job_discard_into_(csched_bin *bin);

/// What this thread has put off to the end of the drop that it is inside of.
typedef struct csched_discards {
  csched_job *first, *last;
  bool is_inside;
} csched_discards;

/// See swift.h, also for the owners: what a job that is put off refers to, and may end before its drop.
csched_discards csched_discards_begin_(void);
void csched_discards_end_(csched_discards outer);
bool csched_discards_enter_(void);
bool csched_discards_are_here_(void);
typedef struct csched_discards_owners {
  const void *(*of)(const csched_job *job);
  void (*retain)(const void *owner);
  void (*release)(const void *owner);
} csched_discards_owners;
extern CSCHED_HIDDEN csched_discards_owners csched_discards_owners_;
bool csched_discards_reason_(csched_drop_reason *reason);

/// Does: the first half of csched_job_cancel. If it returns DROPPED, the job does not end before the second half.
csched_cancel_result csched_job_begin_cancel_(csched_job *job);

/// Does: the second half: drops `job`. Nothing of the canceller's looks at it afterwards. `is_unlinked`: the caller has unlinked it, and
/// so it ends here.
void csched_job_end_cancel_(csched_job *job, bool is_unlinked);

/// Returns: whether this thread is inside of the drop of `job`.
bool csched_job_is_dropped_here_(const csched_job *job);

/// Returns: why the job is dropped in whose drop this thread is.
csched_drop_reason csched_job_drop_reason_(void);

/// A job in one of its lives.
typedef struct csched_job_life {
  const csched_job *job;
  uint64_t life;
} csched_job_life;

/// The one of which a discard on this thread says that it was refused.
extern CSCHED_HIDDEN CSCHED_TLS_FAST CSCHED_THREAD_LOCAL csched_job_life csched_job_may_be_refused_;

/// Does: waits until `job` is in another submission or life than `word` says, or neither runs nor is dropped.
void csched_job_wait_in_(const csched_job *job, uint64_t word);

/// Does: what csched_job_cancel_and_wait does when a cancel has found `job` running.
void csched_job_wait_(csched_job *job, const char *function);

/// Returns: whether `job` runs on this thread, and has not been submitted again.
bool csched_job_is_running_here_(const csched_job *job);

/// Returns: whether `job` has been cancelled, or is being so. Requires: it is submitted, and the caller is to unlink it.
bool csched_job_is_cancelled_(const csched_job *job);

/// Returns: whether what is at that address, whose memory may be gone, is a job or a node that has not been cancelled, and not of type `except`.
/// Thread: any.
bool csched_job_seems_to_wait_(const csched_job *job, const csched_job_type *except);

/// Does: as csched_job_perform_, with `target` as the current one. Returns: whether it ran.
bool csched_job_perform_on_(csched_job *job, struct csched_target *target);

/// Does: ends `job`, whose run was left by unwinding, or by its thread's end; where it stands for something else, calls its `release`.
void csched_job_left_(csched_job *job);

/// Does: marks a job that runs in the parent. Thread: the only one of a child of fork.
void csched_job_orphan_(csched_job *job);
