// A tree of cancellations: a cancel marks a cancellation (a node of the tree) and its descendants, and calls their
// handlers.
//
// States, all under the lock of the tree
//   flags     CANCELLED; ENDED: the owner has ended the node; GONE: ENDED and without children. No flag is cleared.
//             Flags are read without the lock
//   parent    the parent node, until this node is GONE
//   handler   NEW → WAITING (in `handlers`) → RUNNING (on a thread) → OVER; or WAITING → OVER: removed. A handler that
//             is OVER may be added again
//   caller    record of a thread that calls handlers: on the thread's stack, and in a list of the tree. `due`:
//             cancelled nodes with handlers to call
//
// Invariants
//   CN1  A handler is called at most once for each addition: by the cancel, or by the addition if the node is cancelled
//        already. No call of a handler starts after its removal, nor after the node's end.
//   CN2  All descendants of a cancelled node are cancelled, also nodes added later. A thread that sees CANCELLED sees
//        the writes before the cancel.
//   CN3  A cancel calls the handlers of all nodes that it marks. When the cancel returns, each handler that was WAITING
//        has been called or removed. A cancel of a node that is cancelled already returns at once.
//   CN4  A node becomes GONE once: when it is ENDED and has no children. Then it is in no `due` list, and its parent
//        does not link to it.
//   CN5  A handler is released once for each addition, after the final access to it here. Without a `release` the final
//        access is the change to OVER.
//   CN6  User code is called outside the lock. csched_cancellation_remove_and_wait returns after the handler's call;
//        inside that call, at once.
//   CN7  In a child of fork all locks are free. Only handlers that this thread calls are RUNNING. The `due` lists of
//        other threads are discarded.
//
// Orderings
//   flags: release by the cancel, pairs with flags_of's acquire, carries the writes before the cancel · all other
//   fields: by the lock
// Assumes: CV1 and CV3 of cond.c; descendants are in the same tree, and so under the same lock.
// Source: a context tree as in Go, where each node has a lock. Here a tree has one lock, which needs no lock order, and
//   no recheck.
// Models: checks/cancellation.c. Not modelled: CN7.

#include <CScheduler/cancellation.h>
#include <CScheduler/cond.h>
#include "../base/bsd.h"
#include "../base/panic.h"
#include "../platform/platform.h"
#include "../sync/lock_internal.h"

enum { CANCELLED = 1, ENDED = 2, GONE = 4 }; // bits of `flags_` of a node
enum { NEW, WAITING, RUNNING, OVER };        // values of `state_` of a handler
enum { TREES = 32 };                         // number of locks; a tree uses that of its root's address hash

// A thread that calls handlers: one record for each cancel or addition in progress, on the thread's stack.
typedef struct csched_cancel_caller {
  LIST_ENTRY(csched_cancel_caller) link; // in `callers` of the tree
  TAILQ_HEAD(, csched_cancellation) due; // cancelled nodes whose handlers this thread will call
  csched_cancel_handler *running;        // the handler that this thread calls now; NULL: none
  uint32_t thread;                       // csched_lock_self_() of the thread
} caller;

// The lock and the callers of all trees whose roots have the same address hash.
typedef struct tree {
  CSCHED_CACHE_ALIGNED csched_lock lock;
  csched_cond returned;                      // broadcast when a handler's `call` has returned
  LIST_HEAD(, csched_cancel_caller) callers; // the threads that call handlers now
} tree;

TAILQ_HEAD(handlers, csched_cancel_handler);

static tree trees[TREES]; // one entry serves several trees

static tree *lock_tree(uint32_t index) { // Returns: the locked entry of `trees`, for a `tree_` of a node or handler
  csched_lock_lock(&trees[index].lock);
  return &trees[index];
}

static uint32_t flags_of(const csched_cancellation *cancellation) {
  return csched_load_acquire(&cancellation->flags_); // CN2: sees what preceded the cancel; pairs with set_flag_locked
}

