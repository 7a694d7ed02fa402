// A thread's trampoline: runs its first job at once, and then, in order, the jobs that were submitted meanwhile.
//
// Open (active): submitted jobs are queued. Set aside: inactive during a wait, so that a job runs at once. Drain: the loop that runs queued jobs.
// Each thread has one list, oldest first. Each nested drain (csched_trampoline_push) owns a suffix of the list: `start` is the link at which the
// innermost suffix begins. So a nested drain needs no other queue, and when a thread exits inside a job, only one list is to be dropped.
//
// Invariants
//   TP1  Jobs of a suffix run in the order of their submission, one after the other, none inside another.
//   TP2  A nested drain runs the jobs of its own suffix only; the outer jobs stay in the list. When the trampoline is opened again while it is set
//        aside, the new suffix begins at `base`, the end of the list at the time of csched_trampoline_set_aside.
//   TP3  A drain has constant stack and allocates nothing: it is a loop. A job that submits the next job returns before that job runs.
//   TP4  A thread that exits inside a job ends that job, drops the queued jobs (the key's destructor), and frees its trampoline.
//   TP5  Each opening of the trampoline begins a context frame (frames.c). If a C++ exception or longjmp unwinds it, the trampoline is closed. The
//        queued jobs run with the next outermost job.
// No atomics: only its thread uses the list. (Other threads cancel a job through the job's word.)
// Source: RxSwift's CurrentThreadScheduler, for the guarantees; the representation is this project's.
// Checked by: "first runs at once, the rest in order", "a nested frame leaves the outer jobs alone", "work beside a trampoline set aside runs at
//   once, and the outer jobs wait", "a chain of ten million hops", "the key's destructor drops the remaining work", "an unwound action leaves the
//   trampoline usable", "a trampoline keeps its order across stacks".

#include <CScheduler/trampoline.h>

#include "../base/panic.h"
#include "../job/job_internal.h"
#include "../job/frames_internal.h"
#include "../platform/platform.h"

#include <stdlib.h>

struct csched_trampoline {
  csched_job *first;  // the list, oldest first
  csched_job **last;  // the link at the end of the list, which a submission sets
  csched_job **start; // the link where the suffix of the innermost drain begins
  csched_job **base;  // the link where the suffix of the next opening will begin
  csched_job opened;  // placeholder job, which marks the context frame of each opening
};

CSCHED_TLS_FAST CSCHED_THREAD_LOCAL csched_trampoline *csched_trampoline_active_;

static CSCHED_TLS_FAST CSCHED_THREAD_LOCAL csched_trampoline *mine; // this thread's; also the value of `key`

static void destroy(void *value) { // TP4: the key's destructor
  csched_trampoline *trampoline = value;
  csched_frames_end_thread_();
  trampoline->start = trampoline->base = &trampoline->first;
  csched_trampoline_active_ = trampoline; // so a job that a drop submits is appended, and dropped, too
  while (trampoline->first != NULL) {
    csched_job *job = trampoline->first;
    trampoline->first = job->next;
    if (trampoline->last == &job->next) trampoline->last = &trampoline->first; // `job` was the only one
    csched_job_discard_(job);
  }
  csched_trampoline_active_ = NULL;
  mine = NULL;
  free(trampoline);
}

static csched_tsd key;

// Returns: the context frame of the innermost opening, also of an opening that is set aside; NULL: none.
static csched_frame *opened_at(const csched_trampoline *trampoline) {
  csched_frame *each = csched_frame_here_();
  while (each != NULL && each->job != &trampoline->opened) each = each->outer;
  return each;
}

static void trampoline_unwound(csched_job *opened) { // TP5: the placeholder's `release`, called when it was unwound
  csched_trampoline *trampoline = opened->context;
  csched_trampoline_active_ = NULL;
  if (opened_at(trampoline) == NULL) trampoline->base = &trampoline->first; // no opening is set aside
}
static const csched_job_type opening = {.release = trampoline_unwound};

static csched_trampoline *make_trampoline(const char *function) {
  csched_trampoline *trampoline = malloc(sizeof *trampoline);
  if (trampoline == NULL || csched_tsd_set_(&key, trampoline, destroy) != 0)
    csched_panic_(function,
                  "no memory for this thread's trampoline. Use the trampoline once on the thread while there is some.");
  *trampoline =
      (csched_trampoline){.last = &trampoline->first, .start = &trampoline->first, .base = &trampoline->first};
  csched_job_init(&trampoline->opened, &opening, trampoline);
  return mine = trampoline;
}

void csched_trampoline_end_(void) {
  if (mine == NULL || csched_trampoline_active_ != NULL) return;
  csched_tsd_set_(&key, NULL, destroy); // cannot fail: the thread's value exists already
  destroy(mine);
}

