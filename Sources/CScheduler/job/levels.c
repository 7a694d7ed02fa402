// The list of context frames (`csched_level`) of each thread, and the search for those that were unwound: see levels_internal.h.
//
// The list is linked in advance, in memory from the system that lives until the thread ends. To begin a context frame is to step to the next
// entry. A full list grows by a block. Without memory a context frame lies in the stack frame that begins it; csched_level_top_ is then
// csched_level_lost_, which leads all callers to the slow paths. Such a frame is not ended when its thread ends, nor after a longjmp.
//
// A stack frame is gone when a call comes from above it: the stack grows downwards, and a function's callees are below it. That holds on one
// stack only. A thread may run on another one for a while: a fiber's, a coroutine's or a signal handler's. Addresses on two stacks are not
// comparable. So a stack frame counts as gone only if it and the caller are both on the thread's own stack.
//   caller     the caller's address on the stack (CSCHED_CALLER_FRAME): the same for all its calls
//   frame      the lowest address of the stack frame (CSCHED_OWN_FRAME): calls from that stack frame come from this address, or from below
// A call from deeper than the lost stack frame cannot be distinguished from a call inside it.

#include "levels_internal.h"

#include "../base/dump_slots.h"
#include "../platform/platform.h"
#include "job_internal.h"
#include "observed.h"

enum { BLOCK = 16 };
static const uintptr_t NEVER = UINTPTR_MAX; // never gone: it ends with the context frame around it

typedef struct block {
  csched_level levels[BLOCK];
  struct block *more;
} block;

typedef struct thread_levels {
  csched_recorder recorder;
  block first;
  csched_level *last;
  csched_level **top;     // the thread's csched_level_top_; NULL: the thread is in the parent
  uint32_t thread;        // the system's number
  csched_dump_slot *slot; // NULL: none was free
  csched_dump_wait wait;
  struct csched_observer *observer; // NULL until it is observed
  csched_discards_here discards;
  uintptr_t stack_low, stack_high; // both 0: unknown yet
  csched_atfork atfork;
} thread_levels;

static csched_level none = {.frame = UINTPTR_MAX}; // never written
csched_level csched_level_lost_;                   // never written

CSCHED_TLS_FAST CSCHED_THREAD_LOCAL csched_level *csched_level_top_ = &none;

static CSCHED_TLS_FAST CSCHED_THREAD_LOCAL csched_level *on_stack; // the innermost context frame, if there

// The first member of thread_levels is the thread's recorder.
static thread_levels *mine(void) {
  csched_recorder *recorder = csched_recorder_here_;
  return recorder != &csched_recorder_none_ ? (thread_levels *)recorder : NULL;
}

csched_level *csched_level_here_slow_(void) { return on_stack; }

// MARK: frames

static bool is_on_own_stack(uintptr_t address) {
  uintptr_t low = mine() != NULL ? mine()->stack_low : 0, high = mine() != NULL ? mine()->stack_high : 0;
  if (high == 0) {
    csched_os_stack_(&low, &high);
    if (high == 0) low = high = 1; // unknown: nothing counts as gone
    if (mine() != NULL) mine()->stack_low = low, mine()->stack_high = high;
  }
  return low <= address && address < high;
}

static bool is_gone(uintptr_t frame, uintptr_t caller) {
  return frame < caller && is_on_own_stack(frame) && is_on_own_stack(caller);
}

// MARK: memory

static void link_block(block *block, csched_level *outer) {
  for (int i = 0; i < BLOCK; i++) {
    block->levels[i] = (csched_level){.outer = i > 0 ? &block->levels[i - 1] : outer};
    if (i > 0) block->levels[i - 1].next = &block->levels[i];
  }
  block->more = NULL;
}

static void levels_at_fork(csched_atfork *atfork, csched_atfork_phase phase) {
  thread_levels *levels = (thread_levels *)((char *)atfork - offsetof(thread_levels, atfork));
  if (phase == CSCHED_ATFORK_BEFORE && levels == mine())
    is_on_own_stack(0); // stores the bounds: the child takes this for its main thread
  if (phase == CSCHED_ATFORK_IN_CHILD && levels == mine()) {
    levels->thread = csched_os_thread_id_();
    csched_dump_give_slot_(levels->slot);
    levels->slot = csched_dump_take_slot_(levels->thread, levels->top, &levels->recorder);
  }
  if (phase != CSCHED_ATFORK_IN_CHILD || levels == mine() || levels->top == NULL) return;
  csched_level *each = *levels->top != &csched_level_lost_ ? *levels->top : levels->last;
  for (; each->outer != NULL; each = each->outer)
    if (each->job != NULL) csched_job_orphan_(each->job);
  levels->top = NULL; // its thread-local memory is used again
  csched_dump_give_slot_(levels->slot);
}

