// The list of context frames of each thread, and the search for those that were unwound: see frames_internal.h.
//
// The entries of the list are allocated and linked in advance, and freed at the end of the thread. To begin a context
// frame, csched_frame_top_ moves to the next entry. A full list grows by a block. Without memory, a context frame lies
// in its function's stack frame. Then csched_frame_top_ is csched_frame_on_stack_, so that all callers take slow paths.
// At thread exit or longjmp, such a context frame does not end its job.
//
// A stack frame is "gone" when its function has returned or was unwound. The stack grows downwards, and callees are
// below their caller. So a stack frame is gone if the current caller is above it. This holds on one stack only: a
// thread may also run on the stack of a fiber, coroutine or signal handler. So a stack frame counts as gone only if it
// and the caller are both on the thread's own stack.
//   caller     the caller's address on the stack (CSCHED_CALLER_FRAME): equal for all calls by that stack frame
//   address    the lowest address of the stack frame that began a context frame (CSCHED_OWN_FRAME): its callees are at
//              this address or below
// Limit: a call from below a stack frame that is gone looks like a call inside that stack frame.

#include "frames_internal.h"

#include "../base/dump_slots.h"
#include "../platform/platform.h"
#include "job_internal.h"
#include "observed.h"

enum { BLOCK = 16 };                        // context frames in a block
static const uintptr_t NEVER = UINTPTR_MAX; // `address` of a context frame that must never count as unwound

// An entry of a thread's list. The fields after `frame` are of csched_frame_continue_.
typedef struct entry {
  csched_frame frame;
  const void
      *continuing; // the `context` of the jobs that a call inside of `frame` delivers; NULL: there is no such call
  void (*deliver)(csched_job *); // the function of that call
  uintptr_t call;                // the stack address of that call
  csched_job *due, *last_due;    // list of the jobs that the call delivers next
} entry;

_Static_assert(offsetof(entry, frame) == 0, "entry_of is a cast");

typedef struct block {
  entry entries[BLOCK];
  struct block *more; // the block that was allocated before this one
} block;

typedef struct thread_frames {
  csched_recorder recorder;
  block first;
  csched_frame *last;               // the final entry of the list
  csched_frame **top;               // address of the thread's csched_frame_top_; NULL: the thread is in the parent
  uint32_t thread;                  // the system's thread number
  csched_dump_slot *slot;           // makes the list visible to dumps by a signal handler; NULL: no slot was free
  csched_dump_wait wait;            // what the thread waits for
  struct csched_observer *observer; // NULL until the thread is observed
  csched_postponed_drops discards;  // jobs whose discard the thread has postponed
  const csched_job *refused;        // see csched_frames_note_refused_
  uintptr_t stack_low, stack_high;  // both 0: not computed yet
  csched_atfork atfork;             // also makes the list visible to dumps: csched_os_atfork_visit_
} thread_frames;

// Two sentinels, never written: no_list for a thread without a list, csched_frame_on_stack_ while the innermost context
// frame lies on the stack. Their `next` NULL, and the `address` 0 of the second one, make the inline functions call the
// slow ones.
static csched_frame no_list = {.address = UINTPTR_MAX};
csched_frame csched_frame_on_stack_;

CSCHED_TLS_FAST CSCHED_THREAD_LOCAL csched_frame *csched_frame_top_ = &no_list;

static CSCHED_TLS_FAST CSCHED_THREAD_LOCAL csched_frame *on_stack; // innermost context frame if on the stack, or NULL

// Returns: this thread's list; NULL before its first context frame. csched_recorder_here_ points to the list's first
// member.
static thread_frames *own_frames(void) {
  csched_recorder *recorder = csched_recorder_here_;
  return recorder != &csched_recorder_none_ ? (thread_frames *)recorder : NULL;
}

// Returns: the first entry of the list `frames`, in which no job runs.
static csched_frame *sentinel_of(thread_frames *frames) { return &frames->first.entries[0].frame; }

csched_frame *csched_frame_here_slow_(void) { return on_stack; }

// MARK: stack frames

// Returns: whether `address` is on the thread's own stack, whose bounds are stored in the thread's list.
static bool is_on_own_stack(uintptr_t address) {
  uintptr_t low = own_frames() != NULL ? own_frames()->stack_low : 0,
            high = own_frames() != NULL ? own_frames()->stack_high : 0;
  if (high == 0) {
    csched_os_thread_get_stack_(&low, &high);
    if (high == 0) low = high = 1; // unknown: an empty range, so that no stack frame counts as gone
    if (own_frames() != NULL) own_frames()->stack_low = low, own_frames()->stack_high = high;
  }
  return low <= address && address < high;
}

