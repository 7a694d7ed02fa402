// Descriptors and a loop: those that it waits for, and its own, for which another loop can wait.
// Depends on: loop.h.
//
// A loop calls a handler when a descriptor can be read or written. And a loop can be driven by another one (GLib's, libuv's,
// Dispatch, poll): the host waits for csched_loop_fd, and calls csched_loop_run_ready each time that it is readable. A loop
// that is used for neither has no descriptor at all.
#ifndef CSCHED_LOOP_FD_H
#define CSCHED_LOOP_FD_H

#include <CScheduler/loop.h>

CSCHED_BEGIN_DECLS

/// What a source waits for, or'ed.
typedef enum csched_fd_events {
  CSCHED_FD_READ = 1,  ///< it can be read, or is at its end, or has failed: the next read tells
  CSCHED_FD_WRITE = 2, ///< it can be written, or has failed: the next write tells
  CSCHED_FD_EDGE = 4,  ///< tell of a change only; without it, tell as long as it holds
} csched_fd_events;

typedef struct csched_fd_source csched_fd_source;

/// A descriptor that a loop waits for, for reading, writing or both. The caller owns the memory, and the descriptor; initialise
/// it with csched_fd_source_init. Its fields but `context` and `dropped` are private.
///
/// `dropped`, which may be set between the initialiser and csched_loop_add_fd, is told on the loop's thread that the source was removed by
/// somebody else than csched_loop_remove_fd, and is the caller's again: ECANCELED, because the loop was closed; EBADF, because its descriptor was
/// closed before the source was removed, which is found when the number is added again. Without it the second is a message on standard error.
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

/// Does: makes `source` ready to be added. `handler` is told in its `events` what has become possible, READ, WRITE or both. It
/// may come for nothing, so `fd` should not block, and inside of itself, if it runs its loop. Requires: it is not added to a loop.
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

/// Does: calls the source's handler in the loop's runs, among the jobs, whenever its descriptor is ready. It counts as a job for
/// csched_loop_run_once and csched_loop_run_ready. Requires: `source` stays valid until it is removed, or the loop is destroyed.
/// Returns: 0; EBADF; EPERM when such a descriptor cannot be waited for (a regular file); EEXIST when the source, or another one
/// for this descriptor, is added already; EINVAL when it waits for neither; ECANCELED when the loop is closed; what the system
/// says when it has no memory or descriptors. Thread: the loop's.
int csched_loop_add_fd(csched_loop *loop, csched_fd_source *source);

/// Does: changes what `source` waits for; what is no longer asked for is not told any more. A change that has come before is told
/// anew, also with CSCHED_FD_EDGE. Returns: 0; ENOENT when it is not added to this loop; EINVAL, EBADF, ENOMEM as
/// csched_loop_add_fd. Thread: the loop's.
int csched_loop_modify_fd(csched_loop *loop, csched_fd_source *source, unsigned events);

/// Does: ends the waiting. The handler is not called again, and the source can be freed at once: also from inside its own handler,
/// or another's. Remove a source before its descriptor is closed. A closed loop has removed all of them.
/// Returns: 0; ENOENT when it is not added to this loop; EBADF when its descriptor was closed before: it is removed all the same.
/// Thread: the loop's.
int csched_loop_remove_fd(csched_loop *loop, csched_fd_source *source);

/// Does: has the system forget the source's descriptor at once, and no handler begin that has not begun; the descriptor can be closed, or given to
/// another loop. On the loop's thread csched_loop_remove_fd is still to follow. Before csched_loop_add_fd, that will refuse it: ECANCELED.
/// Requires: `loop` and `source` stay until that has been done. Thread: any; once the loop has been closed it does nothing. Private.
void csched_loop_silence_fd_(csched_loop *loop, csched_fd_source *source);

/// Does: makes the loop one that a host can drive, at the first call. The descriptor is readable when there is something to do: a
/// job, a timer that is due, a source that is ready, an end of a run that has not been taken, a close that is new. Then call
/// csched_loop_run_ready, after which it is not readable unless there is more. Between two calls nothing wakes up for nothing.
/// csched_loop_run_until(loop, 0) then runs no job and says what came: it takes such an end (CSCHED_RUN_ENDED), ends a closed loop
/// (CSCHED_RUN_CLOSED), or neither. Other runs stay possible. Only wait for the descriptor, as a level, not an edge: it is the
/// loop's, until that is destroyed. In a child of fork it has the same number, and stands for the child's loop; where the child has no
/// descriptor to spare for that, it is told at its first use: by this function's answer, or a message.
/// Returns: 0, and the descriptor in `*fd`; an errno value (EMFILE …) when the system has none to give. Thread: the loop's.
int csched_loop_fd(csched_loop *loop, int *fd);

/// Does: lets go of the loop, which then belongs to no thread, or gives it to the calling thread: for hosts whose threads change (a
/// serial queue of Dispatch attaches before it runs what is ready, and detaches after it). Requires: no run is in progress; whoever
/// attaches comes after the one who detached, or after the last use by a thread that is about to end (dispatchMain has the main queue
/// go on elsewhere before the main thread has come to its end). Thread: the loop's to detach, any to attach.
void csched_loop_detach(csched_loop *loop);
void csched_loop_attach(csched_loop *loop);

CSCHED_END_DECLS

#endif
