// A thread's trampoline: runs its first job at once, and then, in order, the jobs that were submitted meanwhile.
//
// Open (active): submitted jobs are queued. Set aside: inactive while a job waits, so that a job submitted meanwhile
// runs at once.
// Drain: the loop that runs queued jobs.
// Each thread has one list, oldest first. Each nested drain (csched_trampoline_push) owns a suffix of the list: `start`
// is the link at which the innermost suffix begins. So a nested drain needs no other queue, and when a thread exits
// inside a job, only one list is to be dropped.
//
// Invariants
//   TP1  Jobs of a suffix run in the order of their submission, one after the other, none inside another.
//   TP2  A nested drain runs the jobs of its own suffix only; the outer jobs stay in the list. When the trampoline is
//        opened again while it is set aside, the new suffix begins at `base`, the end of the list at the time of
//        csched_trampoline_set_aside.
//   TP3  A drain has constant stack and allocates nothing: it is a loop. A job that submits the next job returns before
//        that job runs.
//   TP4  A thread that exits inside a job ends that job, drops the queued jobs (the key's destructor), and frees its
//        trampoline.
//   TP5  Each opening of the trampoline begins a context frame (frames.c). If a C++ exception or longjmp unwinds it,
//        the trampoline is closed. The queued jobs run with the next outermost job.
// No atomics: only its thread uses the list. (Other threads cancel a job through the job's word.)
// Source: RxSwift's CurrentThreadScheduler, for the guarantees; the representation is this project's.

#include <CScheduler/trampoline.h>
#include "../base/panic.h"
#include "../job/job_internal.h"
#include "../job/frames_internal.h"
#include "../platform/platform.h"
#include <stdlib.h>

struct csched_trampoline {
  csched_job *first;  // the list, oldest first
  csched_job **last;  // the NULL link at the end of the list, where a submission appends
  csched_job **start; // the link where the suffix of the innermost drain begins
  csched_job **base;  // the link where the suffix of the next opening will begin: after the jobs that are set aside
  csched_job opened;  // placeholder job, which marks the context frame of each opening
};

CSCHED_TLS_FAST CSCHED_THREAD_LOCAL csched_trampoline *csched_trampoline_active_; // the open one; else NULL

static CSCHED_TLS_FAST CSCHED_THREAD_LOCAL csched_trampoline *my_trampoline; // this thread's; also the value of `key`

static void drop_all_and_free(void *value) { // TP4: the destructor of `key`, when the thread ends
  csched_trampoline *trampoline = value;
  csched_frames_end_thread_();                               // ends the jobs that the thread was inside
  trampoline->start = trampoline->base = &trampoline->first; // no drain and no opening remains
  csched_trampoline_active_ = trampoline; // so that a job submitted inside a drop is appended, and dropped, too
  while (trampoline->first != NULL) {
    csched_job *job = trampoline->first;
    trampoline->first = job->next;
    if (trampoline->last == &job->next) trampoline->last = &trampoline->first; // the list is now empty
    csched_job_discard_(job);
  }
  csched_trampoline_active_ = NULL;
  my_trampoline = NULL;
  free(trampoline);
}

static csched_tsd key; // its value: this thread's trampoline

// Returns: the context frame of the innermost opening on this thread, also if that is set aside; NULL: no opening.
static csched_frame *opening_frame(const csched_trampoline *trampoline) {
  csched_frame *each = csched_frame_here_();
  while (each != NULL && each->job != &trampoline->opened) each = each->outer;
  return each;
}

static void trampoline_unwound(csched_job *opened) { // TP5: `release` of the placeholder job: an opening was unwound
  csched_trampoline *trampoline = opened->context;
  csched_trampoline_active_ = NULL;
  if (opening_frame(trampoline) == NULL) trampoline->base = &trampoline->first; // no opening is set aside
}
static const csched_job_type opening_job_type = {.release = trampoline_unwound};

// Does: makes this thread's trampoline, closed. Without memory, stops the process. `function`: the caller's name, for
// the message.
static csched_trampoline *make_trampoline(const char *function) {
  csched_trampoline *trampoline = malloc(sizeof *trampoline);
  if (trampoline == NULL || csched_tsd_set_(&key, trampoline, drop_all_and_free) != 0)
    csched_panic_(function,
                  "no memory for this thread's trampoline. Use the trampoline once on the thread while there is some.");
  *trampoline =
      (csched_trampoline){.last = &trampoline->first, .start = &trampoline->first, .base = &trampoline->first};
  csched_job_init(&trampoline->opened, &opening_job_type, trampoline);
  return my_trampoline = trampoline;
}

void csched_trampoline_end_(void) { // frees this thread's trampoline, unless it is open
  if (my_trampoline == NULL || csched_trampoline_active_ != NULL) return;
  csched_tsd_set_(&key, NULL, drop_all_and_free); // cannot fail: the thread's value exists already
  drop_all_and_free(my_trampoline);
}

