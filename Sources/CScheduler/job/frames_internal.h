// Context frames: for each thread a list of the jobs, loop runs, syncs and trampolines that the thread is inside,
// innermost first.
// Depends on: job.h, recorder_internal.h.
//
// A context frame begins and ends with a stack frame of this library. It is stored outside the stack, because that
// stack frame may be unwound:
//  - By a C++ exception: the clean-up of a csched_scope in the caller's stack frame calls csched_scope_end_.
//  - By longjmp, or by an exception that unwinds C functions only: the context frames stay in the list until a later
//    call of the library finds that their stack frames are gone (csched_frames_end_unwound_; frames.c defines "gone").
//  - By the end of the thread inside a job (pthread_exit, cancellation): the thread's destructor calls
//    csched_frames_end_thread_.
// An unwound context frame ends its job, too. If the job is a placeholder (its type has no `run`), only its `release`
// is called.
#pragma once

#include <CScheduler/job.h>

#include "../platform/platform.h"
#include "recorder_internal.h"

// The stack address of the current function's caller: its callees are below this address. Requires: the current
// function is never inlined.
#define CSCHED_CALLER_FRAME() ((uintptr_t)__builtin_dwarf_cfa())
// The lowest address of the current stack frame.
#define CSCHED_OWN_FRAME()                                                                                             \
  __extension__({                                                                                                      \
    uintptr_t frame_;                                                                                                  \
    CSCHED_READ_STACK_POINTER(frame_);                                                                                 \
    frame_;                                                                                                            \
  })
// Makes the current stack frame 512 bytes larger. So after its unwind, small callees of its caller run above its lowest
// address, and find it gone.
#define CSCHED_ROOM_IN_FRAME()                                                                                         \
  char room_[512];                                                                                                     \
  __asm__ __volatile__("" : : "r"(room_))

/// The innermost context frame of this thread; a sentinel has no `outer`. Read this variable with csched_frame_here_.
extern CSCHED_HIDDEN CSCHED_TLS_FAST CSCHED_THREAD_LOCAL csched_frame *csched_frame_top_;
/// Sentinel: csched_frame_top_ points here while the innermost context frame lies on the stack, after a failed
/// allocation. Callers take slow paths.
extern CSCHED_HIDDEN csched_frame csched_frame_on_stack_;

// The slow paths of the inline functions below: the list is full or missing, context frames lie on the stack, or some
// were unwound.
csched_frame *csched_frame_here_slow_(void);
csched_frame *csched_frames_end_unwound_slow_(uintptr_t caller);
csched_frame *csched_frame_begin_slow_(csched_frame *spare, uintptr_t address, csched_job *job,
                                       struct csched_target *target);
void csched_frame_end_slow_(csched_frame *frame);

/// Does: ends the context frames whose stack frame is below `caller`: they were unwound. `caller`:
/// CSCHED_CALLER_FRAME() of a function that is never inlined. Returns: the innermost of the remaining context frames.
static inline csched_frame *csched_frames_end_unwound_(uintptr_t caller) {
  csched_frame *top = csched_frame_top_;
  return CSCHED_LIKELY(top->address >= caller) ? top : csched_frames_end_unwound_slow_(caller);
}

/// Returns: the innermost context frame.
static inline csched_frame *csched_frame_here_(void) {
  csched_frame *top = csched_frame_top_;
  return CSCHED_LIKELY(top != &csched_frame_on_stack_) ? top : csched_frame_here_slow_();
}

/// Does: allocates the entry for the next context frame, if there is none yet. Returns: that entry; NULL without
/// memory.
csched_frame *csched_frame_make_next_(void);

/// Does: begins a context frame in the list entry `next`, which is csched_frame_top_->next and not NULL. Other
/// arguments: see csched_frame_begin_.
static inline void csched_frame_begin_at_(csched_frame *next, uintptr_t address, csched_job *job,
                                          struct csched_target *target) {
  next->address = address;
  next->job = job;
  next->target = target;
  csched_frame_top_ = next;
}

/// Does: begins a context frame of `job` (may be NULL), with the current target `target`. `address`: CSCHED_OWN_FRAME()
/// of the function that ends the context frame, or a variable in a stack frame that is valid until then. Returns: the
/// context frame; without memory `spare`, which may be NULL.
static inline csched_frame *csched_frame_begin_(csched_frame *spare, uintptr_t address, csched_job *job,
                                                struct csched_target *target) {
  csched_frame *frame = csched_frame_top_->next;
  if (CSCHED_UNLIKELY(frame == NULL)) return csched_frame_begin_slow_(spare, address, job, target);
  csched_frame_begin_at_(frame, address, job, target);
  return frame;
}

