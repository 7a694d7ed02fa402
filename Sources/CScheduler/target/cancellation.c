// A tree of cancellations: a cancel marks a node and its descendants, and calls their handlers.
//
// States, all under the lock of the tree
//   flags     CANCELLED, ENDED, and then GONE; each is final. Written under the lock, and read without it
//   parent    the parent node, until this node is GONE: ENDED, and without children
//   handler   NEW → WAITING, in `handlers` → RUNNING, on a thread → OVER; or WAITING → OVER: taken back. It may then be added again
//   caller    a thread that calls handlers: on its stack, and in a list of its tree. `due`: the nodes that it has marked, with handlers to call
//
// Invariants
//   CN1  A handler is called at most once for each addition: by the cancel, or by the addition if the node is cancelled already. It is not
//        called after it was taken back, nor after the node's end.
//   CN2  All descendants of a cancelled node are cancelled, later ones too. A thread that sees CANCELLED sees what was before the cancel.
//   CN3  A cancel calls the handlers of all nodes that it marks. When it returns, each that waited was called by it, or taken back. A cancel
//        that finds the node cancelled returns at once.
//   CN4  A node becomes GONE once: when it has ended and has no children. Then it is not due, and its parent no longer links to it.
//   CN5  A handler is released once for each addition, after the last access to it here. Without a `release` the last access is the change to OVER.
//   CN6  User code is called outside the lock. csched_cancellation_remove_and_wait returns after the handler's call; inside that call, at once.
//   CN7  In a child of fork no lock is lost. Only this thread's handlers are RUNNING. Handlers that others were about to call are not called.
//
// Orderings
//   flags: release by the cancel, pairs with the acquire of is_cancelled, carries what was before the cancel · all else by the lock
// Assumes: CV1 and CV3 of cond.c; descendants are in the same tree, and so under the same lock.
// Source: a context tree as in Go, where a cancel takes one lock for each level. One lock for a tree needs no lock order, and no second look.
// Checked by: "a cancelled tree calls its handlers in order, once", "a handler that is taken back is not called, and its call is waited for",
//   "a cancellation has gone when it and all below it have ended", "a tree of any depth is cancelled, and goes, without a stack of that depth",
//   "a cancellation that a handler ends is gone before the cancel comes to it",
//   "after fork a cancellation is cancelled, and no handler runs".
// Models: checks/cancellation.c. Not modelled: CN7.

#include <CScheduler/cancellation.h>

#include <CScheduler/cond.h>

#include "../base/bsd.h"
#include "../platform/platform.h"
#include "../sync/lock_internal.h"

enum { CANCELLED = 1, ENDED = 2, GONE = 4 };
enum { NEW, WAITING, RUNNING, OVER };
enum { TREES = 32 };

typedef struct csched_cancel_caller {
  LIST_ENTRY(csched_cancel_caller) link;
  TAILQ_HEAD(, csched_cancellation) due;
  csched_cancel_handler *running;
  uint32_t thread;
} caller;

typedef struct tree {
  CSCHED_CACHE_ALIGNED csched_lock lock;
  csched_cond returned; // broadcast when a handler has returned
  LIST_HEAD(, csched_cancel_caller) callers;
} tree;

TAILQ_HEAD(handlers, csched_cancel_handler);

static tree trees[TREES];

static tree *lock_tree(uint32_t index) {
  csched_lock_lock(&trees[index].lock);
  return &trees[index];
}

static uint32_t flags_of(const csched_cancellation *cancellation) {
  return csched_load_acquire(&cancellation->flags_); // CN2: acquire; pairs with raise_locked
}

static void raise_locked(csched_cancellation *cancellation, uint32_t flag) {
  uint32_t flags = csched_load_relaxed(&cancellation->flags_); // CN2: changed under this lock only
  csched_store_release(&cancellation->flags_, flags | flag);   // CN2: release; pairs with flags_of
}

// MARK: forks

static void forget_callers(tree *tree) { // CN7: fork
  uint32_t self = csched_lock_self_();
  caller *each, *next;
  LIST_FOREACH_SAFE(each, &tree->callers, link, next) {
    csched_cancellation *due;
    if (each->thread == self) continue;
    TAILQ_FOREACH(due, &each->due, due_) due->caller_ = NULL;
    if (each->running != NULL) each->running->state_ = OVER;
    LIST_REMOVE(each, link);
  }
}

static void cancellation_at_fork(csched_atfork *atfork, csched_atfork_phase phase) { // CN7: fork
  (void)atfork;
  for (int i = 0; i < TREES; i++) {
    if (phase == CSCHED_ATFORK_BEFORE) csched_lock_lock(&trees[i].lock);
    if (phase == CSCHED_ATFORK_IN_PARENT) csched_lock_unlock(&trees[i].lock);
    if (phase == CSCHED_ATFORK_IN_CHILD_FIRST) trees[i].lock = (csched_lock)CSCHED_LOCK_INIT;
    if (phase == CSCHED_ATFORK_IN_CHILD) forget_callers(&trees[i]);
  }
}