// Does: opens the trampoline, with an empty suffix. Returns: its context frame. `spare`, `address`: see
// csched_frame_begin_; 0: as the outer context frame.
static csched_frame *open_trampoline(const char *function, csched_frame *spare, uintptr_t address) {
  csched_trampoline *trampoline = CSCHED_LIKELY(my_trampoline != NULL) ? my_trampoline : make_trampoline(function);
  csched_frame *outer = csched_frame_here_();
  if (address == 0) address = outer->address; // so that both context frames are unwound together
  trampoline->start = trampoline->base;       // TP2: after the jobs that are set aside
  csched_trampoline_active_ = trampoline;
  return csched_frame_begin_(spare, address, &trampoline->opened, outer->target);
}

CSCHED_NOINLINE bool csched_trampoline_is_open_(void) {
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME()); // TP5: may find that the opening was unwound, and close it
  return csched_trampoline_active_ != NULL;
}

CSCHED_NOINLINE bool csched_trampoline_enter(void) {
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME());
  if (csched_trampoline_active_ != NULL) return false;
  open_trampoline("csched_trampoline_enter", NULL, 0); // NULL, 0: is unwound together with the outer context frame
  return true;
}

size_t csched_trampoline_drain(void) { // runs the jobs of the innermost suffix; returns how many
  csched_trampoline *trampoline = csched_trampoline_active_;
  size_t count = 0;
  if (trampoline == NULL) return 0;
  csched_job **start = trampoline->start;                  // stays the same, also if an inner drain is unwound
  for (csched_job *job; (job = *start) != NULL; count++) { // TP1: in order; TP2: own suffix
    if (CSCHED_UNLIKELY(trampoline->start != start)) trampoline->start = start; // TP5: an inner drain was unwound
    *start = job->next;
    if (trampoline->last == &job->next) trampoline->last = start; // `job` was the last one
    csched_job_perform_(job);                                     // TP3: in a loop: constant stack
  }
  return count;
}

// Does: runs the queued jobs, and closes the trampoline. `frame`: the opening's context frame; NULL: there was no
// memory for it.
static CSCHED_NOINLINE void close_slow(csched_frame *frame, csched_scope *scope) {
  if (frame != NULL) frame->address = CSCHED_OWN_FRAME(); // TP5: unwound together with this function from now on
  scope->frame = frame;
  csched_trampoline_drain();
  if (frame != NULL) csched_frame_end_(frame);
  csched_trampoline_active_ = NULL;
}

// Does: closes the trampoline at once if no job is queued, and no context frame inside the opening is left; else by
// close_slow.
CSCHED_NOINLINE void csched_trampoline_leave_(csched_scope *scope) {
  csched_frame *frame = csched_frames_end_unwound_(CSCHED_CALLER_FRAME());
  csched_trampoline *trampoline = csched_trampoline_active_;
  if (trampoline == NULL) return; // an unwind has closed it
  if (CSCHED_UNLIKELY(*trampoline->start != NULL || frame->job != &trampoline->opened)) {
    close_slow(opening_frame(trampoline), scope);
    return;
  }
  csched_frame_end_(frame);
  csched_trampoline_active_ = NULL;
}

CSCHED_NOINLINE bool csched_trampoline_queue_(csched_job *job) { // Returns: false: closed, not queued
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME());
  csched_trampoline *trampoline = csched_trampoline_active_;
  if (CSCHED_UNLIKELY(trampoline == NULL)) return false; // TP5: the call above has found the opening unwound
  csched_job_submitted_(job, "csched_trampoline_run");
  job->next = NULL;
  *trampoline->last = job; // TP1: appended: runs after all jobs queued before
  trampoline->last = &job->next;
  return true;
}

// Does: opens the trampoline, runs `job`, then the jobs that were queued meanwhile. After an exception, `scope` ends
// the context frame.
CSCHED_NOINLINE void csched_trampoline_run_outermost_(csched_job *job, csched_scope *scope) {
  CSCHED_ROOM_IN_FRAME(); // so that an unwind of this stack frame is found
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
  frame->outer_start = my_trampoline->start;  // the pop restores it
  my_trampoline->start = my_trampoline->last; // TP2: a nested drain, whose suffix is empty
}

CSCHED_NOINLINE void csched_trampoline_pop(csched_trampoline_frame *frame) {
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME());
  if (csched_trampoline_active_ == NULL)
    csched_panic_("csched_trampoline_pop", "no frame was pushed on this thread. Pop on the thread that pushed.");
  csched_trampoline_drain();
  my_trampoline->start = frame->outer_start;
  if (!frame->was_active) csched_trampoline_leave(); // closes what the push has opened
}

CSCHED_NOINLINE void csched_trampoline_set_aside(csched_trampoline_aside *aside) {
  csched_frames_end_unwound_(CSCHED_CALLER_FRAME());
  *aside = (csched_trampoline_aside){.was_active = csched_trampoline_active_ != NULL};
  if (!aside->was_active) return;
  aside->start = my_trampoline->start;
  aside->base = my_trampoline->base;
  my_trampoline->base = my_trampoline->last; // TP2: where the next opening's suffix begins
  csched_trampoline_active_ = NULL;          // so that the next job on this thread runs at once
}

void csched_trampoline_put_back(const csched_trampoline_aside *aside) {
  if (!aside->was_active) return;
  my_trampoline->start = aside->start;
  my_trampoline->base = aside->base;
  csched_trampoline_active_ = my_trampoline;
}