// Returns: whether the stack frame at `address` is gone: `caller`, which runs now, is above it.
static bool is_gone(uintptr_t address, uintptr_t caller) {
  return address < caller && is_on_own_stack(address) && is_on_own_stack(caller);
}

// MARK: memory

// Does: links the entries of a new `block` behind `outer`, the final entry of the list so far (NULL: none). The caller
// sets `outer->next`.
static void link_block(block *block, csched_frame *outer) {
  for (int i = 0; i < BLOCK; i++) {
    block->entries[i] = (entry){.frame = {.outer = i > 0 ? &block->entries[i - 1].frame : outer}};
    if (i > 0) block->entries[i - 1].frame.next = &block->entries[i].frame;
  }
  block->more = NULL;
}

// Returns: the innermost context frame of a list of another thread. It is the sentinel if that thread has ended: a
// thread that makes its list in the last round of its destructors leaves it behind, with `top` in memory that is freed,
// or is another thread's by now.
static csched_frame *top_of(thread_frames *frames) {
  csched_frame *top = NULL, *own = NULL;
  if (!csched_os_copy_if_mapped_(&top, frames->top, sizeof top)) {
    bool may_copy = csched_os_copy_if_mapped_(&own, &top, sizeof top); // else system calls are filtered
    top = may_copy ? NULL : *frames->top;
  }
  if (top == &csched_frame_on_stack_) return frames->last; // its on_stack is unknown
  for (const block *each = &frames->first; each != NULL; each = each->more)
    if ((uintptr_t)top - (uintptr_t)each->entries < sizeof each->entries) return top;
  return sentinel_of(frames);
}

// Atfork handler of one thread's list. Before the fork it stores the stack's bounds: in the child, this thread counts
// as the main thread, whose stack was another. In the child, its list gets a new thread number and dump slot. Other
// threads' lists become hidden, and their jobs orphaned.
static void frames_at_fork(csched_atfork *atfork, csched_atfork_phase phase) {
  thread_frames *frames = (thread_frames *)((char *)atfork - offsetof(thread_frames, atfork));
  if (phase == CSCHED_ATFORK_BEFORE && frames == own_frames()) is_on_own_stack(0); // stores the bounds
  if (phase == CSCHED_ATFORK_IN_CHILD && frames == own_frames()) {
    frames->thread = csched_os_thread_id_();
    csched_dump_remove_thread_(frames->slot); // the old slot has the thread number of the parent
    frames->slot = csched_dump_add_thread_(frames->thread, frames->top, &frames->recorder);
  }
  if (phase != CSCHED_ATFORK_IN_CHILD || frames == own_frames() || frames->top == NULL) return;
  for (csched_frame *each = top_of(frames); each->outer != NULL; each = each->outer) // until the sentinel
    if (each->job != NULL) csched_job_orphan_(each->job);
  frames->top = NULL; // it pointed to memory of a thread of the parent; NULL also skips this list at the next fork
  csched_dump_remove_thread_(frames->slot);
}

static csched_tsd key; // its destructor, frames_thread_ends, runs at the end of a thread that has a list

static void frames_thread_ends(void *value) {
  csched_frames_end_thread_();                      // first: its jobs' `release` may still use the list
  if (value == own_frames()) csched_frames_free_(); // else that list is freed already
}

void csched_frames_free_(void) {
  thread_frames *frames = own_frames();
  if (frames == NULL || csched_frame_top_ != sentinel_of(frames)) return; // inside a context frame: in use
  csched_frame_top_ = &no_list; // from here on the calls below find no list on this thread
  csched_recorder_here_ = &csched_recorder_none_;
  csched_tsd_set_(&key, NULL, frames_thread_ends); // cannot fail: the thread's value exists already
  csched_os_atfork_end_(&frames->atfork);
  csched_dump_remove_thread_(frames->slot);
  if (frames->observer != NULL) csched_observe_hooks_->leave(frames->observer);
  csched_recorder_free_(&frames->recorder);
  for (block *each = frames->first.more, *more; each != NULL; each = more) {
    more = each->more;
    csched_os_memory_free_(each, sizeof *each);
  }
  csched_os_memory_free_(frames, sizeof *frames);
}