static csched_tsd key;

static void levels_thread_ends(void *value) {
  csched_levels_end_thread_();
  if (value == mine()) csched_levels_free_();
}

void csched_levels_free_(void) {
  thread_levels *levels = mine();
  if (levels == NULL || csched_level_top_ != &levels->first.levels[0]) return;
  csched_level_top_ = &none;
  csched_recorder_here_ = &csched_recorder_none_;
  csched_tsd_set_(&key, NULL, levels_thread_ends); // the thread has a slot already, so it cannot fail
  csched_os_atfork_end_(&levels->atfork);
  csched_dump_give_slot_(levels->slot);
  if (levels->observer != NULL) csched_observe_hooks_->leave(levels->observer);
  csched_recorder_free_(&levels->recorder);
  for (block *each = levels->first.more, *more; each != NULL; each = more) {
    more = each->more;
    csched_os_memory_give_(each, sizeof *each);
  }
  csched_os_memory_give_(levels, sizeof *levels);
}

// Makes this thread's list. The first entry is a sentinel. Returns: whether there was memory.
static bool make_levels(void) {
  thread_levels *levels = csched_os_memory_take_(sizeof *levels);
  if (levels == NULL) return false;
  if (csched_tsd_set_(&key, levels, levels_thread_ends) != 0) {
    csched_os_memory_give_(levels, sizeof *levels);
    return false;
  }
  link_block(&levels->first, NULL);
  levels->first.levels[0].frame = NEVER;
  levels->last = &levels->first.levels[BLOCK - 1];
  levels->top = &csched_level_top_;
  levels->thread = csched_os_thread_id_();
  levels->slot = csched_dump_take_slot_(levels->thread, levels->top, &levels->recorder);
  csched_recorder_begin_(&levels->recorder);
  csched_recorder_here_ = &levels->recorder;
  csched_level_top_ = &levels->first.levels[0];
  csched_os_atfork_(&levels->atfork, levels_at_fork);
  return true;
}

static bool grow(void) {
  block *more = csched_os_memory_take_(sizeof *more);
  if (more == NULL) return false;
  link_block(more, mine()->last);
  more->more = mine()->first.more;
  mine()->first.more = more;
  mine()->last->next = &more->levels[0];
  mine()->last = &more->levels[BLOCK - 1];
  return true;
}

// MARK: beginning and ending

csched_level *csched_level_make_next_(void) {
  bool is_there = csched_level_top_->next != NULL;
  if (!is_there && csched_level_top_ != &csched_level_lost_) is_there = mine() == NULL ? make_levels() : grow();
  return is_there ? csched_level_top_->next : NULL;
}

csched_level *csched_level_begin_slow_(csched_level *spare, uintptr_t frame, csched_job *job,
                                       struct csched_target *target) {
  if (csched_level_make_next_() != NULL) return csched_level_begin_(spare, frame, job, target);
  if (spare == NULL) return NULL;
  *spare = (csched_level){frame, job, target, csched_level_here_(), NULL};
  spare->next = spare; // marks a context frame on the stack
  csched_level_top_ = &csched_level_lost_;
  return on_stack = spare;
}

static void set_top(csched_level *level) {
  bool is_on_stack = level->next == level;
  on_stack = is_on_stack ? level : NULL;
  csched_level_top_ = is_on_stack ? &csched_level_lost_ : level;
}

// Ends the context frames inside `outer`, the innermost first; unless `all`, a job only if its stack frame is gone.
static void leave_all(csched_level *outer, uintptr_t caller, bool all) {
  csched_level *level = csched_level_here_();
  for (csched_level *each = level; each != outer; each = each->outer) {
    if (!all && !is_gone(each->frame, caller)) each->job = NULL; // it may live on a fiber
    each->target = outer->target;                                // a `release` may read the current one
    each->frame = NEVER;                                         // no later look finds it again
  }
  for (; level != outer; level = level->outer) {
    csched_job *job = level->job;
    set_top(level);
    level->job = NULL;
    if (job != NULL && !is_gone((uintptr_t)job, caller)) csched_job_left_(job); // else its memory is gone, too
  }
  set_top(outer);
}