// Does: makes the trampoline active, with an empty suffix. Returns: the context frame. `address`: see csched_frame_begin_; 0: the outer frame's.
static csched_frame *open_trampoline(const char *function, csched_frame *spare, uintptr_t address) {
  csched_trampoline *trampoline = CSCHED_LIKELY(mine != NULL) ? mine : make_trampoline(function);
  csched_frame *outer = csched_frame_here_();
  if (address == 0) address = outer->address; // so both context frames are unwound together
  trampoline->start = trampoline->base;       // TP2: after the jobs that are set aside
  csched_trampoline_active_ = trampoline;
  return csched_frame_begin_(spare, address, &trampoline->opened, outer->target);
}

CSCHED_NOINLINE bool csched_trampoline_is_open_(void) {
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME());
  return csched_trampoline_active_ != NULL;
}

CSCHED_NOINLINE bool csched_trampoline_enter(void) {
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME());
  if (csched_trampoline_active_ != NULL) return false;
  open_trampoline("csched_trampoline_enter", NULL, 0);
  return true;
}

size_t csched_trampoline_drain(void) {
  csched_trampoline *trampoline = csched_trampoline_active_;
  size_t count = 0;
  if (trampoline == NULL) return 0;
  csched_job **start = trampoline->start;
  for (csched_job *job; (job = *start) != NULL; count++) {                      // TP1: in order; TP2: own suffix
    if (CSCHED_UNLIKELY(trampoline->start != start)) trampoline->start = start; // TP5: an inner drain was unwound
    *start = job->next;
    if (trampoline->last == &job->next) trampoline->last = start;
    csched_job_perform_(job); // TP3: no recursion
  }
  return count;
}

// Does: closes the trampoline after a drain. `frame`: the opening's context frame; NULL: there was no memory for it.
static CSCHED_NOINLINE void close_slow(csched_frame *frame, csched_scope *scope) {
  if (frame != NULL) frame->address = CSCHED_OWN_FRAME(); // TP5: from now on unwound with this function
  scope->frame = frame;
  csched_trampoline_drain();
  if (frame != NULL) csched_frame_end_(frame);
  csched_trampoline_active_ = NULL;
}

CSCHED_NOINLINE void csched_trampoline_leave_(csched_scope *scope) {
  csched_frame *frame = csched_frames_end_unwound_(CSCHED_CALLER_FRAME());
  csched_trampoline *trampoline = csched_trampoline_active_;
  if (trampoline == NULL) return;
  if (CSCHED_UNLIKELY(*trampoline->start != NULL || frame->job != &trampoline->opened)) {
    close_slow(opened_at(trampoline), scope);
    return;
  }
  csched_frame_end_(frame);
  csched_trampoline_active_ = NULL;
}

CSCHED_NOINLINE bool csched_trampoline_queue_(csched_job *job) {
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME());
  csched_trampoline *trampoline = csched_trampoline_active_;
  if (CSCHED_UNLIKELY(trampoline == NULL)) return false; // TP5: the opening was found unwound
  csched_job_submitted_(job, "csched_trampoline_run");
  job->next = NULL;
  *trampoline->last = job; // TP1: appended
  trampoline->last = &job->next;
  return true;
}

CSCHED_NOINLINE void csched_trampoline_run_outermost_(csched_job *job, csched_scope *scope) {
  CSCHED_ROOM_IN_FRAME();
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME());
  csched_job_submitted_(job, "csched_trampoline_run");
  scope->frame = open_trampoline("csched_trampoline_run", &scope->spare, CSCHED_OWN_FRAME());
  csched_job_perform_(job);
  csched_trampoline_drain();
  csched_frame_end_(scope->frame);
  csched_trampoline_active_ = NULL;
}

CSCHED_NOINLINE void csched_trampoline_push(csched_trampoline_frame *frame) {
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME());
  frame->was_active = csched_trampoline_active_ != NULL;
  if (!frame->was_active) open_trampoline("csched_trampoline_push", NULL, 0);
  frame->outer_start = mine->start;
  mine->start = mine->last; // TP2: an empty suffix
}

CSCHED_NOINLINE void csched_trampoline_pop(csched_trampoline_frame *frame) {
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME());
  if (csched_trampoline_active_ == NULL)
    csched_panic_("csched_trampoline_pop", "no frame was pushed on this thread. Pop on the thread that pushed.");
  csched_trampoline_drain();
  mine->start = frame->outer_start;
  if (!frame->was_active) csched_trampoline_leave();
}

CSCHED_NOINLINE void csched_trampoline_set_aside(csched_trampoline_aside *aside) {
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME());
  *aside = (csched_trampoline_aside){.was_active = csched_trampoline_active_ != NULL};
  if (!aside->was_active) return;
  aside->start = mine->start;
  aside->base = mine->base;
  mine->base = mine->last; // TP2: where the next opening's suffix begins
  csched_trampoline_active_ = NULL;
}

void csched_trampoline_put_back(const csched_trampoline_aside *aside) {
  if (!aside->was_active) return;
  mine->start = aside->start;
  mine->base = aside->base;
  csched_trampoline_active_ = mine;
}
