// Context frames: for each thread a list of the jobs, runs, syncs and trampolines that it is inside, innermost first.
// Depends on: job.h, recorder_internal.h.
//
// A context frame begins and ends with a stack frame. It is stored outside the stack, because the stack frame may be unwound:
//  - By a C++ exception. The clean-up of a csched_scope in the caller's stack frame ends the call's context frames (csched_scope_end_).
//  - By longjmp, or by an exception that unwinds C functions only. The context frames stay in the list until a later call finds that the stack
//    frame is gone (csched_frames_end_unwound_). Only frames.c decides whether a stack frame is gone.
//  - By the end of the thread inside a job (pthread_exit, cancellation): csched_frames_end_thread_.
// The job of an unwound context frame ends with the context frame. If the job is a placeholder (its type has no `run`), only `release` is called.
#pragma once

#include <CScheduler/job.h>

#include "../platform/platform.h"
#include "recorder_internal.h"

// The stack address of the current function's caller. The stack grows downwards. Requires: the current function is never inlined.
#define CSCHED_CALLER_FRAME() ((uintptr_t)__builtin_dwarf_cfa())
// The lowest address of the current stack frame.
#define CSCHED_OWN_FRAME()                                                                                             \
  __extension__({                                                                                                      \
    uintptr_t frame_;                                                                                                  \
    CSCHED_READ_STACK_POINTER(frame_);                                                                                 \
    frame_;                                                                                                            \
  })
// Enlarges the current stack frame. Once it is gone, small functions that the caller calls then run above its lowest address.
#define CSCHED_ROOM_IN_FRAME()                                                                                         \
  char room_[512];                                                                                                     \
  __asm__ __volatile__("" : : "r"(room_))

/// The innermost context frame of this thread; a sentinel has no `outer`. Read this variable with csched_frame_here_.
extern CSCHED_HIDDEN CSCHED_TLS_FAST CSCHED_THREAD_LOCAL csched_frame *csched_frame_top_;
/// Sentinel: csched_frame_top_ points here when the innermost context frame lies on the stack, for want of memory. Callers take the slow path.
extern CSCHED_HIDDEN csched_frame csched_frame_lost_;

csched_frame *csched_frame_here_slow_(void);
csched_frame *csched_frames_end_unwound_slow_(uintptr_t caller);
csched_frame *csched_frame_begin_slow_(csched_frame *spare, uintptr_t address, csched_job *job,
                                       struct csched_target *target);
void csched_frame_end_slow_(csched_frame *frame);

/// Does: ends the context frames that were unwound, as seen from `caller`: CSCHED_CALLER_FRAME() of a function that is never inlined.
/// Returns: the innermost context frame after that.
static inline csched_frame *csched_frames_end_unwound_(uintptr_t caller) {
  csched_frame *top = csched_frame_top_;
  return CSCHED_LIKELY(top->address >= caller) ? top : csched_frames_end_unwound_slow_(caller);
}

/// Returns: the innermost context frame.
static inline csched_frame *csched_frame_here_(void) {
  csched_frame *top = csched_frame_top_;
  return CSCHED_LIKELY(top != &csched_frame_lost_) ? top : csched_frame_here_slow_();
}

/// Returns: the entry for the next context frame, which it allocates if needed; NULL without memory.
csched_frame *csched_frame_make_next_(void);

/// Does: begins a context frame in the entry `next`.
static inline void csched_frame_begin_at_(csched_frame *next, uintptr_t address, csched_job *job,
                                          struct csched_target *target) {
  next->address = address;
  next->job = job;
  next->target = target;
  csched_frame_top_ = next;
}

/// Does: begins a context frame at the stack address `address`: CSCHED_OWN_FRAME() of the function that ends it, or the caller's own stack
/// memory that stays valid until then. Returns: the context frame; without memory `spare`, which may be NULL.
static inline csched_frame *csched_frame_begin_(csched_frame *spare, uintptr_t address, csched_job *job,
                                                struct csched_target *target) {
  csched_frame *frame = csched_frame_top_->next;
  if (CSCHED_UNLIKELY(frame == NULL)) return csched_frame_begin_slow_(spare, address, job, target);
  csched_frame_begin_at_(frame, address, job, target);
  return frame;
}

/// Does: ends `frame`, and the context frames inside it, which were unwound. The caller ends the job of `frame`.
static inline void csched_frame_end_(csched_frame *frame) {
  if (CSCHED_LIKELY(csched_frame_top_ == frame)) csched_frame_top_ = frame->outer;
  else csched_frame_end_slow_(frame);
}

/// Does: ends the context frames inside `frame`, which were unwound.
void csched_frame_leave_inner_(csched_frame *frame);

/// Does: ends each context frame of this thread that has `job`, and all context frames inside it, as unwound. Requires: `job` is a placeholder.
void csched_frame_leave_(const csched_job *job);

/// Does: ends all context frames of this thread, the innermost first: the thread ends, and its stack frames are gone.
void csched_frames_end_thread_(void);

/// What a thread waits for. Only that thread writes it; dumps read it. All zero: the thread does not wait.
typedef struct csched_dump_wait {
  const char *function; ///< NULL: the thread does not wait
  const void *what;
  csched_time since;
} csched_dump_wait;
/// Does: notes that the calling thread waits for `what` in `function`, a constant string, until csched_blocked_end_.
void csched_blocked_begin_(const char *function, const void *what);
void csched_blocked_end_(void);

/// Returns: where this thread stores, for dumps, what it waits for; NULL without memory.
csched_dump_wait *csched_frame_wait_(void);

/// A copy of a thread's context frames, the innermost first. Pointers may be stale.
enum { CSCHED_FRAMES_SEEN = 16 };
typedef struct csched_frames_seen {
  uint32_t thread;
  int count;
  csched_frame frames[CSCHED_FRAMES_SEEN];
  const csched_dump_wait *wait; ///< valid as long as the thread's list
  const csched_recorder *recorder;
} csched_frames_seen;

/// Does: copies another thread's context frames to `seen`, if `atfork` is part of a thread's list. Returns: whether it is. Thread: inside
/// csched_os_atfork_visit_.
bool csched_frames_look_(const csched_atfork *atfork, csched_frames_seen *seen);

/// Returns: where this thread stores its observer; NULL: the thread has no list yet.
struct csched_observer **csched_frames_observer_(void);

/// The discards that a thread has postponed: see job.c, J11.
typedef struct csched_postponed_drops {
  csched_job *first, *last;
  csched_job unwind_job;     ///< placeholder job, whose `release` continues after an unwound drop
  struct dropping *outer;    ///< the drop around the discards
  struct kept_owner *owners; ///< owners of postponed jobs, retained until all postponed jobs are dropped
  bool is_discarding;        ///< further discards are postponed
  bool is_refusal_reported;  ///< see csched_swift_report_refusals_
  void *sleeper;             ///< see csched_swift_note_sleeper_
} csched_postponed_drops;

/// Returns: this thread's postponed drops, all zero at first; NULL without memory. Valid until the thread's end.
csched_postponed_drops *csched_frames_postponed_drops_(void);

/// Does: frees this thread's list, unless the thread is inside a context frame.
void csched_frames_free_(void);