static void set_flag_locked(csched_cancellation *cancellation, uint32_t flag) {
  uint32_t flags = csched_load_relaxed(&cancellation->flags_); // CN2: only written under the tree's lock
  csched_store_release(&cancellation->flags_, flags | flag);   // CN2: publishes what preceded the cancel
}

// MARK: forks

// Does: in a child of fork, removes the callers that are threads of the parent. Their handlers count as returned.
static void remove_other_callers(tree *tree) { // CN7: only this thread's handlers are RUNNING
  uint32_t self = csched_lock_self_();
  caller *each, *next;
  LIST_FOREACH_SAFE(each, &tree->callers, link, next) {
    csched_cancellation *due;
    if (each->thread == self) continue;
    TAILQ_FOREACH(due, &each->due, call_node_) due->caller_ = NULL;
    if (each->running != NULL) each->running->state_ = OVER;
    LIST_REMOVE(each, link);
  }
}

static void cancellation_at_fork(csched_atfork *atfork, csched_atfork_phase phase) { // CN7: the child's locks are free
  (void)atfork;
  for (int i = 0; i < TREES; i++) {
    if (phase == CSCHED_ATFORK_BEFORE) csched_lock_lock(&trees[i].lock);
    if (phase == CSCHED_ATFORK_IN_PARENT) csched_lock_unlock(&trees[i].lock);
    if (phase == CSCHED_ATFORK_IN_CHILD_FIRST) trees[i].lock = (csched_lock)CSCHED_LOCK_INIT;
    if (phase == CSCHED_ATFORK_IN_CHILD) remove_other_callers(&trees[i]);
  }
}

static void register_atfork(void) {
  static csched_atfork atfork;   // entry in the fork list
  static uint32_t is_registered; // Speed only: skips the fork list's lock. 1: `atfork` is in the list
  if (CSCHED_LIKELY(csched_load_relaxed(&is_registered) != 0)) return; // Speed only: registered before
  csched_os_atfork_(&atfork, cancellation_at_fork);
  csched_store_relaxed(&is_registered, 1u); // Speed only: registering twice has no effect
}

// MARK: the tree

// Does: makes a node, which is cancelled if `parent` is. `gone`: called when the node is GONE. Returns: false: `parent`
// is GONE already.
bool csched_cancellation_init(csched_cancellation *cancellation, csched_cancellation *parent,
                              void (*gone)(csched_cancellation *)) {
  *cancellation = (csched_cancellation){.gone_ = gone};
  TAILQ_INIT(&cancellation->handlers_);
  TAILQ_INIT(&cancellation->children_);
  if (parent == NULL) {
    register_atfork();
    cancellation->tree_ = (uint32_t)(csched_lock_hash_((const void *)cancellation) % TREES);
    return true;
  }
  cancellation->tree_ = parent->tree_;
  tree *tree = lock_tree(parent->tree_);
  uint32_t flags = flags_of(parent);
  if (flags & CANCELLED) {
    set_flag_locked(cancellation, CANCELLED); // CN2: a child of a cancelled node is not linked, only marked
  } else {
    cancellation->parent_ = parent;
    TAILQ_INSERT_TAIL(&parent->children_, cancellation, node_);
  }
  csched_lock_unlock(&tree->lock);
  return (flags & GONE) == 0;
}

// Returns: the node after `each` in a walk over `root` and its descendants, parents first; NULL after the final node.
// The walk needs no stack.
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

// MARK: calling handlers

