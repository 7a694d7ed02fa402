// Descriptors that a loop waits for, and a loop's own descriptor, for which another loop can wait.
// Depends on: loop.h.
//
// A loop calls a handler when a descriptor can be read or written. Another loop, the host (GLib's, libuv's, Dispatch, poll), can also drive a loop.
// The host waits for csched_loop_fd, and calls csched_loop_run_ready each time it is readable. A loop that uses neither has no descriptor.
#ifndef CSCHED_LOOP_FD_H
#define CSCHED_LOOP_FD_H

#include <CScheduler/loop.h>

CSCHED_BEGIN_DECLS

/// What a source waits for; combine with or.
typedef enum csched_fd_events {
  CSCHED_FD_READ = 1,  ///< readable, at its end, or failed: the next read returns which
  CSCHED_FD_WRITE = 2, ///< writable, or failed: the next write returns which
  CSCHED_FD_EDGE = 4,  ///< edge-triggered: report changes only; without it, report as long as ready
} csched_fd_events;

typedef struct csched_fd_source csched_fd_source;

/// A descriptor that a loop waits for. The caller owns the memory and the descriptor; initialise it with csched_fd_source_init. All fields except
/// `context` and `dropped` are private.
///
/// `dropped` may be set between csched_fd_source_init and csched_loop_add_fd. It is called on the loop's thread when the source was removed without
/// csched_loop_remove_fd; the caller then owns the source again. The error is ECANCELED if the loop was closed. It is EBADF if the descriptor was
/// closed before the source was removed, which is detected when its number is added again. Without `dropped`, EBADF is a message on standard error.
struct csched_fd_source {
  void (*handler)(csched_fd_source *source, unsigned events);
  void *context;
  int fd;
  unsigned events, ready;
  uint32_t serial, is_silent;
  struct csched_fds *owner;
  struct { // libbsd's TAILQ_ENTRY
    csched_fd_source *tqe_next, **tqe_prev;
  } node;
  void (*dropped)(csched_fd_source *source, int error);
  int (*renew)(csched_fd_source *source);
};

/// Does: prepares `source` to be added. `handler` receives in `events` what is ready: READ, WRITE or both. Spurious calls are possible, so `fd`
/// should be non-blocking. If the handler runs its loop, it may be called inside itself. Requires: the source is not added to a loop.
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
}

/// Does: calls the source's handler in the loop's runs, among the jobs, whenever its descriptor is ready. A call counts as a job for
/// csched_loop_run_once and csched_loop_run_ready. Requires: `source` stays valid until it is removed, or the loop is destroyed. Returns: 0; EBADF;
/// EPERM if the descriptor cannot be waited for (a regular file); EEXIST if the source, or another one for this descriptor, is already added; EINVAL
/// if it waits for neither READ nor WRITE; ECANCELED if the loop is closed; the system's errno value without memory or descriptors. Thread: the
/// loop's.
int csched_loop_add_fd(csched_loop *loop, csched_fd_source *source);

/// Does: changes what `source` waits for. Events that are no longer asked for are not reported any more. Present readiness is reported again, also
/// with CSCHED_FD_EDGE. Returns: 0; ENOENT if it is not added to this loop; EINVAL, EBADF, ENOMEM as csched_loop_add_fd. Thread: the loop's.
int csched_loop_modify_fd(csched_loop *loop, csched_fd_source *source, unsigned events);

/// Does: removes the source. Its handler is not called again, and the source can be freed at once, also inside its own handler or another's. Remove a
/// source before you close its descriptor. A close of the loop removes all sources. Returns: 0; ENOENT if it is not added to this loop; EBADF if its
/// descriptor was closed before; it is removed all the same. Thread: the loop's.
int csched_loop_remove_fd(csched_loop *loop, csched_fd_source *source);

/// Does: removes the source's descriptor from the system's set at once. The descriptor can then be closed, or given to another loop. A handler call
/// that starts at that moment may still run: the caller must prevent it. csched_loop_remove_fd must still follow on the loop's thread. If it comes
/// before csched_loop_add_fd, that returns ECANCELED. Requires: `loop` and `source` stay valid until the removal. Thread: any; after a close of the
/// loop it does nothing. Private.
void csched_loop_silence_fd_(csched_loop *loop, csched_fd_source *source);

/// Does: returns the loop's descriptor, with which a host can drive it; the first call makes it. It is readable when there is something to do: a job,
/// a due timer, a ready source, a csched_loop_end_run that has ended no run yet, a new close. Then call csched_loop_run_ready; if more remains, it
/// stays readable. Without work it causes no wakeups. csched_loop_run_until(loop, 0) then runs no job. It consumes such an end (CSCHED_RUN_ENDED),
/// ends a closed loop (CSCHED_RUN_CLOSED), or does neither. Other runs remain possible. Only wait for the descriptor, level-triggered, not
/// edge-triggered. The loop owns it until it is destroyed. In a child of fork it has the same number, and belongs to the child's loop. If the child
/// has no free descriptor for that, this function's result or a message reports it at the first use. Returns: 0, and the descriptor in `*fd`; an
/// errno value (EMFILE …) if the system has no descriptor. Thread: the loop's.
int csched_loop_fd(csched_loop *loop, int *fd);

/// Does: detach separates the loop from its thread; attach gives it to the calling thread. For hosts whose threads change: a serial queue of Dispatch
/// attaches before it runs ready work, and detaches afterwards. Requires: no run is in progress. An attach comes after the detach, or after the last
/// use by a thread that is about to end. (dispatchMain moves the main queue to other threads before the main thread has ended.) Thread: the loop's to
/// detach, any to attach.
void csched_loop_detach(csched_loop *loop);
void csched_loop_attach(csched_loop *loop);

CSCHED_END_DECLS

#endif
