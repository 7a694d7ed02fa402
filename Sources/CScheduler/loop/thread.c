// A thread with a run loop: starts, stops, joins and frees it.
//
// States
//   phase      0: starting; 1: ready; 1 + an errno value: the system has refused an option
//   owners     reference count: one for the handle, one for the thread
//
// Invariants
//   TH1  csched_thread_start returns a thread that is ready: it has its name, its processors and its policy, and runs
//       its loop. After a failure there is no thread and no allocation: a thread whose options are refused ends, and
//       its starter joins it.
//   TH2  The handle and the thread each release one reference. The last release frees the structure.
//   TH3  However the thread ends (closed loop, pthread_exit inside a job, cancellation), its work is run or dropped,
//        and a join returns.
//   TH4  A thread is joined or detached exactly once, however many threads wait for it.
//   TH5  In a child of fork no thread waits for a thread of the parent: csched_thread_join stops the process.
//        csched_thread_destroy does nothing.
// Orderings: phase: release and acquire; the thread no longer reads the options · owners: acquire and release; the last
//   owner sees all writes.
// Assumes: the invariants of loop.c.
// Source: a reference count for handle and thread, as std::thread implementations keep for their shared state.
// Models: checks/thread.c. Not modelled: TH5.

#include <CScheduler/thread.h>

#include <CScheduler/lock.h>

#include "../base/text.h"
#include "../job/frames_internal.h"
#include "../platform/platform.h"
#include "loop_internal.h"

#include <errno.h>
#include <stdlib.h>

enum { NAME_SIZE = 16 };          // Linux's limit for a thread's name, with the final zero
enum { STARTING = 0, READY = 1 }; // values of `phase`; READY + an errno value: the thread's options were refused

_Static_assert((int)CSCHED_POLICY_NICE == CSCHED_OS_POLICY_NICE, "the port's policies are ours");
_Static_assert((int)CSCHED_POLICY_ROUND_ROBIN == CSCHED_OS_POLICY_ROUND_ROBIN, "the port's policies are ours");

struct csched_thread {
  csched_loop *loop;
  csched_os_thread os;                  // the system's thread
  uint32_t phase;                       // futex: see States
  uint32_t owners;                      // reference count of this structure
  const csched_thread_options *options; // the caller's; valid until csched_thread_start returns; NULL: defaults
  csched_lock join_lock;                // one thread at a time joins
  bool is_joined;                       // guarded by `join_lock`
  char name[NAME_SIZE];
  void (*at_end)(void *); // the option `at_end`, called with `context`; NULL: none, or the thread is not ready
  void *context;
};

static void release_thread(csched_thread *thread) {                       // TH2: releases one of two references
  if (csched_fetch_add_acq_rel(&thread->owners, UINT32_MAX) != 1) return; // TH2: subtracts 1; only the last one frees
  csched_loop_free_(thread->loop);
  free(thread);
}

// Does: sets the calling thread's processors and policy. Returns: 0, or an errno value if the system refuses one.
static int apply_options(const csched_thread_options *options) {
  int error =
      options->processor_count > 0 ? csched_os_thread_set_affinity_(options->processors, options->processor_count) : 0;
  if (error != 0 || options->policy == CSCHED_POLICY_DEFAULT) return error;
  return csched_os_thread_set_policy_(options->policy, options->priority);
}

// Does: sets the phase to READY, or to READY + an errno value, and wakes csched_thread_start, which waits for that.
static void set_phase(csched_thread *thread, uint32_t phase) {
  csched_store_release(&thread->phase, phase); // TH1: pairs with csched_thread_start; after it, no read of options
  csched_futex_wake_(&thread->phase, 1);
}

static void run_thread(void *context) { // the thread's body; end_thread follows
  csched_thread *thread = context;
  int error = thread->options != NULL ? apply_options(thread->options) : 0;
  if (error != 0) {
    set_phase(thread, READY + (uint32_t)error);
    return;
  }
  if (thread->options != NULL)
    thread->at_end = thread->options->at_end; // not before: a refused thread does not call it
  csched_loop_bind_(thread->loop);
  if (thread->name[0] != 0) csched_os_thread_set_name_(thread->name);
  set_phase(thread, READY);
  while (csched_loop_run(thread->loop) != CSCHED_RUN_CLOSED) {} // a job's csched_loop_end_run does not end the thread
}