// Does: calls `handler`, and then its `release`. Both run without the lock. Requires: the lock; `handler` is in no
// list; `self` is in `callers`.
static void call_locked(tree *tree, caller *self, csched_cancel_handler *handler) {
  handler->state_ = RUNNING; // CN1: not WAITING any more: no second call
  handler->caller_ = self->thread;
  self->running = handler;
  csched_lock_unlock(&tree->lock); // CN6: user code runs unlocked
  handler->call(handler);
  csched_lock_lock(&tree->lock);
  self->running = NULL;
  void (*release)(csched_cancel_handler *) = handler->release;
  handler->state_ = OVER;
  csched_cond_broadcast(&tree->returned); // CN6: wakes threads in remove_handler
  if (release == NULL) return;            // CN5: `state_` = OVER was the final access
  csched_lock_unlock(&tree->lock);
  release(handler);
  csched_lock_lock(&tree->lock);
}

// Does: initialises `self` for this thread, and adds it to `callers`. The calling function removes `self` after the
// last call of a handler.
static void begin_calls_locked(tree *tree, caller *self) {
  *self = (caller){.thread = csched_lock_self_()};
  TAILQ_INIT(&self->due);
  LIST_INSERT_HEAD(&tree->callers, self, link);
}

// Does: marks the node and its descendants CANCELLED. Appends the newly marked nodes that have handlers to the list
// `due` of `self`.
static void mark_locked(csched_cancellation *cancellation, caller *self) {
  for (csched_cancellation *each = cancellation; each != NULL; each = next_in_tree(each, cancellation)) {
    if (flags_of(each) & CANCELLED) continue; // an earlier cancel of this node calls its handlers
    set_flag_locked(each, CANCELLED);         // CN2: all nodes, before any handler is called
    if (TAILQ_EMPTY(&each->handlers_)) continue;
    each->caller_ = self;
    TAILQ_INSERT_TAIL(&self->due, each, call_node_); // CN3: this cancel calls its handlers
  }
}