static void be_told_of_forks(void) {
  static csched_atfork atfork;
  static uint32_t is_told; // Speed only: once it is 1, `atfork` is in the list, whose lock a fork takes
  if (CSCHED_LIKELY(csched_load_relaxed(&is_told) != 0)) return; // Speed only
  csched_os_atfork_(&atfork, cancellation_at_fork);
  csched_store_relaxed(&is_told, 1u); // Speed only
}

// MARK: the tree

bool csched_cancellation_init(csched_cancellation *cancellation, csched_cancellation *parent,
                              void (*gone)(csched_cancellation *)) {
  *cancellation = (csched_cancellation){.gone_ = gone};
  TAILQ_INIT(&cancellation->handlers_);
  TAILQ_INIT(&cancellation->children_);
  if (parent == NULL) {
    be_told_of_forks();
    cancellation->tree_ = (uint32_t)(csched_lock_hash_((const void *)cancellation) % TREES);
    return true;
  }
  cancellation->tree_ = parent->tree_;
  tree *tree = lock_tree(parent->tree_);
  uint32_t flags = flags_of(parent);
  if (flags & CANCELLED) {
    raise_locked(cancellation, CANCELLED); // CN2: from the start
  } else {
    cancellation->parent_ = parent;
    TAILQ_INSERT_TAIL(&parent->children_, cancellation, node_);
  }
  csched_lock_unlock(&tree->lock);
  return (flags & GONE) == 0;
}

// Walks the tree below `root`, parents first, without a stack. Returns: the node after `each`; NULL after the last.
static csched_cancellation *next_in_tree(csched_cancellation *each, const csched_cancellation *root) {
  csched_cancellation *next = TAILQ_FIRST(&each->children_);
  for (; next == NULL && each != root; each = each->parent_) next = TAILQ_NEXT(each, node_);
  return next;
}

void csched_cancellation_visit_(csched_cancellation *cancellation, void (*visit)(csched_cancellation *, void *),
                                void *context) {
  tree *tree = lock_tree(cancellation->tree_);
  for (csched_cancellation *each = cancellation; each != NULL; each = next_in_tree(each, cancellation))
    visit(each, context);
  csched_lock_unlock(&tree->lock);
}

// MARK: calling

static void call_locked(tree *tree, caller *self, csched_cancel_handler *handler) {
  handler->state_ = RUNNING; // CN1: no longer WAITING
  handler->caller_ = self->thread;
  self->running = handler;
  csched_lock_unlock(&tree->lock); // CN6: for user code
  handler->call(handler);
  csched_lock_lock(&tree->lock);
  self->running = NULL;
  void (*release)(csched_cancel_handler *) = handler->release;
  handler->state_ = OVER;
  csched_cond_broadcast(&tree->returned); // CN6: wakes take_back
  if (release == NULL) return;            // CN5: untouched after OVER
  csched_lock_unlock(&tree->lock);
  release(handler);
  csched_lock_lock(&tree->lock);
}

static void begin_calls_locked(tree *tree, caller *self) {
  *self = (caller){.thread = csched_lock_self_()};
  TAILQ_INIT(&self->due);
  LIST_INSERT_HEAD(&tree->callers, self, link);
}

static void mark_locked(csched_cancellation *cancellation, caller *self) {
  for (csched_cancellation *each = cancellation; each != NULL; each = next_in_tree(each, cancellation)) {
    if (flags_of(each) & CANCELLED) continue;
    raise_locked(each, CANCELLED); // CN2: before any call
    if (TAILQ_EMPTY(&each->handlers_)) continue;
    each->caller_ = self;
    TAILQ_INSERT_TAIL(&self->due, each, due_); // CN3: to be called
  }
}

void csched_cancellation_cancel(csched_cancellation *cancellation) {
  csched_cancellation *each;
  caller self;
  tree *tree = lock_tree(cancellation->tree_);
  if ((flags_of(cancellation) & CANCELLED) == 0) {
    begin_calls_locked(tree, &self);
    mark_locked(cancellation, &self);
    while ((each = TAILQ_FIRST(&self.due)) != NULL) { // CN3, CN4: nodes that have ended meanwhile are not due
      csched_cancel_handler *handler = TAILQ_FIRST(&each->handlers_);
      if (handler != NULL) {
        TAILQ_REMOVE(&each->handlers_, handler, node_);
        call_locked(tree, &self, handler);
      } else {
        each->caller_ = NULL;
        TAILQ_REMOVE(&self.due, each, due_);
      }
    }
    LIST_REMOVE(&self, link);
  }
  csched_lock_unlock(&tree->lock);
}