// Does: drops outstanding work, and releases the thread's reference. Called after run_thread, also if pthread_exit or a
// cancellation has ended it.
static void end_thread(void *context) { // TH3: called on each way out, else work would stay in the loop
  csched_thread *thread = context;
  csched_frames_end_thread_(); // first: ends the jobs and runs that the thread was inside
  csched_loop_close(thread->loop, CSCHED_STOP_DROP);
  csched_loop_finish_work_(thread->loop);
  csched_loop_unbind_(thread->loop);
  if (thread->at_end != NULL) thread->at_end(thread->context); // after all work, and while the structure is valid
  release_thread(thread);
}

static void loop_thread_main(void *context) { csched_os_call_with_cleanup_(run_thread, end_thread, context); }

// Does: starts a thread, and waits until it is ready. Returns: 0, and the thread in `*result`; or an errno value, and
// no thread.
static int start_thread(csched_thread **result, const csched_thread_options *options, bool is_internal) {
  csched_thread *thread = calloc(1, sizeof *thread);
  if (thread == NULL) return ENOMEM;
  thread->owners = 2; // the new thread, and the owner of `*result`
  thread->loop = csched_loop_create_unbound_();
  if (options != NULL) {
    if (options->name != NULL) csched_name_copy_(thread->name, sizeof thread->name, options->name);
    thread->options = options;
    thread->context = options->context;
  }
  int error = thread->loop == NULL ? ENOMEM
              : is_internal        ? csched_os_thread_start_internal_(&thread->os, loop_thread_main, thread)
                                   : csched_os_thread_start_(&thread->os, options != NULL ? options->stack_size : 0,
                                                             loop_thread_main, thread);
  if (error != 0) { // TH1: no thread was started, so this is the only owner
    if (thread->loop != NULL) csched_loop_free_(thread->loop);
    free(thread);
    return error;
  }
  uint32_t phase;                                                   // READY, or READY + an errno value
  while ((phase = csched_load_acquire(&thread->phase)) == STARTING) // TH1: pairs with set_phase; `options` may go now
    csched_futex_wait_(&thread->phase, STARTING, CSCHED_FOREVER);
  error = (int)(phase - READY);
  if (error != 0) {
    csched_os_thread_join_(thread->os); // TH1, TH4: its options are refused, so the thread ends: waits for that
    release_thread(thread);             // the reference of the handle; end_thread has released the other
    return error;
  }
  *result = thread;
  return 0;
}

int csched_thread_start(csched_thread **result, const csched_thread_options *options) {
  return start_thread(result, options, false);
}

int csched_thread_start_internal_(csched_thread **result, const char *name, void (*at_end)(void *), void *context) {
  csched_thread_options options = {.name = name[0] != 0 ? name : NULL, .at_end = at_end, .context = context};
  return start_thread(result, &options, true);
}

csched_loop *csched_thread_loop(const csched_thread *thread) { return thread->loop; }
bool csched_thread_is_current(const csched_thread *thread) { return csched_loop_is_on_thread(thread->loop); }
bool csched_thread_is_orphaned(const csched_thread *thread) { return csched_loop_is_orphaned_(thread->loop); }

void csched_thread_stop(csched_thread *thread, csched_stop_policy policy) {
  csched_require_policy_(policy, "csched_thread_stop");
  csched_loop_close(thread->loop, policy);
}

// Does: waits until the thread has ended. Returns: 0; EDEADLK: the caller is that thread.
int csched_thread_join(csched_thread *thread) {
  if (csched_thread_is_current(thread)) return EDEADLK;                  // a thread cannot join itself
  csched_loop_require_not_orphaned_(thread->loop, "csched_thread_join"); // TH5: else it would wait for ever
  csched_blocked_begin_("csched_thread_join", csched_loop_target(thread->loop));
  csched_lock_lock(&thread->join_lock); // TH4: the first caller joins; later callers wait here for that
  if (!thread->is_joined) csched_os_thread_join_(thread->os);
  thread->is_joined = true;
  csched_lock_unlock(&thread->join_lock);
  csched_blocked_end_();
  return 0;
}

void csched_thread_destroy(csched_thread *thread) {
  if (csched_loop_is_orphaned_(thread->loop)) return; // TH5: does nothing: its thread is in the parent
  csched_thread_stop(thread, CSCHED_STOP_RUN);
  // No lock: the caller guarantees that no other thread is in a call on the handle.
  if (!thread->is_joined) csched_os_thread_detach_(thread->os); // TH4: a join has released the system's thread already
  release_thread(thread);                                       // the reference of the handle
}