// Does: allocates this thread's list, whose first entry is a sentinel. Returns: false without memory, or without a key
// for the destructor.
static bool make_frames(void) {
  thread_frames *frames = csched_os_memory_allocate_(sizeof *frames);
  if (frames == NULL) return false;
  if (csched_tsd_set_(&key, frames, frames_thread_ends) != 0) {
    csched_os_memory_free_(frames, sizeof *frames);
    return false;
  }
  link_block(&frames->first, NULL);
  sentinel_of(frames)->address = NEVER; // the sentinel is never unwound
  frames->last = &frames->first.entries[BLOCK - 1].frame;
  frames->top = &csched_frame_top_;
  frames->thread = csched_os_thread_id_();
  frames->slot = csched_dump_add_thread_(frames->thread, frames->top, &frames->recorder);
  csched_recorder_begin_(&frames->recorder);
  csched_recorder_here_ = &frames->recorder;
  csched_frame_top_ = sentinel_of(frames);
  csched_os_atfork_(&frames->atfork, frames_at_fork); // last: from here on other threads' dumps and forks read it
  return true;
}

// Does: allocates more entries for this thread's list, which is full. Returns: false without memory.
static bool add_block(void) {
  block *more = csched_os_memory_allocate_(sizeof *more);
  if (more == NULL) return false;
  link_block(more, own_frames()->last);
  more->more = own_frames()->first.more;
  own_frames()->first.more = more;
  own_frames()->last->next = &more->entries[0].frame;
  own_frames()->last = &more->entries[BLOCK - 1].frame;
  return true;
}

// MARK: jobs that continue

// Returns: the entry of `frame`; NULL: `frame` is in no entry, because it lies on the stack, or is a sentinel without a
// list, or NULL.
static entry *entry_of(csched_frame *frame) {
  return frame != NULL && frame != &no_list && frame->next != frame ? (entry *)frame : NULL;
}

static csched_job *pop_due(entry *entry) {
  csched_job *job = entry->due;
  if (job != NULL) entry->due = job->next;
  return job;
}

static void append_due(entry *entry, csched_job *jobs) { // a list
  if (entry->due == NULL) entry->due = jobs;
  else entry->last_due->next = jobs;
  while (jobs->next != NULL) jobs = jobs->next;
  entry->last_due = jobs;
}

// Returns: whether a call in the context frame of `entry` delivers jobs of `context` by `deliver`.
static bool is_continuing(const entry *entry, void (*deliver)(csched_job *job), const void *context) {
  return entry != NULL && entry->continuing == context && entry->deliver == deliver;
}

// Does: ends the call in the context frame of `own`, and delivers the jobs that it has left.
static void end_continuing(entry *own) {
  csched_job *due = own->due;
  own->continuing = NULL;
  own->due = NULL;
  if (due != NULL) csched_frame_continue_(own->deliver, due);
}

// Does: if a call in the context frame of `own` continues with `context`, lists `jobs` for it. If a call there was
// unwound, ends it. Returns: whether it has listed `jobs`.
static bool lists_due(entry *own, void (*deliver)(csched_job *job), csched_job *jobs, uintptr_t caller) {
  if (own == NULL || own->continuing == NULL) return false;
  bool is_same = is_continuing(own, deliver, jobs->context);
  if (is_same) append_due(own, jobs);
  if (is_gone(own->call, caller)) end_continuing(own);
  return is_same;
}

// The call around this one, if it delivers jobs of the same `context`, began in this context frame, or in the one
// around it: `deliver` has performed its job in a context frame, which csched_target_perform_ ends after the job's
// `release`.
CSCHED_NOINLINE void csched_frame_continue_(void (*deliver)(csched_job *job), csched_job *jobs) {
  const void *context = jobs->context;
  uintptr_t caller = CSCHED_CALLER_FRAME();
  entry *inner = entry_of(csched_frame_here_()), *outer = inner != NULL ? entry_of(inner->frame.outer) : NULL;
  if (lists_due(outer, deliver, jobs, caller) || lists_due(inner, deliver, jobs, caller)) return;
  if (inner != NULL && inner->continuing == NULL) {
    inner->continuing = context;
    inner->deliver = deliver;
    inner->call = CSCHED_OWN_FRAME();
    append_due(inner, jobs);
    // A `deliver` on a fiber may return after another call has removed its context frame, and has delivered `due`. Then
    // the entry may have another use.
    while (is_continuing(inner, deliver, context) && (jobs = pop_due(inner)) != NULL) deliver(jobs);
    if (is_continuing(inner, deliver, context)) inner->continuing = NULL;
  } else { // without memory, or a call for another context delivers here: not flat
    for (csched_job *next; jobs != NULL; jobs = next) {
      next = jobs->next;
      deliver(jobs);
    }
  }
}