// Removes the context frames that lie on the stack, if they are gone and cannot be read.
static void forget_lost(uintptr_t caller) {
  if (on_stack == NULL || !is_gone((uintptr_t)on_stack, caller)) return;
  set_top(mine() != NULL ? mine()->last : &none);
}

CSCHED_NOINLINE csched_level *csched_level_recover_(uintptr_t caller) {
  forget_lost(caller);
  csched_level *outer = csched_level_here_();
  while (outer->outer != NULL && is_gone(outer->frame, caller)) outer = outer->outer;
  if (outer != csched_level_here_()) leave_all(outer, caller, true);
  return outer;
}

static bool is_here(const csched_level *level) {
  const csched_level *each = csched_level_here_();
  while (each != NULL && each != level) each = each->outer;
  return each != NULL;
}

CSCHED_NOINLINE void csched_level_end_slow_(csched_level *level) {
  uintptr_t caller = CSCHED_CALLER_FRAME();
  forget_lost(caller);
  if (is_here(level)) { // else a look has found that it was unwound
    leave_all(level, caller, false);
    level->job = NULL;
    set_top(level->outer);
  }
}

CSCHED_NOINLINE void csched_level_leave_inner_(csched_level *level) {
  uintptr_t caller = CSCHED_CALLER_FRAME();
  forget_lost(caller);
  if (is_here(level)) leave_all(level, caller, false);
}

CSCHED_NOINLINE void csched_scope_end_(csched_scope *scope) {
  if (CSCHED_LIKELY(scope->level == NULL)) return;
  uintptr_t caller = CSCHED_CALLER_FRAME();
  if (scope->level == &scope->spare && csched_level_top_ == &csched_level_lost_)
    on_stack = scope->level; // those inside it may be gone
  else forget_lost(caller);
  if (is_here(scope->level)) leave_all(scope->level->outer, caller, true);
  scope->level = NULL;
}

CSCHED_NOINLINE void csched_level_leave_(const csched_job *job) {
  csched_level *outermost = NULL;
  for (csched_level *each = csched_level_here_(); each->outer != NULL; each = each->outer)
    if (each->job == job) outermost = each;
  if (outermost != NULL) leave_all(outermost->outer, CSCHED_CALLER_FRAME(), true);
}

CSCHED_NOINLINE void csched_levels_end_thread_(void) {
  if (on_stack != NULL) set_top(mine() != NULL ? mine()->last : &none);
  if (mine() != NULL) leave_all(&mine()->first.levels[0], CSCHED_CALLER_FRAME(), true);
}

csched_discards_here *csched_levels_discards_(void) {
  if (mine() == NULL) csched_level_make_next_();
  return mine() != NULL ? &mine()->discards : NULL;
}

struct csched_observer **csched_levels_observer_(void) {
  return mine() != NULL ? &mine()->observer : NULL;
}

// MARK: inspection by other threads

csched_dump_wait *csched_level_wait_(void) {
  if (mine() == NULL) csched_level_make_next_();
  return mine() != NULL ? &mine()->wait : NULL;
}

bool csched_levels_look_(const csched_atfork *atfork, csched_levels_seen *seen) {
  const thread_levels *levels = (const thread_levels *)((const char *)atfork - offsetof(thread_levels, atfork));
  if (atfork->handler != levels_at_fork || levels->top == NULL) return false;
  csched_level *each = NULL, copy;
  seen->thread = levels->thread;
  seen->wait = &levels->wait;
  seen->recorder = &levels->recorder;
  seen->count = 0;
  csched_os_peek_(&each, levels->top, sizeof each);
  while (each != NULL && each != &none && each != &csched_level_lost_ && seen->count < CSCHED_LEVELS_SEEN &&
         csched_os_peek_(&copy, each, sizeof copy) && copy.outer != NULL) {
    seen->levels[seen->count++] = copy;
    each = copy.outer;
  }
  return true;
}
