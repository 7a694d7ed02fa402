// A cancellation: requests running work to end, together with the work of all its descendants in a tree.
// Depends on: base.h.
//
//   static void interrupt(csched_cancel_handler *handler) { shutdown(((download *)handler)->socket, SHUT_RDWR); }
//   …  csched_cancellation_add(&download->cancellation, &download->handler); // in the work: the handler ends the read
//      while (!csched_cancellation_is_cancelled(&download->cancellation) && read_part(download)) …
//      csched_cancellation_remove_and_wait(&download->handler);                // before the socket is closed
//      csched_cancellation_end(&download->cancellation);
//
// A cancel is a request: the work checks a flag, or registers handlers. Cancellations form a tree. A cancel includes
// all descendants, even if the parent's own work has ended. One of 32 locks guards a tree; user code never runs under
// this lock. Stack use does not depend on the tree's depth. A child of fork has the flags and the tree. In the child, a
// handler that another thread was calling, or was about to call, counts as returned.
#ifndef CSCHED_CANCELLATION_H
#define CSCHED_CANCELLATION_H

#include <CScheduler/base.h>

CSCHED_BEGIN_DECLS

typedef struct csched_cancellation csched_cancellation;
typedef struct csched_cancel_handler csched_cancel_handler;

/// A handler: a cancel calls its `call`. The caller owns the memory, sets the first three fields, and zeroes the
/// others, which are private.
///
/// `release` is called once for each csched_cancellation_add, after the library's last access to the handler, and may
/// free it. If it is NULL, the caller owns the memory again when csched_cancellation_remove_and_wait has returned,
/// except inside `call`.
struct csched_cancel_handler {
  void (*call)(csched_cancel_handler *handler);    ///< must not throw, longjmp out, or end its thread
  void (*release)(csched_cancel_handler *handler); ///< the same applies; may be NULL
  void *context;
  csched_cancellation *cancellation_; // the cancellation that the handler was added to
  struct {                            // libbsd's TAILQ_ENTRY
    csched_cancel_handler *tqe_next, **tqe_prev;
  } node_;
  uint32_t state_, tree_, caller_; // new, waiting, running or over; its tree's lock; the thread inside `call`
};

/// A cancellation. The caller owns the memory; its fields are private.
struct csched_cancellation {
  void (*gone_)(csched_cancellation *cancellation); // called once: see csched_cancellation_init
  csched_cancellation *parent_;
  struct csched_cancel_caller *caller_; // the cancel that is going to call the handlers, or NULL
  struct {                              // libbsd's TAILQ_HEADs
    csched_cancel_handler *tqh_first, **tqh_last;
  } handlers_;
  struct {
    csched_cancellation *tqh_first, **tqh_last;
  } children_;
  struct { // TAILQ_ENTRYs: node_ in the parent's `children_`; call_node_ in the list whose handlers a cancel will call
    csched_cancellation *tqe_next, **tqe_prev;
  } node_, call_node_;
  uint32_t flags_, tree_; // flags: cancelled, ended, gone; number of its tree's lock
};

/// Does: initialises `cancellation` as a root (`parent` is NULL) or a child of `parent`. A cancel of `parent`, before
/// or after this call, also cancels the child. `gone` (may be NULL) is called once, when the cancellation has ended and
/// has no children: it is then gone, and the caller owns the memory. Requires: `parent` is not gone, or stays in memory
/// until `cancellation` is gone. Returns: whether `parent` is NULL or not gone.
/// Thread: any.
bool csched_cancellation_init(csched_cancellation *cancellation, csched_cancellation *parent,
                              void (*gone)(csched_cancellation *cancellation));

/// Does: marks the cancellation and all its descendants as cancelled, then calls their handlers, one after the other,
/// on this thread. A parent's handlers are called before its children's, and those of one cancellation in the order of
/// addition. Only the first call does this. A concurrent second call may return before the handlers were called.
/// Thread: any, handlers included.
void csched_cancellation_cancel(csched_cancellation *cancellation);

/// Returns: whether it is cancelled, which is permanent. If so, the canceller's earlier writes are visible. Thread:
/// any; it never waits.
bool csched_cancellation_is_cancelled(const csched_cancellation *cancellation);

/// Does: registers `handler` to be called at a cancel. If the cancellation is already cancelled, calls the handler at
/// once, on this thread. If the cancellation has ended, never calls it. Requires: `handler` was never added, or the
/// caller owns its memory again. Returns: whether the handler waits for a cancel. Thread: any.
bool csched_cancellation_add(csched_cancellation *cancellation, csched_cancel_handler *handler);

/// Does: removes `handler` if it waits for a cancel, so that no cancel calls it. Returns: whether it was waiting.
/// Thread: any.
bool csched_cancellation_remove(csched_cancel_handler *handler);

/// Does: as csched_cancellation_remove, and waits until a call on another thread has returned. Requires: the handler's
/// memory stays valid until then.
/// Returns: whether the handler was waiting for a cancel. Thread: any; it may block.
bool csched_cancellation_remove_and_wait(csched_cancel_handler *handler);

/// Does: ends the cancellation, because its work has ended, and removes its waiting handlers: their `call` is never
/// called. An ended cancellation remains in the tree while it has children. A second call does nothing. Thread: any,
/// handlers included.
void csched_cancellation_end(csched_cancellation *cancellation);

/// Private. Returns: is_over_: whether the cancellation is cancelled or has ended; handler_waits_: whether `handler`
/// was never added, or waits.
bool csched_cancellation_is_over_(const csched_cancellation *cancellation);
bool csched_cancellation_handler_waits_(const csched_cancel_handler *handler);

/// Does: calls `visit` for the cancellation and all its descendants, parents first. Requires: `visit` calls no function
/// of this header. Private.
void csched_cancellation_visit_(csched_cancellation *cancellation,
                                void (*visit)(csched_cancellation *cancellation, void *context), void *context);

CSCHED_END_DECLS

#endif
