// Internal operations on a loop's sources, and on the poller on which the loop sleeps. The public half is loop_fd.h.
// Depends on: lock.h, loop_fd.h, platform.h, bsd.h.
#pragma once

#include <CScheduler/lock.h>
#include <CScheduler/loop_fd.h>

#include "../base/bsd.h"
#include "../platform/platform.h"

TAILQ_HEAD(csched_fd_queue, csched_fd_source);
/// The sources of one loop, for the loop's thread. Any thread may read `poller_state`, wake the poller if that is 1,
/// and unregister a source from the system.
typedef struct csched_fds {
  const csched_loop *loop;
  csched_lock lock;      ///< guards the poller's descriptors, and which sources are silent
  uint32_t poller_state; ///< 0: no poller; 1: it is open; 2 (LOST): in a child of fork that could not yet open it again
  csched_poller poller;
  bool is_closed;               ///< later sources are refused
  bool has_host;                ///< csched_loop_fd was called: a host, another library's loop, sleeps for this loop
  bool is_in_host;              ///< the host sleeps now, and the inbox is parked
  bool host_knows_close;        ///< the host has been notified of the loop's close
  bool has_warned;              ///< loop_fd.c FD7: the message about an event without a source has been printed
  bool had_unknown_event;       ///< FD7: the previous poll found an event without a source
  bool is_stale;                ///< a wake or alarm may be pending for work that is done: poll before a park
  csched_fd_source **by_fd;     ///< a source of each descriptor, or NULL; `sibling` leads to its other sources
  size_t size, count;           ///< length of `by_fd`; number of sources in it
  struct csched_fd_queue ready; ///< the sources whose handlers are to be called
  csched_job job;               ///< reused for all sources: calls the handler of the first source in `ready`
  uint32_t last_serial;         ///< serial number of the source that was added most recently
  unsigned batches;             ///< FD5: number of batches since the previous poll
  csched_time since;            ///< FD5: start of the first of these batches; 0: no batch since the poll
} csched_fds;

/// Does: initialises `fds`, all zero, for `loop`, without sources. Thread: before the loop is shared.
void csched_fds_init_(csched_fds *fds, const csched_loop *loop);
/// Does: opens the poller, unless it is open. Returns: 0 or an errno value. Thread: the loop's.
int csched_fds_open_(csched_fds *fds);
/// Does: wakes the poller, if the loop sleeps on it and not on its futex. Returns: false: there is no poller; wake the
/// futex. Thread: any.
bool csched_fds_wake_(csched_fds *fds);
/// Does: at a batch's start, polls without waiting, if eight batches or 0.5 ms have passed since the previous poll
/// (FD5). Thread: the loop's.
void csched_fds_poll_if_due_(csched_fds *fds, csched_time now);
/// Returns: a job that calls the handler of the next ready source, for the caller to perform at once; NULL: no source
/// is ready. Thread: the loop's.
csched_job *csched_fds_next_(csched_fds *fds);
/// Does: if the poller is open, polls without waiting, queues the ready sources, and consumes wakes and alarms.
/// Returns: as csched_fds_next_.
csched_job *csched_fds_poll_next_(csched_fds *fds);
/// Does: if the poller is open, sleeps on it until a wake, an event or `until`, or less long. Returns: whether it is
/// open. Thread: the loop's.
bool csched_fds_wait_(csched_fds *fds, csched_time until);
/// Does: if `is_stale`, polls: consumes stale wakes and alarms, and queues the ready sources. Call it before a park.
/// Thread: the loop's, with a host.
void csched_fds_consume_stale_(csched_fds *fds);
/// Does: makes the poller's descriptor, on which the host waits, readable now; or, if the loop is idle, at `until`.
/// Thread: the loop's.
void csched_fds_arm_for_host_(csched_fds *fds, bool is_idle, csched_time until);
/// Does: removes all sources, and refuses later ones. Thread: the loop's, any number of times.
void csched_fds_close_(csched_fds *fds);
/// Does: as csched_fds_close_, then closes the poller and frees the memory.
void csched_fds_destroy_(csched_fds *fds);
/// Does: in a child of fork, opens the poller again under the same number, with the same sources, and wakes it: the old
/// poller is the parent's. Without free descriptors, the poller's first use tries again. Thread: the child's only one.
void csched_fds_renew_(csched_fds *fds);
/// Does: in a child of fork, closes its copy of the parent's poller. The sources stay in the table, unused.
void csched_fds_abandon_(csched_fds *fds);