void csched_cancellation_cancel(csched_cancellation *cancellation) { // calls the handlers of the nodes it marks
  csched_cancellation *each;
  caller self;
  tree *tree = lock_tree(cancellation->tree_);
  if ((flags_of(cancellation) & CANCELLED) == 0) {
    begin_calls_locked(tree, &self);
    mark_locked(cancellation, &self);
    while ((each = TAILQ_FIRST(&self.due)) != NULL) { // CN3, CN4: anew each time: a handler may end nodes
      csched_cancel_handler *handler = TAILQ_FIRST(&each->handlers_); // NULL: all were called or removed
      if (handler != NULL) {
        TAILQ_REMOVE(&each->handlers_, handler, node_);
        call_locked(tree, &self, handler);
      } else {
        each->caller_ = NULL;
        TAILQ_REMOVE(&self.due, each, call_node_);
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

// Returns: true: `handler` waits for a cancel; false: it was called, because the node is cancelled, or only released,
// because the node has ended.
bool csched_cancellation_add(csched_cancellation *cancellation, csched_cancel_handler *handler) {
  CSCHED_NEEDS_FUNCTION_(handler->call, "csched_cancellation_add");
  tree *tree = lock_tree(cancellation->tree_);
  uint32_t flags = flags_of(cancellation);
  handler->cancellation_ = cancellation;
  handler->tree_ = cancellation->tree_; // a copy: a later removal must not read a cancellation that was freed
  if (flags & ENDED) {
    handler->state_ = OVER; // CN1: not called, because the node has ended
  } else if (flags & CANCELLED) {
    caller self;
    begin_calls_locked(tree, &self);
    call_locked(tree, &self, handler); // CN1: called by the addition
    LIST_REMOVE(&self, link);
  } else {
    handler->state_ = WAITING;
    TAILQ_INSERT_TAIL(&cancellation->handlers_, handler, node_);
  }
  csched_lock_unlock(&tree->lock);
  if (flags & ENDED && handler->release != NULL) handler->release(handler); // CN5: released uncalled
  return (flags & (CANCELLED | ENDED)) == 0;
}

// Does: removes `handler` if it is WAITING. If another thread is calling it and `waits`, waits for its return. Returns:
// whether it was WAITING.
static bool remove_handler(csched_cancel_handler *handler, bool waits) {
  tree *tree = lock_tree(handler->tree_);
  bool waited = handler->state_ == WAITING;
  if (waited) {
    TAILQ_REMOVE(&handler->cancellation_->handlers_, handler, node_);
    handler->state_ = OVER; // CN1: not called after the removal
  }
  while (waits && handler->state_ == RUNNING && handler->caller_ != csched_lock_self_())
    csched_cond_wait(&tree->returned, &tree->lock); // CN6: unless this thread is inside the call
  csched_lock_unlock(&tree->lock);
  if (waited && handler->release != NULL) handler->release(handler); // CN5: released uncalled
  return waited;
}

bool csched_cancellation_remove(csched_cancel_handler *handler) { return remove_handler(handler, false); }

bool csched_cancellation_remove_and_wait(csched_cancel_handler *handler) { return remove_handler(handler, true); }

bool csched_cancellation_handler_waits_(const csched_cancel_handler *handler) {
  tree *tree = lock_tree(handler->tree_);
  bool waits = handler->state_ <= WAITING; // NEW (not added yet) or WAITING
  csched_lock_unlock(&tree->lock);
  return waits;
}

// MARK: ending a node

// Does: removes the node's handlers, uncalled, and the node from the `due` list of a cancel. Moves handlers that have a
// `release` to `taken`.
static void remove_handlers_locked(csched_cancellation *cancellation, struct handlers *taken) {
  csched_cancel_handler *each;
  while ((each = TAILQ_FIRST(&cancellation->handlers_)) != NULL) {
    TAILQ_REMOVE(&cancellation->handlers_, each, node_);
    if (each->release != NULL) TAILQ_INSERT_TAIL(taken, each, node_); // CN5: released after the unlock
    each->state_ = OVER;                                              // CN1: not called after the node's end
  }
  if (cancellation->caller_ == NULL) return;
  TAILQ_REMOVE(&cancellation->caller_->due, cancellation, call_node_); // CN4: in no `due` list
  cancellation->caller_ = NULL;
}

// Does: makes the node GONE if it is ENDED and has no children; then its ancestors likewise. Returns: the nodes now
// GONE, linked by `node_`.
static csched_cancellation *unlink_gone_locked(csched_cancellation *cancellation) {
  csched_cancellation *first = NULL, **end = &first;
  for (csched_cancellation *each = cancellation, *parent; each != NULL; each = parent) {
    uint32_t flags = flags_of(each);
    if ((flags & (ENDED | GONE)) != ENDED || !TAILQ_EMPTY(&each->children_)) break; // CN4: not ready, or GONE before
    set_flag_locked(each, GONE);
    parent = each->parent_;
    each->parent_ = NULL;
    if (parent != NULL) TAILQ_REMOVE(&parent->children_, each, node_); // CN4: the parent may be GONE next
    *end = each;
    end = &each->node_.tqe_next; // links the result: the node is in no list of children any more
  }
  *end = NULL;
  return first;
}

void csched_cancellation_end(csched_cancellation *cancellation) { // no handler of the node is called any more
  struct handlers taken = TAILQ_HEAD_INITIALIZER(taken);
  csched_cancel_handler *handler, *next_handler;
  csched_cancellation *gone, *next_gone;
  tree *tree = lock_tree(cancellation->tree_);
  set_flag_locked(cancellation, ENDED);
  remove_handlers_locked(cancellation, &taken);
  gone = unlink_gone_locked(cancellation);
  csched_lock_unlock(&tree->lock);
  TAILQ_FOREACH_SAFE(handler, &taken, node_, next_handler) handler->release(handler); // CN5: unlocked: it may call back
  for (; gone != NULL; gone = next_gone) {
    next_gone = gone->node_.tqe_next;
    if (gone->gone_ != NULL) gone->gone_(gone); // CN4: once; it may free the node
  }
}