/// Does: ends `frame`, and the unwound context frames inside it with their jobs. It does not end the job of `frame`:
/// the caller does.
static inline void csched_frame_end_(csched_frame *frame) {
  if (CSCHED_LIKELY(csched_frame_top_ == frame)) csched_frame_top_ = frame->outer;
  else csched_frame_end_slow_(frame);
}

/// Does: ends the unwound context frames inside `frame`, with their jobs.
void csched_frame_end_inner_(csched_frame *frame);
/// Does: ends, as unwound, each context frame of this thread that has `job`, and all context frames inside it.
/// Requires: `job` is a placeholder.
void csched_frames_end_for_job_(const csched_job *job);
/// Does: ends all context frames of this thread, and their jobs, the innermost first. Requires: the thread is exiting;
/// its stack frames are gone.
void csched_frames_end_thread_(void);

/// Does: calls `deliver` for each of the list `jobs`, oldest first; `deliver` may perform its job at once. The
/// `release` of a job calls this, to submit that job, or jobs of the same `context`, again. So the stack does not grow
/// with each job: if `deliver` performs a job whose `release` calls this again, the inner call only lists its jobs, and
/// the outer call delivers them next. Requires: `context` is the same for all, and not NULL.
void csched_frame_continue_(void (*deliver)(csched_job *job), csched_job *jobs);
/// Returns: whether a call of csched_frame_continue_ on this thread has listed `job`, and not yet delivered it.
bool csched_frame_has_due_(const csched_job *job);

/// What a thread waits for. Only that thread writes it; dumps and the watchdog read it. All zero: the thread does not
/// wait.
typedef struct csched_dump_wait {
  const char *function; ///< the function that waits; NULL: the thread does not wait
  const void *what;     ///< the address of the object that the thread waits for
  csched_time since;    ///< csched_now at the start of the wait
} csched_dump_wait;
/// Does: records that the calling thread waits for `what` in `function`, a constant string, until csched_blocked_end_.
void csched_blocked_begin_(const char *function, const void *what);
void csched_blocked_end_(void); ///< records that the calling thread waits no more
/// Returns: this thread's csched_dump_wait; NULL without memory.
csched_dump_wait *csched_frame_wait_(void);

/// A copy of a thread's context frames, the innermost first, for dumps. The pointers may point to freed memory.
enum { CSCHED_FRAMES_SEEN = 16 };
typedef struct csched_frames_seen {
  uint32_t thread; ///< the system's thread number
  int count;       ///< number of `frames`; further ones are not copied
  csched_frame frames[CSCHED_FRAMES_SEEN];
  const csched_dump_wait *wait; ///< part of the thread's list, and freed with it: copy it with a check
  const csched_recorder *recorder;
} csched_frames_seen;

/// Does: copies the context frames of the thread whose list contains the atfork handler `atfork`. Returns: false if
/// `atfork` is in no thread's list.
/// Thread: inside csched_os_atfork_visit_.
bool csched_frames_copy_(const csched_atfork *atfork, csched_frames_seen *seen);

/// Returns: the address of this thread's pointer to its observer; NULL: the thread has no list yet.
struct csched_observer **csched_frames_observer_(void);

/// Does: notes that the refusal of `job`, a queue's or limit's own job, has made this thread drop the user's job that
/// it submits.
void csched_frames_note_refused_(const csched_job *job);
/// Returns: whether that is noted for `job`, which is not accessed; false: another thread, which helps with the queue
/// or limit, has taken the user's job before the refusal, and runs it. After true it is noted for `next`.
bool csched_frames_has_refused_(const csched_job *job, const csched_job *next);

/// The jobs whose discard a thread has postponed (job.c, J11: discards do not recurse), and the state of the discard in
/// progress.
typedef struct csched_postponed_drops {
  csched_job *first, *last;      ///< postponed jobs, oldest first, linked by `next`
  csched_job unwind_job;         ///< placeholder job, whose `release` discards the postponed jobs after an unwound drop
  struct dropping *outer;        ///< the drop that was in progress before the outermost discard; NULL: none
  struct retained_owner *owners; ///< owners of postponed jobs, retained until all postponed jobs are dropped
  bool is_discarding;            ///< a discard is in progress: further discards are postponed
  bool is_refusal_silenced;      ///< callers report refusals: no message (csched_swift_silence_refusals_)
  void *sleeper;                 ///< the sleeping Swift task for which the thread submits (csched_swift_set_sleeper_)
  void *listed;                  ///< csched_swift_set_listed_
  void *begun_member;            ///< csched_swift_begin_member_
  const struct csched_frame *begun_in; ///< the context frame of the job that calls the action of `begun_member`
} csched_postponed_drops;

/// Returns: this thread's postponed drops, all zero at first, valid until the end of the thread; NULL without memory.
csched_postponed_drops *csched_frames_postponed_drops_(void);
/// Does: frees this thread's list, unless the thread is inside a context frame.
void csched_frames_free_(void);
