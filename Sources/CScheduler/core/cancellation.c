// States, all under the lock of the tree
//   flags     CANCELLED, ENDED, and then GONE: all final. Set under the lock, and read without it
//   parent    what it is below, until it has GONE: ENDED, and without children
//   handler   NEW → WAITING, in `handlers` → RUNNING, on a thread → OVER; or WAITING → OVER: taken back. It may be added anew
//   caller    a thread that calls handlers: on its stack, and in the list of its tree. `due`: those cancelled by it that have handlers
//
// Obligations
//   CN1  A handler is called at most once for each addition, by the cancel or at once where that has been; not after it was taken back, nor after the
//        end.
//   CN2  What is below a cancelled one is cancelled: those that are there, and those that come. Who sees a cancel sees what was before it.
//   CN3  A cancel returns when no handler that waited at its beginning does: each was called here, or taken back.
//   CN4  One has gone, once, when it has ended and has no children; not while it is due, nor while it can be reached from its parent.
//   CN5  A handler is released once for each addition, when nothing here looks at it again; without a release nothing does after OVER.
//   CN6  User code is called outside of the lock. Who takes a handler back and waits returns after its call, and inside of that at once.
//   CN7  In a child of fork no lock is lost, and no handler is RUNNING but this thread's own; what another thread was about to call is not called.
//
// Orderings
//   flags: release by the cancel, pairs with the acquire of is_cancelled, carries what was before it · all else by the lock
// Assumes: CV1 and CV3 of cond.c; what is below one is in its tree, and so under the same lock.
// Source: a context tree, as Go's, whose cancels take a lock for each level; one lock for all of a tree needs no order of locks, and no second look.
// Checked by: "a cancelled tree calls its handlers in order, once", "a handler that is taken back is not called, and its call is waited for",
//   "a cancellation has gone when it and all below it have ended", "a tree of any depth is cancelled, and goes, without a stack of that depth",
//   "a cancellation that a handler ends is gone before the cancel comes to it",
//   "after fork a cancellation is cancelled, and no handler runs".
// Models: checks/cancellation.c. Not modelled: CN7.

#include <CScheduler/cancellation.h>

#include <CScheduler/cond.h>

#include "../platform/platform.h"
#include "bsd.h"
#include "lock_internal.h"

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
  csched_cond returned; // a handler has, for those that wait for that
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
  uint32_t flags = csched_load_relaxed(&cancellation->flags_); // CN2: under the lock, as all changes
  csched_store_release(&cancellation->flags_, flags | flag);   // CN2: release; pairs with flags_of
}

// MARK: forks

static void forget_callers(tree *tree) { // CN7
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

static void told_of_fork(csched_atfork *atfork, csched_atfork_phase phase) { // CN7
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
  static uint32_t is_told; // Speed only: who sees it finds `atfork` in the list, whose lock a fork takes
  if (CSCHED_LIKELY(csched_load_relaxed(&is_told) != 0)) return; // Speed only
  csched_os_atfork_(&atfork, told_of_fork);
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
    raise_locked(cancellation, CANCELLED); // CN2
  } else {
    cancellation->parent_ = parent;
    TAILQ_INSERT_TAIL(&parent->children_, cancellation, node_);
  }
  csched_lock_unlock(&tree->lock);
  return (flags & GONE) == 0;
}

// Returns: what comes after `each` among all that is below `root`, a parent first; NULL: it was the last.
static csched_cancellation *next(csched_cancellation *each, const csched_cancellation *root) {
  csched_cancellation *next = TAILQ_FIRST(&each->children_);
  for (; next == NULL && each != root; each = each->parent_) next = TAILQ_NEXT(each, node_);
  return next;
}

void csched_cancellation_visit_(csched_cancellation *cancellation, void (*visit)(csched_cancellation *, void *),
                                void *context) {
  tree *tree = lock_tree(cancellation->tree_);
  for (csched_cancellation *each = cancellation; each != NULL; each = next(each, cancellation)) visit(each, context);
  csched_lock_unlock(&tree->lock);
}

// MARK: calling

