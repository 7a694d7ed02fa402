// What a loop does with its sources, and with the poller that it sleeps on because of them: the other half of loop_fd.h.
// Depends on: lock.h, loop_fd.h, platform.h, bsd.h.
#pragma once

#include <CScheduler/lock.h>
#include <CScheduler/loop_fd.h>

#include "../platform/platform.h"
#include "bsd.h"

TAILQ_HEAD(csched_fd_queue, csched_fd_source);

/// The sources of one loop. All is the loop's own, but `is_open` and, where that is 1, what wakes the poller.
typedef struct csched_fds {
  const csched_loop *loop;
  csched_lock lock; ///< what the poller has, and which sources are silent
  uint32_t is_open; ///< 1 from the first use on; 2 in a child of fork that could not open the poller anew yet
  csched_poller poller;
  bool is_closed;
  bool has_host;            ///< a foreign loop sleeps for this one, between its runs;
  bool is_in_host;          ///< it does so now, and the run queue is parked;
  bool knows_close;         ///< and it has been told of the close
  bool is_told;             ///< E7's message has been printed
  bool is_strange;          ///< the last look found events of what is not in `by_fd`
  bool is_stale;            ///< a wake or alarm may have come for what has been done since
  csched_fd_source **by_fd; ///< the one for each descriptor, or NULL
  size_t size, count;
  struct csched_fd_queue ready; ///< to be told
  csched_job job;               ///< calls the handler of the first in `ready`
  uint32_t last_serial;
  unsigned batches;  ///< since the poller was looked at;
  csched_time since; ///< when the first of them began; 0: none has
} csched_fds;

/// Does: makes `fds`, all zero, the empty ones of `loop`. Thread: before they are shared.
void csched_fds_init_(csched_fds *fds, const csched_loop *loop);

/// Does: opens the poller, unless it is open. Returns: 0 or an errno value. Thread: the loop's.
int csched_fds_open_(csched_fds *fds);

/// Does: wakes the poller, if it is what the loop sleeps on. Returns: whether it is. Thread: any.
bool csched_fds_wake_(csched_fds *fds);

/// Does: looks at the poller, if that was long ago or there have been some batches since. At the beginning of each, where there are
/// sources; `now` is the clock. Thread: the
/// loop's.
void csched_fds_batch_(csched_fds *fds, csched_time now);

/// Returns: a job that calls the handler of the next source that is ready, to be performed at once; NULL when there is none.
/// Thread: the loop's.
csched_job *csched_fds_next_(csched_fds *fds);

/// Does: as csched_fds_next_, after a look at the poller, if it is open. Wakes and alarms that have come are over then.
csched_job *csched_fds_look_(csched_fds *fds);

/// Does: sleeps on the poller, if it is open, until a wake, a source, or `until`. It may return early. Returns: whether it is.
/// Thread: the loop's.
bool csched_fds_wait_(csched_fds *fds, csched_time until);

/// Does: ends wakes and alarms that have come, if any may have, and queues the sources that are ready. The caller then looks at
/// all that there is to do. Thread: the loop's, with a host.
void csched_fds_settle_(csched_fds *fds);

/// Does: makes the poller's descriptor readable now, or, if the loop is idle, at `until`. Thread: the loop's.
void csched_fds_leave_to_host_(csched_fds *fds, bool is_idle, csched_time until);

/// Does: removes all sources, and refuses later ones. Thread: the loop's, any number of times.
void csched_fds_close_(csched_fds *fds);

/// Does: closes, and gives back the poller and the memory.
void csched_fds_destroy_(csched_fds *fds);

/// Does: opens the poller anew, under the same number, with the same sources, because the parent of the fork has kept the old one; and
/// wakes it. Without descriptors for that, which the child may not need, its first use tries again. Thread: the only one of a child of fork.
void csched_fds_renew_(csched_fds *fds);

/// Does: in a child of fork, lets go of the parent's poller. The sources stay where they are, unused.
void csched_fds_abandon_(csched_fds *fds);