bool csched_frame_has_due_(const csched_job *job) {
  for (csched_frame *each = csched_frame_here_(); each != NULL; each = each->outer) {
    const csched_job *due = entry_of(each) != NULL ? entry_of(each)->due : NULL;
    while (due != NULL && due != job) due = due->next;
    if (due != NULL) return true;
  }
  return false;
}

// MARK: beginning and ending

csched_frame *csched_frame_make_next_(void) {
  bool has_next = csched_frame_top_->next != NULL;
  if (!has_next && csched_frame_top_ != &csched_frame_on_stack_) // inside a context frame on the stack, all lie there
    has_next = own_frames() == NULL ? make_frames() : add_block();
  return has_next ? csched_frame_top_->next : NULL;
}

csched_frame *csched_frame_begin_slow_(csched_frame *spare, uintptr_t address, csched_job *job,
                                       struct csched_target *target) {
  if (csched_frame_make_next_() != NULL) return csched_frame_begin_(spare, address, job, target);
  if (spare == NULL) return NULL; // no memory, and the caller has no place on its stack
  *spare = (csched_frame){address, job, target, csched_frame_here_(), NULL};
  spare->next = spare; // marks a context frame on the stack
  csched_frame_top_ = &csched_frame_on_stack_;
  return on_stack = spare;
}

// Does: makes `frame` the innermost context frame of this thread.
static void set_top(csched_frame *frame) {
  bool is_on_stack = frame->next == frame; // the mark of csched_frame_begin_slow_
  on_stack = is_on_stack ? frame : NULL;
  csched_frame_top_ = is_on_stack ? &csched_frame_on_stack_ : frame;
}

// Does: removes the context frames inside `outer`, innermost first, and ends their jobs. With `ends_all` it ends all
// these jobs, else only those of context frames whose stack frame is gone. It never reads a job whose own memory was in
// a gone stack frame.
static void end_inner_frames(csched_frame *outer, uintptr_t caller, bool ends_all) {
  csched_frame *frame = csched_frame_here_();
  for (csched_frame *each = frame; each != outer; each = each->outer) {
    if (!ends_all && !is_gone(each->address, caller)) each->job = NULL; // the job may still run on a fiber
    each->target = outer->target;                                       // a `release` may read the current target
    each->address = NEVER;                                              // a `release` below must not end `each` again
  }
  for (; frame != outer; frame = frame->outer) {
    csched_job *job = frame->job;
    set_top(frame); // so that `release` runs inside `frame`, not inside an unwound context frame
    frame->job = NULL;
    if (job != NULL && !is_gone((uintptr_t)job, caller)) csched_job_end_unwound_(job); // a gone job is not accessed
    if (entry_of(frame) != NULL && entry_of(frame)->continuing != NULL) end_continuing(entry_of(frame));
  }
  set_top(outer);
}

// Does: if the innermost context frame lies in a gone stack frame, removes all that lie on the stack, without ending
// their jobs. The memory of the innermost one may be overwritten, so it is not read. It has the only link to the others
// on the stack, so these cannot be found either. Context frames lie on the stack only if the list is full or does not
// exist. So the list's final entry becomes the innermost context frame.
static void remove_frames_on_gone_stack(uintptr_t caller) {
  if (on_stack == NULL || !is_gone((uintptr_t)on_stack, caller)) return;
  set_top(own_frames() != NULL ? own_frames()->last : &no_list);
}

// Does: ends the context frames whose stack frames are gone, because `caller` runs now. Returns: the innermost of the
// remaining ones.
CSCHED_NOINLINE csched_frame *csched_frames_end_unwound_slow_(uintptr_t caller) {
  remove_frames_on_gone_stack(caller);
  csched_frame *remaining = csched_frame_here_();
  while (remaining->outer != NULL && is_gone(remaining->address, caller)) remaining = remaining->outer;
  if (remaining != csched_frame_here_()) end_inner_frames(remaining, caller, true); // true: all jobs
  return remaining;
}

// Returns: whether this thread is still inside `frame`. It does not read `frame`, which may be gone.
static bool is_in_list(const csched_frame *frame) {
  const csched_frame *each = csched_frame_here_();
  while (each != NULL && each != frame) each = each->outer;
  return each != NULL;
}