static void call_locked(tree *tree, caller *self, csched_cancel_handler *handler) {
  handler->state_ = RUNNING; // CN1
  handler->caller_ = self->thread;
  self->running = handler;
  csched_lock_unlock(&tree->lock); // CN6
  handler->call(handler);
  csched_lock_lock(&tree->lock);
  self->running = NULL;
  void (*release)(csched_cancel_handler *) = handler->release;
  handler->state_ = OVER;
  csched_cond_broadcast(&tree->returned); // CN6
  if (release == NULL) return;            // CN5
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
  for (csched_cancellation *each = cancellation; each != NULL; each = next(each, cancellation)) {
    if (flags_of(each) & CANCELLED) continue;
    raise_locked(each, CANCELLED); // CN2
    if (TAILQ_EMPTY(&each->handlers_)) continue;
    each->caller_ = self;
    TAILQ_INSERT_TAIL(&self->due, each, due_); // CN3
  }
}

void csched_cancellation_cancel(csched_cancellation *cancellation) {
  csched_cancellation *each;
  caller self;
  tree *tree = lock_tree(cancellation->tree_);
  if ((flags_of(cancellation) & CANCELLED) == 0) {
    begin_calls_locked(tree, &self);
    mark_locked(cancellation, &self);
    while ((each = TAILQ_FIRST(&self.due)) != NULL) { // CN3, CN4: what has ended meanwhile is not there
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
    handler->state_ = OVER; // CN1
  } else if (flags & CANCELLED) {
    caller self;
    begin_calls_locked(tree, &self);
    call_locked(tree, &self, handler); // CN1
    LIST_REMOVE(&self, link);
  } else {
    handler->state_ = WAITING;
    TAILQ_INSERT_TAIL(&cancellation->handlers_, handler, node_);
  }
  csched_lock_unlock(&tree->lock);
  if (flags & ENDED && handler->release != NULL) handler->release(handler); // CN5
  return (flags & (CANCELLED | ENDED)) == 0;
}

static bool take_back(csched_cancel_handler *handler, bool waits) {
  tree *tree = lock_tree(handler->tree_);
  bool waited = handler->state_ == WAITING;
  if (waited) {
    TAILQ_REMOVE(&handler->of_->handlers_, handler, node_);
    handler->state_ = OVER; // CN1
  }
  while (waits && handler->state_ == RUNNING && handler->caller_ != csched_lock_self_())
    csched_cond_wait(&tree->returned, &tree->lock); // CN6
  csched_lock_unlock(&tree->lock);
  if (waited && handler->release != NULL) handler->release(handler); // CN5
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

// Moves the handlers that have a release to `taken`.
static void take_handlers_locked(csched_cancellation *cancellation, struct handlers *taken) {
  csched_cancel_handler *each;
  while ((each = TAILQ_FIRST(&cancellation->handlers_)) != NULL) {
    TAILQ_REMOVE(&cancellation->handlers_, each, node_);
    if (each->release != NULL) TAILQ_INSERT_TAIL(taken, each, node_); // CN5
    each->state_ = OVER;                                              // CN1
  }
  if (cancellation->caller_ == NULL) return;
  TAILQ_REMOVE(&cancellation->caller_->due, cancellation, due_); // CN4
  cancellation->caller_ = NULL;
}

// Takes what has gone out of the tree. Returns: that, linked by `node`; a child first.
static csched_cancellation *leave_locked(csched_cancellation *cancellation) {
  csched_cancellation *first = NULL, **end = &first;
  for (csched_cancellation *each = cancellation, *parent; each != NULL; each = parent) {
    uint32_t flags = flags_of(each);
    if ((flags & (ENDED | GONE)) != ENDED || !TAILQ_EMPTY(&each->children_)) break; // CN4
    raise_locked(each, GONE);
    parent = each->parent_;
    each->parent_ = NULL;
    if (parent != NULL) TAILQ_REMOVE(&parent->children_, each, node_); // CN4
    *end = each;
    end = &each->node_.tqe_next; // it is nobody's child any more, and never will be
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
  TAILQ_FOREACH_SAFE(handler, &taken, node_, next_handler) handler->release(handler); // CN5
  for (; gone != NULL; gone = next_gone) {
    next_gone = gone->node_.tqe_next;
    if (gone->gone_ != NULL) gone->gone_(gone); // CN4
  }
}
