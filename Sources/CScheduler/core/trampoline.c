// One list for a thread, oldest first. Each level owns a suffix of it: `start` is the link at which the innermost level
// begins. So a nested level needs no queue of its own, and a thread that ends inside an action leaves one list to drop,
// none of it on the stack that has just been unwound.
//
// Obligations
//   T1  Jobs of a level run in the order of their submission, one after the other, none inside another.
//   T2  A nested level runs its own jobs only; those below keep their place. So does one that is opened anew after the trampoline
//       was set aside: it begins at `base`, the end of the list at that time.
//   T3  Constant stack, no allocation for a job: a drain is a loop, and a job that submits the next one returns first.
//   T4  A thread that ends inside an action has ended it, drops what waits (the key's destructor), and frees its trampoline.
//   T5  An action that is left by an exception of C++ closes the trampoline, because run is inline in the caller, with a
//       clean-up. After a longjmp, which cleans nothing up, the next run finds that the stack frame of the drain is gone, if
//       the stack is shorter by then, and opens the trampoline again.
// No atomics: the list belongs to its thread. (Jobs are cancelled by other threads through their state only.)
// Source: RxSwift's CurrentThreadScheduler, for what it promises; the representation is ours.
// Checked by: "first runs at once, the rest in order", "a nested frame leaves the outer jobs alone", "work beside a trampoline set
//   aside runs at once, and the outer jobs wait", "a chain of ten million hops",
//   "the key's destructor drops what is left", "an unwound action leaves the trampoline usable".

#include <CScheduler/trampoline.h>

#include "../platform/platform.h"
#include "job_internal.h"
#include "panic.h"
#include "target_internal.h"

#include <stdlib.h>

struct csched_trampoline {
  csched_job *first;
  csched_job **last;  // the link to set next
  csched_job **start; // where the innermost level begins
  csched_job **base;  // where the next outermost one begins
  void *running;      // what ran on this thread when it was opened
  const char *floor;  // the stack frame of the run that opened it: calls from inside it have lower addresses
};

#define NEVER_LEFT                                                                                                     \
  ((const char *)UINTPTR_MAX) // a floor that no frame is above: it was opened without a frame of its own

CSCHED_TLS_FAST CSCHED_THREAD_LOCAL csched_trampoline *csched_trampoline_active_;

static CSCHED_TLS_FAST CSCHED_THREAD_LOCAL csched_trampoline *mine; // what the key holds, at the price of one load

static void destroy(void *value) { // T4
  csched_trampoline *trampoline = value;
  csched_target_end_thread_();
  trampoline->start = trampoline->base = &trampoline->first;
  trampoline->floor = NEVER_LEFT;
  csched_trampoline_active_ = trampoline; // what a drop submits waits here too, and is dropped
  while (trampoline->first != NULL) {
    csched_job *job = trampoline->first;
    trampoline->first = job->next;
    if (trampoline->last == &job->next) trampoline->last = &trampoline->first;
    csched_job_discard_(job);
  }
  csched_trampoline_active_ = NULL;
  mine = NULL;
  free(trampoline);
}

static csched_tsd key;

static csched_trampoline *make(const char *function) {
  csched_trampoline *trampoline = malloc(sizeof *trampoline);
  if (trampoline == NULL || csched_tsd_set_(&key, trampoline, destroy) != 0)
    csched_panic_(function,
                  "no memory for this thread's trampoline. Use the trampoline once on the thread while there is some.");
  *trampoline =
      (csched_trampoline){.last = &trampoline->first, .start = &trampoline->first, .base = &trampoline->first};
  return mine = trampoline;
}

void csched_trampoline_end_(void) {
  if (mine == NULL || csched_trampoline_active_ != NULL) return;
  csched_tsd_set_(&key, NULL, destroy); // it has a place for this thread already, so it cannot fail
  destroy(mine);
}

static void open(const char *function, const void *floor) {
  csched_trampoline *trampoline = CSCHED_LIKELY(mine != NULL) ? mine : make(function);
  if (CSCHED_UNLIKELY(csched_trampoline_active_ != NULL)) csched_job_restore_running_(trampoline->running); // T5
  trampoline->start = trampoline->base;                                                                     // T2
  trampoline->running = csched_job_running_();
  trampoline->floor = floor;
  csched_trampoline_active_ = trampoline;
}

static bool is_open(const void *frame) {
  csched_trampoline *trampoline = csched_trampoline_active_;
  return trampoline != NULL &&
         CSCHED_LIKELY((const char *)frame < trampoline->floor); // T5: equal, the same depth again
}

bool csched_trampoline_enter(void) {
  if (is_open(__builtin_frame_address(0))) return false;
  open("csched_trampoline_enter", NEVER_LEFT);
  return true;
}

size_t csched_trampoline_drain(void) {
  csched_trampoline *trampoline = csched_trampoline_active_;
  size_t count = 0;
  if (trampoline == NULL) return 0;
  for (csched_job *job; (job = *trampoline->start) != NULL; count++) { // T1, T2
    *trampoline->start = job->next;
    if (trampoline->last == &job->next) trampoline->last = trampoline->start;
    csched_job_perform_(job); // T3
  }
  return count;
}

void csched_trampoline_leave(void) {
  csched_trampoline_drain();
  csched_trampoline_active_ = NULL;
}

void csched_trampoline_queue_(csched_job *job) {
  csched_trampoline *trampoline = csched_trampoline_active_;
  if (CSCHED_UNLIKELY(!is_open(__builtin_frame_address(0)))) { // T5: left by longjmp
    csched_job_restore_running_(trampoline->running);
    csched_trampoline_active_ = NULL;
    csched_trampoline_run(job);
    return;
  }
  csched_job_submitted_(job, "csched_trampoline_run");
  job->next = NULL;
  *trampoline->last = job; // T1
  trampoline->last = &job->next;
}

void csched_trampoline_run_outermost_(csched_job *job, void **running) {
  *running = csched_job_running_();
  csched_job_submitted_(job, "csched_trampoline_run");
  open("csched_trampoline_run", __builtin_frame_address(0));
  csched_job_perform_(job);
  csched_trampoline_drain();
}

void csched_trampoline_close_(void **running) {
  csched_trampoline_active_ = NULL;
  csched_job_restore_running_(*running); // T5
}

void csched_trampoline_push(csched_trampoline_frame *frame) {
  frame->was_active = is_open(__builtin_frame_address(0));
  if (!frame->was_active) open("csched_trampoline_push", NEVER_LEFT);
  frame->outer_start = mine->start;
  mine->start = mine->last; // T2
}

void csched_trampoline_pop(csched_trampoline_frame *frame) {
  if (csched_trampoline_active_ == NULL)
    csched_panic_("csched_trampoline_pop", "no frame was pushed on this thread. Pop on the thread that pushed.");
  csched_trampoline_drain();
  mine->start = frame->outer_start;
  if (!frame->was_active) csched_trampoline_leave();
}

void csched_trampoline_set_aside(csched_trampoline_aside *aside) {
  *aside = (csched_trampoline_aside){.was_active = is_open(__builtin_frame_address(0))};
  if (!aside->was_active) return;
  aside->start = mine->start;
  aside->base = mine->base;
  aside->running = mine->running;
  aside->floor = mine->floor;
  mine->base = mine->last; // T2
  csched_trampoline_active_ = NULL;
}

void csched_trampoline_put_back(const csched_trampoline_aside *aside) {
  if (!aside->was_active) return;
  mine->start = aside->start;
  mine->base = aside->base;
  mine->running = aside->running;
  mine->floor = aside->floor;
  csched_trampoline_active_ = mine;
}