bool csched_cancellation_is_cancelled(const csched_cancellation *cancellation) {
  return (flags_of(cancellation) & CANCELLED) != 0;
}

bool csched_cancellation_is_over_(const csched_cancellation *cancellation) {
  return (flags_of(cancellation) & (CANCELLED | ENDED)) != 0;
}

// MARK: handlers

bool csched_cancellation_add(csched_cancellation *cancellation, csched_cancel_handler *handler) {
  tree *tree = lock_tree(cancellation->tree_);
  uint32_t flags = flags_of(cancellation);
  handler->of_ = cancellation;
  handler->tree_ = cancellation->tree_;
  if (flags & ENDED) {
    handler->state_ = OVER; // CN1: never called
  } else if (flags & CANCELLED) {
    caller self;
    begin_calls_locked(tree, &self);
    call_locked(tree, &self, handler); // CN1: at once
    LIST_REMOVE(&self, link);
  } else {
    handler->state_ = WAITING;
    TAILQ_INSERT_TAIL(&cancellation->handlers_, handler, node_);
  }
  csched_lock_unlock(&tree->lock);
  if (flags & ENDED && handler->release != NULL) handler->release(handler); // CN5: at once
  return (flags & (CANCELLED | ENDED)) == 0;
}

static bool take_back(csched_cancel_handler *handler, bool waits) {
  tree *tree = lock_tree(handler->tree_);
  bool waited = handler->state_ == WAITING;
  if (waited) {
    TAILQ_REMOVE(&handler->of_->handlers_, handler, node_);
    handler->state_ = OVER; // CN1: never called
  }
  while (waits && handler->state_ == RUNNING && handler->caller_ != csched_lock_self_())
    csched_cond_wait(&tree->returned, &tree->lock); // CN6: until the call has returned
  csched_lock_unlock(&tree->lock);
  if (waited && handler->release != NULL) handler->release(handler); // CN5: once
  return waited;
}

bool csched_cancellation_remove(csched_cancel_handler *handler) { return take_back(handler, false); }

bool csched_cancellation_remove_and_wait(csched_cancel_handler *handler) { return take_back(handler, true); }

bool csched_cancellation_handler_waits_(const csched_cancel_handler *handler) {
  tree *tree = lock_tree(handler->tree_);
  bool waits = handler->state_ <= WAITING;
  csched_lock_unlock(&tree->lock);
  return waits;
}

// MARK: the end

// Takes back all handlers, and moves those with a `release` to `taken`.
static void take_handlers_locked(csched_cancellation *cancellation, struct handlers *taken) {
  csched_cancel_handler *each;
  while ((each = TAILQ_FIRST(&cancellation->handlers_)) != NULL) {
    TAILQ_REMOVE(&cancellation->handlers_, each, node_);
    if (each->release != NULL) TAILQ_INSERT_TAIL(taken, each, node_); // CN5: released after the unlock
    each->state_ = OVER;                                              // CN1: taken back
  }
  if (cancellation->caller_ == NULL) return;
  TAILQ_REMOVE(&cancellation->caller_->due, cancellation, due_); // CN4: not due
  cancellation->caller_ = NULL;
}

// Takes the node, and ancestors that waited only for it, out of the tree. Returns: these, by `node_`, children first.
static csched_cancellation *leave_locked(csched_cancellation *cancellation) {
  csched_cancellation *first = NULL, **end = &first;
  for (csched_cancellation *each = cancellation, *parent; each != NULL; each = parent) {
    uint32_t flags = flags_of(each);
    if ((flags & (ENDED | GONE)) != ENDED || !TAILQ_EMPTY(&each->children_)) break; // CN4: not yet
    raise_locked(each, GONE);
    parent = each->parent_;
    each->parent_ = NULL;
    if (parent != NULL) TAILQ_REMOVE(&parent->children_, each, node_); // CN4: unlinked
    *end = each;
    end = &each->node_.tqe_next; // unused: the node has left its parent's list for good
  }
  *end = NULL;
  return first;
}

void csched_cancellation_end(csched_cancellation *cancellation) {
  struct handlers taken = TAILQ_HEAD_INITIALIZER(taken);
  csched_cancel_handler *handler, *next_handler;
  csched_cancellation *gone, *next_gone;
  tree *tree = lock_tree(cancellation->tree_);
  raise_locked(cancellation, ENDED);
  take_handlers_locked(cancellation, &taken);
  gone = leave_locked(cancellation);
  csched_lock_unlock(&tree->lock);
  TAILQ_FOREACH_SAFE(handler, &taken, node_, next_handler) handler->release(handler); // CN5: outside the lock
  for (; gone != NULL; gone = next_gone) {
    next_gone = gone->node_.tqe_next;
    if (gone->gone_ != NULL) gone->gone_(gone); // CN4: once
  }
}