// Does: ends `frame`, which lies on the stack or is not the innermost context frame, and the unwound context frames
// inside it.
CSCHED_NOINLINE void csched_frame_end_slow_(csched_frame *frame) {
  uintptr_t caller = CSCHED_CALLER_FRAME();
  remove_frames_on_gone_stack(caller);
  if (is_in_list(frame)) { // else an earlier call has found `frame` unwound, and ended it
    end_inner_frames(frame, caller, false);
    frame->job = NULL;
    set_top(frame->outer);
  }
}

// Does: ends the unwound context frames inside `frame`, which itself stays.
CSCHED_NOINLINE void csched_frame_end_inner_(csched_frame *frame) {
  uintptr_t caller = CSCHED_CALLER_FRAME();
  remove_frames_on_gone_stack(caller);
  if (is_in_list(frame)) end_inner_frames(frame, caller, false);
}

// Does: ends the context frame of `scope`, and all inside it, with their jobs, because an exception unwinds them.
CSCHED_NOINLINE void csched_scope_end_(csched_scope *scope) {
  if (CSCHED_LIKELY(scope->frame == NULL)) return;
  uintptr_t caller = CSCHED_CALLER_FRAME();
  if (scope->frame == &scope->spare && csched_frame_top_ == &csched_frame_on_stack_)
    on_stack = scope->frame; // the exception has unwound the context frames inside it: they are skipped, not read
  else remove_frames_on_gone_stack(caller);
  if (is_in_list(scope->frame)) end_inner_frames(scope->frame->outer, caller, true); // true: all jobs
  scope->frame = NULL;
}

// Does: ends, as unwound, all context frames that have the placeholder `job`, and all inside them.
CSCHED_NOINLINE void csched_frames_end_for_job_(const csched_job *job) {
  csched_frame *outermost = NULL;
  for (csched_frame *each = csched_frame_here_(); each->outer != NULL; each = each->outer)
    if (each->job == job) outermost = each;
  if (outermost != NULL) end_inner_frames(outermost->outer, CSCHED_CALLER_FRAME(), true);
}

CSCHED_NOINLINE void csched_frames_end_thread_(void) {
  if (on_stack != NULL) set_top(own_frames() != NULL ? own_frames()->last : &no_list); // the stack is gone: unread
  if (own_frames() != NULL) end_inner_frames(sentinel_of(own_frames()), CSCHED_CALLER_FRAME(), true);
}

csched_postponed_drops *csched_frames_postponed_drops_(void) {
  if (own_frames() == NULL) csched_frame_make_next_(); // for its side effect: allocates the list
  return own_frames() != NULL ? &own_frames()->discards : NULL;
}

void csched_frames_note_refused_(const csched_job *job) {
  if (own_frames() == NULL) csched_frame_make_next_(); // for its side effect: allocates the list
  if (own_frames() != NULL) own_frames()->refused = job;
}

bool csched_frames_has_refused_(const csched_job *job, const csched_job *next) {
  thread_frames *frames = own_frames();
  if (frames == NULL || frames->refused != job) return false; // NULL: this thread has noted nothing
  frames->refused = next;
  return true;
}

struct csched_observer **csched_frames_observer_(void) {
  return own_frames() != NULL ? &own_frames()->observer : NULL;
}

// MARK: inspection by other threads

csched_dump_wait *csched_frame_wait_(void) {
  if (own_frames() == NULL) csched_frame_make_next_(); // for its side effect: allocates the list
  return own_frames() != NULL ? &own_frames()->wait : NULL;
}

// The thread may change or free its context frames meanwhile. So each one is copied by a system call, which fails for
// unmapped memory.
bool csched_frames_copy_(const csched_atfork *atfork, csched_frames_seen *seen) {
  const thread_frames *frames = (const thread_frames *)((const char *)atfork - offsetof(thread_frames, atfork));
  if (atfork->handler != frames_at_fork || frames->top == NULL) return false; // NULL: a thread of the parent
  csched_frame *each = NULL, copy;
  seen->thread = frames->thread;
  seen->wait = &frames->wait;
  seen->recorder = &frames->recorder;
  seen->count = 0;
  csched_os_copy_if_mapped_(&each, frames->top, sizeof each);
  while (each != NULL && each != &no_list && each != &csched_frame_on_stack_ && seen->count < CSCHED_FRAMES_SEEN &&
         csched_os_copy_if_mapped_(&copy, each, sizeof copy) && copy.outer != NULL) { // until the sentinel
    seen->frames[seen->count++] = copy;
    each = copy.outer;
  }
  return true;
}
