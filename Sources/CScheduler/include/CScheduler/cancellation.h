// What asks a piece of work that is under way to end, and all that belongs to it.
// Depends on: base.h.
//
//   static void interrupt(csched_cancel_handler *handler) { shutdown(((download *)handler)->socket, SHUT_RDWR); }
//   …  csched_cancellation_add(&download->cancellation, &download->handler);   // in the work: what ends the read below
//      while (!csched_cancellation_is_cancelled(&download->cancellation) && read_part(download)) …
//      csched_cancellation_remove_and_wait(&download->handler);                // before the socket is closed
//      csched_cancellation_end(&download->cancellation);
//
// To cancel is to ask: the work looks at a flag, or has handlers called. Cancellations are a tree: what is below one is cancelled with it, whether
// its own work has ended by then or not. A tree has one of 32 locks, which no function of the user's is called under; its depth takes no stack.
// A child of fork has the flags and the tree; handlers that other threads were calling, or about to call, have returned there.
#ifndef CSCHED_CANCELLATION_H
#define CSCHED_CANCELLATION_H

#include <CScheduler/base.h>

CSCHED_BEGIN_DECLS

typedef struct csched_cancellation csched_cancellation;
typedef struct csched_cancel_handler csched_cancel_handler;

/// What is called at a cancel. The caller owns the memory, sets the two functions and `context`, and all else to zero; that is private.
///
/// `release` is called once for each csched_cancellation_add, when nothing here looks at the handler any more, and may free it. It may be NULL:
/// then the memory is the caller's when csched_cancellation_remove_and_wait has returned, but not inside of the call.
struct csched_cancel_handler {
  void (*call)(csched_cancel_handler *handler);    ///< does not throw, jump out, or end its thread
  void (*release)(csched_cancel_handler *handler); ///< neither
  void *context;
  csched_cancellation *of_;
  struct { // libbsd's TAILQ_ENTRY
    csched_cancel_handler *tqe_next, **tqe_prev;
  } node_;
  uint32_t state_, tree_, caller_;
};

/// A cancellation. The caller owns the memory; its fields are private.
struct csched_cancellation {
  void (*gone_)(csched_cancellation *cancellation);
  csched_cancellation *parent_;
  struct csched_cancel_caller *caller_;
  struct { // libbsd's TAILQ_HEADs
    csched_cancel_handler *tqh_first, **tqh_last;
  } handlers_;
  struct {
    csched_cancellation *tqh_first, **tqh_last;
  } children_;
  struct { // and TAILQ_ENTRYs: among its parent's children, and among those whose handlers are to be called
    csched_cancellation *tqe_next, **tqe_prev;
  } node_, due_;
  uint32_t flags_, tree_;
};

/// Does: makes `cancellation` one of a tree of its own (`parent` is NULL), or one below `parent`; then, where that is cancelled, this is from
/// the start. `gone` is called once, when it has ended and nothing is left below it: its memory is the caller's then, and not before; NULL: nothing
/// is. Requires: `parent` has not gone, or its memory stays until this one has. Returns: whether `parent` has not gone, or is NULL. Thread: any.
bool csched_cancellation_init(csched_cancellation *cancellation, csched_cancellation *parent,
                              void (*gone)(csched_cancellation *cancellation));

/// Does: cancels it and all below it, which see that; then calls their handlers, one after the other on this thread: a parent's before its
/// children's, each in the order of their addition. The first time only: who comes beside another caller may be back before the handlers were called.
/// Thread: any, handlers included.
void csched_cancellation_cancel(csched_cancellation *cancellation);

/// Returns: whether it is cancelled, for good; what was before the cancel is seen then. Thread: any; it never waits.
bool csched_cancellation_is_cancelled(const csched_cancellation *cancellation);

/// Does: has `handler` called when it is cancelled; at once, on this thread, where it is already; never where it has ended.
/// Requires: `handler` was never added, or is over. Returns: whether the handler waits. Thread: any.
bool csched_cancellation_add(csched_cancellation *cancellation, csched_cancel_handler *handler);

/// Does: takes `handler` back, if it waits: it is not called any more. Returns: whether it waited. Thread: any.
bool csched_cancellation_remove(csched_cancel_handler *handler);

/// Does: the same, and waits until a call on another thread has returned. Requires: the handler's memory stays. Thread: any; it may block.
bool csched_cancellation_remove_and_wait(csched_cancel_handler *handler);

/// Does: ends it: handlers that wait are taken back. It stays in the tree while something is below it. The second time it does nothing.
/// Thread: any, handlers included.
void csched_cancellation_end(csched_cancellation *cancellation);

/// Private. Returns: whether it is cancelled or has ended; and whether `handler` was never added, or waits.
bool csched_cancellation_is_over_(const csched_cancellation *cancellation);
bool csched_cancellation_handler_waits_(const csched_cancel_handler *handler);

/// Does: calls `visit` for it and for all that is below it, a parent first. Requires: `visit` calls nothing of this header. Private.
void csched_cancellation_visit_(csched_cancellation *cancellation,
                                void (*visit)(csched_cancellation *cancellation, void *context), void *context);

CSCHED_END_DECLS

#endif
