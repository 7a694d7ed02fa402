// Internal operations on a loop's sources, and on the poller that the loop sleeps on: the other half of loop_fd.h.
// Depends on: lock.h, loop_fd.h, platform.h, bsd.h.
#pragma once

#include <CScheduler/lock.h>
#include <CScheduler/loop_fd.h>

#include "../base/bsd.h"
#include "../platform/platform.h"

TAILQ_HEAD(csched_fd_queue, csched_fd_source);

/// The sources of one loop, for the loop's thread. Any thread may read `is_open`, wake the poller where that is 1, and silence a source.
typedef struct csched_fds {
  const csched_loop *loop;
  csched_lock lock; ///< guards the poller's descriptors, and which sources are silent
  uint32_t is_open; ///< 1 from the first use on; 2 in a child of fork that could not yet open the poller again
  csched_poller poller;
  bool is_closed;
  bool has_host;            ///< a host sleeps for this loop, between its runs
  bool is_in_host;          ///< the host does so now, and the run queue is parked
  bool knows_close;         ///< the host has been notified of the close
  bool is_told;             ///< FD7's message has been printed
  bool is_strange;          ///< the last poll found events without a source
  bool is_stale;            ///< a wake or an alarm may remain for work that is done
  csched_fd_source **by_fd; ///< the source of each descriptor, or NULL
  size_t size, count;
  struct csched_fd_queue ready; ///< their handlers are to be called
  csched_job job;               ///< calls the handler of the first in `ready`
  uint32_t last_serial;
  unsigned batches;  ///< how many have begun since the last poll
  csched_time since; ///< when the first of these batches began; 0: none has
} csched_fds;

/// Does: initialises `fds`, which are all zero, as the empty sources of `loop`. Thread: before they are shared.
void csched_fds_init_(csched_fds *fds, const csched_loop *loop);

/// Does: opens the poller, unless it is open. Returns: 0 or an errno value. Thread: the loop's.
int csched_fds_open_(csched_fds *fds);

/// Does: wakes the poller, if the loop sleeps on it and not on the futex. Returns: whether it does. Thread: any.
bool csched_fds_wake_(csched_fds *fds);

/// Does: polls without waiting, if the last poll was some time or some batches ago. Called at the beginning of each batch of a loop with
/// sources; `now` is the clock. Thread: the loop's.
void csched_fds_batch_(csched_fds *fds, csched_time now);

/// Returns: a job that calls the handler of the next ready source, and is to be performed at once; NULL when no source is ready.
/// Thread: the loop's.
csched_job *csched_fds_next_(csched_fds *fds);

/// Does: polls without waiting, if the poller is open, which consumes wakes and alarms. Then as csched_fds_next_.
csched_job *csched_fds_look_(csched_fds *fds);

/// Does: sleeps on the poller, if it is open, until a wake, a source, or `until`. It may return early. Returns: whether it is open.
/// Thread: the loop's.
bool csched_fds_wait_(csched_fds *fds, csched_time until);

/// Does: consumes wakes and alarms, if there may be any, and queues the ready sources. The caller then looks for work of all kinds.
/// Thread: the loop's, with a host.
void csched_fds_settle_(csched_fds *fds);

/// Does: makes the poller's descriptor readable now, or, if the loop is idle, at `until`. Thread: the loop's.
void csched_fds_leave_to_host_(csched_fds *fds, bool is_idle, csched_time until);

/// Does: removes all sources, and refuses later ones. Thread: the loop's, any number of times.
void csched_fds_close_(csched_fds *fds);

/// Does: as csched_fds_close_, then closes the poller and frees the memory.
void csched_fds_destroy_(csched_fds *fds);

/// Does: in a child of fork, opens the poller again under the same number, with the same sources, and wakes it: the old poller is the
/// parent's. Without free descriptors, the poller's first use tries again. Thread: the child's only one.
void csched_fds_renew_(csched_fds *fds);

/// Does: in a child of fork, closes its copy of the parent's poller. The sources stay in the table, unused.
void csched_fds_abandon_(csched_fds *fds);
