// Descriptors that a loop waits for, and a loop's own descriptor, for which another loop can wait.
// Depends on: loop.h.
//
// A loop calls a source's handler when the source's descriptor can be read or written. A host, which is another
// library's loop (GLib, libuv, Dispatch, poll), can drive a loop: the host waits for csched_loop_fd's descriptor, and
// calls csched_loop_run_ready when that is readable. A loop without a host has no such descriptor.
#ifndef CSCHED_LOOP_FD_H
#define CSCHED_LOOP_FD_H

#include <CScheduler/loop.h>

CSCHED_BEGIN_DECLS

/// What a source waits for; combine with or.
typedef enum csched_fd_events {
  CSCHED_FD_READ = 1,  ///< readable, at the end of the file, or failed: the next read shows which
  CSCHED_FD_WRITE = 2, ///< writable, or failed: the next write shows which
  CSCHED_FD_EDGE = 4,  ///< edge-triggered: reports changes only; without it, reports as long as ready
} csched_fd_events;

typedef struct csched_fd_source csched_fd_source;

/// A descriptor that a loop waits for. The caller owns the memory and the descriptor; initialise it with
/// csched_fd_source_init. All fields except `context` and `dropped` are private.
///
/// `dropped` may be set between csched_fd_source_init and csched_loop_add_fd. The loop's thread calls it when the
/// library has removed the source, not csched_loop_remove_fd; the caller then owns the source again. `error` is
/// ECANCELED if the loop was closed. It is EBADF if the descriptor was closed before the removal; the library detects
/// that when the number is added again. Without `dropped`, EBADF is a message on standard error.
struct csched_fd_source {
  void (*handler)(csched_fd_source *source, unsigned events);
  void *context;
  int fd;
  unsigned events, ready; // `events`: to wait for; `ready`: those that are ready and not yet passed to the handler
  uint32_t serial,
      is_silent; // `serial`: number of the addition, shows stale events; 0: removed after its descriptor was closed.
                 // `is_silent`: not 0 after csched_loop_unregister_fd_
  struct csched_fds *owner; // while added: the list of the loop's sources; otherwise NULL
  struct {                  // libbsd's TAILQ_ENTRY
    csched_fd_source *tqe_next, **tqe_prev;
  } node;
  void (*dropped)(csched_fd_source *source, int error);
  int (*renew)(csched_fd_source *source); // reopens the descriptor in a child of fork; 0 or an errno value; may be NULL
  csched_fd_source *sibling;              // while added: the next source of the same descriptor, in a ring
};

/// Does: prepares `source` to be added. The loop calls `handler` with the ready events: READ, WRITE or both. Spurious
/// calls are possible, so `fd` should be non-blocking. If the handler runs the loop, that run may call it again.
/// Requires: the source is not added to a loop.
CSCHED_INLINE void csched_fd_source_init(csched_fd_source *source, int fd, unsigned events,
                                         void (*handler)(csched_fd_source *source, unsigned events), void *context) {
  CSCHED_NEEDS_ABI();
  source->handler = handler;
  source->context = context;
  source->fd = fd;
  source->events = events;
  source->ready = 0;
  source->serial = 0;
  source->is_silent = 0;
  source->owner = NULL;
  source->dropped = NULL;
  source->renew = NULL;
  source->sibling = NULL;
}

/// Does: adds `source`: from now on the loop's runs call its handler, between jobs, whenever its descriptor is ready. A
/// call counts as a job for csched_loop_run_once and csched_loop_run_ready. Requires: `source` stays valid until it is
/// removed, or the loop is destroyed. Returns: 0; EBADF; EPERM if the descriptor cannot be waited for (a regular file);
/// EEXIST if this source, or another for its descriptor, is added; EINVAL if `events` has neither READ nor WRITE;
/// ECANCELED if the loop is closed; an errno value if memory or descriptors are short. Thread: the loop's.
int csched_loop_add_fd(csched_loop *loop, csched_fd_source *source);

/// Does: as csched_loop_add_fd, but other sources of the loop may wait for the same descriptor, if no source of it has
/// CSCHED_FD_EDGE. The system watches the descriptor once, for all of them. Returns: as csched_loop_add_fd; EEXIST
/// because of CSCHED_FD_EDGE. Thread: the loop's. Private.
int csched_loop_add_shared_fd_(csched_loop *loop, csched_fd_source *source);

/// Does: makes `source` wait for `events` in place of its previous events. A descriptor that is ready now is reported
/// again, also with CSCHED_FD_EDGE. Returns: 0; ENOENT if `source` is not added to this loop; EINVAL, EBADF, ENOMEM as
/// csched_loop_add_fd. Thread: the loop's.
int csched_loop_modify_fd(csched_loop *loop, csched_fd_source *source, unsigned events);

/// Does: removes the source. Its handler is not called again, and the source can be freed at once, also inside any
/// handler. Remove a source before you close its descriptor. A close of the loop removes all sources. Returns: 0;
/// ENOENT if the source is not added to this loop; EBADF if its descriptor was closed before, whatever has its number
/// now: the source is removed nevertheless. Thread: the loop's.
int csched_loop_remove_fd(csched_loop *loop, csched_fd_source *source);

/// Does: removes the source's events from the system's set (epoll) at once, so that its descriptor can be closed, or
/// added to another loop. A handler call that starts at that moment may still run; the caller must prevent that. The
/// loop's thread must still call csched_loop_remove_fd. If this call precedes csched_loop_add_fd, csched_loop_add_fd
/// returns ECANCELED. Requires: `loop` and `source` stay valid until the removal. Thread: any; after a close of the
/// loop it does nothing. Private.
void csched_loop_unregister_fd_(csched_loop *loop, csched_fd_source *source);

/// Does: stores the loop's descriptor in `*fd`, for a host that drives the loop; the first call creates it. The
/// descriptor is readable while the loop has something to do: a job, a due timer, a ready source, a csched_loop_end_run
/// that has not ended a run yet, a new close. The host then calls csched_loop_run_ready. After that,
/// csched_loop_run_until(loop, 0) runs no job: it only completes a csched_loop_end_run (it returns CSCHED_RUN_ENDED) or
/// a close (CSCHED_RUN_CLOSED). Other runs of the loop remain possible. The host must only wait for the descriptor,
/// level-triggered, not edge-triggered. Without work there are no wakeups. The loop owns the descriptor. In a child of
/// fork, the same number is a new descriptor, of the child's loop. If the child gets none, because descriptors are
/// short, this function's result or a message reports that at the first use. Returns: 0; an errno value (EMFILE …) if
/// the system has no descriptor left. Thread: the loop's.
int csched_loop_fd(csched_loop *loop, int *fd);

/// Does: csched_loop_detach separates the loop from its thread; csched_loop_attach binds it to the calling thread. Use
/// them for a host whose threads change: a serial queue of Dispatch attaches before it runs ready work, and detaches
/// afterwards. Requires: no run is in progress. Attach only after the detach, or after the final use by a thread that
/// is about to end. (dispatchMain moves the main queue to other threads before the main thread has ended.) Thread: the
/// loop's to detach, any to attach.
void csched_loop_detach(csched_loop *loop);
void csched_loop_attach(csched_loop *loop);

CSCHED_END_DECLS

#endif
