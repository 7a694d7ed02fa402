// What each thread is in the middle of: the jobs that run on it, with the runs, syncs and trampolines around them; and the one place that
// tells whether a frame of the stack is gone.
// Depends on: job.h, dump_internal.h.
//
// A level begins and ends with a frame of the stack, and is written down elsewhere, because a frame may be left in another way:
//  - An exception of C++ passes a csched_scope in the caller's frame, whose end ends the levels of the call (csched_scope_end_).
//  - After a longjmp, or where the exception passes C only, the levels stay until somebody looks, and finds that the frame is gone.
//  - A thread may end in the middle of it (pthread_exit, cancellation): csched_levels_end_thread_.
// What ends with a level is a job. That stands for something else where its type has no `run`: `release` is then called alone.
#pragma once

#include <CScheduler/job.h>

#include "dump_internal.h"
#include "recorder_internal.h"

// Addresses on the stack, which grows downwards. The address of the present function's caller; that function is never inlined:
#define CSCHED_CALLER_FRAME() ((uintptr_t)__builtin_dwarf_cfa())
// The lowest address of the present frame:
#define CSCHED_OWN_FRAME()                                                                                             \
  __extension__({                                                                                                      \
    uintptr_t frame_;                                                                                                  \
    CSCHED_READ_STACK_POINTER(frame_);                                                                                 \
    frame_;                                                                                                            \
  })
// Makes the present frame larger. Its lowest address is then also below small functions that the caller calls once it is gone.
#define CSCHED_ROOM_IN_FRAME()                                                                                         \
  char room_[512];                                                                                                     \
  __asm__ __volatile__("" : : "r"(room_))

/// The innermost level of this thread; one without an `outer` is a placeholder. Read it with csched_level_here_.
extern CSCHED_HIDDEN CSCHED_TLS_FAST CSCHED_THREAD_LOCAL csched_level *csched_level_top_;
extern CSCHED_HIDDEN csched_level csched_level_lost_; // it is that when the innermost one is to be looked for

csched_level *csched_level_here_slow_(void);
csched_level *csched_level_recover_(uintptr_t caller);
csched_level *csched_level_begin_slow_(csched_level *spare, uintptr_t frame, csched_job *job,
                                       struct csched_target *target);
void csched_level_end_slow_(csched_level *level);

/// Does: ends the levels that were left, as seen from `caller`, which is CSCHED_CALLER_FRAME() of a function that is never inlined.
/// Returns: the innermost level.
static inline csched_level *csched_level_look_(uintptr_t caller) {
  csched_level *top = csched_level_top_;
  return CSCHED_LIKELY(top->frame >= caller) ? top : csched_level_recover_(caller);
}

/// Returns: the innermost level.
static inline csched_level *csched_level_here_(void) {
  csched_level *top = csched_level_top_;
  return CSCHED_LIKELY(top != &csched_level_lost_) ? top : csched_level_here_slow_();
}

/// Returns: the level that would begin next, NULL when there is no memory for it.
csched_level *csched_level_make_next_(void);

/// Does: begins the level that comes next.
static inline void csched_level_begin_at_(csched_level *next, uintptr_t frame, csched_job *job,
                                          struct csched_target *target) {
  next->frame = frame;
  next->job = job;
  next->target = target;
  csched_level_top_ = next;
}

/// Does: begins a level at `frame`, which is CSCHED_OWN_FRAME() of the function that ends it, or where the caller's memory is that stays
/// until then. Returns: the level; without memory for it, `spare`, or NULL when that is.
static inline csched_level *csched_level_begin_(csched_level *spare, uintptr_t frame, csched_job *job,
                                                struct csched_target *target) {
  csched_level *level = csched_level_top_->next;
  if (CSCHED_UNLIKELY(level == NULL)) return csched_level_begin_slow_(spare, frame, job, target);
  csched_level_begin_at_(level, frame, job, target);
  return level;
}

/// Does: ends the level, and those inside it, which were left. Its job is its owner's to end.
static inline void csched_level_end_(csched_level *level) {
  if (CSCHED_LIKELY(csched_level_top_ == level)) csched_level_top_ = level->outer;
  else csched_level_end_slow_(level);
}

/// Does: ends the levels inside of `level`, which were left.
void csched_level_leave_inner_(csched_level *level);

/// Does: ends each level of this thread that has `job`, with those inside it, as left. Requires: it stands for something.
void csched_level_leave_(const csched_job *job);

/// Does: ends all levels of this thread, the innermost first, because it ends, and its frames are gone.
void csched_levels_end_thread_(void);

/// Returns: where this thread notes for dumps what it waits for; NULL when there is no memory.
csched_dump_wait *csched_level_wait_(void);

/// What a thread was in the middle of, the innermost first. Pointers may be stale.
enum { CSCHED_LEVELS_SEEN = 16 };
typedef struct csched_levels_seen {
  uint32_t thread;
  int count;
  csched_level levels[CSCHED_LEVELS_SEEN];
  const csched_dump_wait *wait; ///< valid as long as the levels
  const csched_recorder *recorder;
} csched_levels_seen;

/// Does: looks at another thread's levels, if that is what `atfork` belongs to. Returns: whether it is. Thread: inside of
/// csched_os_atfork_visit_.
bool csched_levels_look_(const csched_atfork *atfork, csched_levels_seen *seen);

/// Returns: where this thread notes its observer; NULL: it has no levels of its own yet.
struct csched_observer **csched_levels_observer_(void);

/// What this thread discards, besides the job at hand: see job.c, J11.
typedef struct csched_discards_here {
  csched_job *first, *last;
  csched_job level;          ///< stands for the discards
  struct dropping *outer;    ///< the drop that they are inside of
  struct kept_owner *owners; ///< what jobs that were put off refer to, until all of them have been dropped
  bool is_inside;
  bool is_refusal_told; ///< see csched_swift_tell_refusals_
  void *sleeper;        ///< see csched_swift_note_sleeper_
} csched_discards_here;

/// Returns: this thread's, all zero at first; NULL: there is no memory. It stays until the thread's end.
csched_discards_here *csched_levels_discards_(void);

/// Does: gives back this thread's memory for levels, unless it is inside one.
void csched_levels_free_(void);
