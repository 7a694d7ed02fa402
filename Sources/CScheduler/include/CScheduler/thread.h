// A thread that stays alive between jobs.
// Depends on: loop.h.
//
// A named thread around a run loop: all its jobs run on that one thread, in order, for as long as it lives. The home for what
// is confined to one thread: a database handle, a GL context, an interpreter.
//
// A job that ends its thread (pthread_exit, cancellation) has ended, and what is outstanding is dropped, as by CSCHED_STOP_DROP. An
// exception of C++ must be caught inside of the job: nobody is there to catch it, and the process ends (std::terminate). In a
// child of fork the thread is orphaned, unless its own job forked: to submit, rearm or join stops the process with a message; to
// stop or destroy it does nothing.
#ifndef CSCHED_THREAD_H
#define CSCHED_THREAD_H

#include <CScheduler/loop.h>

CSCHED_BEGIN_DECLS

typedef struct csched_thread csched_thread;

/// How the system chooses among threads that could run.
typedef enum csched_thread_policy {
  CSCHED_POLICY_DEFAULT, ///< as the thread that starts it
  CSCHED_POLICY_NICE,    ///< `priority` is its nice value, from -20 to 19
  CSCHED_POLICY_FIFO, ///< real time: `priority` from 1 to 99 on Linux; before all threads of the others, until it sleeps
  CSCHED_POLICY_ROUND_ROBIN, ///< the same, in turn with those of equal priority
} csched_thread_policy;

/// How to start a thread. All zero is the default.
typedef struct csched_thread_options {
  const char
      *name; ///< shown by the system's tools; cut at 15 bytes, never inside a UTF-8 character; NULL keeps the default
  void (*at_end)(void *context); ///< called on the thread when it has done with all work; may be NULL
  void *context;                 ///< of at_end
  size_t
      stack_size; ///< bytes, at least what the system asks for (16 KB) and the program's thread-locals, whose place is there, too:
                  ///< enough for small jobs, and all that is called here; 0 is the system's default
  const unsigned *
      processors; ///< the numbers of those that it may run on, from 0 on, as the system's tools give them; read during the start
  size_t processor_count; ///< how many numbers; 0: those of the thread that starts it
  csched_thread_policy
      policy;   ///< threads and processes that it starts do not inherit real time, but a nice value above 0
  int priority; ///< as `policy` says
} csched_thread_options;

/// Does: starts a thread; returns once it is ready for work. `options` may be NULL.
/// Returns: 0, or with nothing left behind: EAGAIN or ENOMEM when the system has no thread or memory to give; EINVAL when there is no such
/// processor, policy or priority, or this process may not use the processor; EPERM or EACCES when it may not have the policy or the priority
/// (Linux: RLIMIT_RTPRIO, RLIMIT_NICE, CAP_SYS_NICE); ENOTSUP where the system has no such thing for a thread (Darwin). `at_end` is not called
/// then. Thread: any.
int csched_thread_start(csched_thread **thread, const csched_thread_options *options);

/// Returns: the thread's loop, for what only it can do (move a timer, end an activation). Do not destroy it. Thread: any.
csched_loop *csched_thread_loop(const csched_thread *thread);

/// Returns: the thread as a target, to submit to (target.h): its loop's. Valid as long as the handle. Thread: any.
CSCHED_INLINE csched_target *csched_thread_target(const csched_thread *thread) {
  return csched_loop_target(csched_thread_loop(thread));
}

/// Returns: whether the caller runs on this thread. Thread: any.
bool csched_thread_is_current(const csched_thread *thread);

/// Returns: whether the thread belongs to the parent of this process, from before fork. Thread: any.
bool csched_thread_is_orphaned(const csched_thread *thread);

/// Does: stops the thread (target.h): it ends after the outstanding work has got what `policy` says. Thread: any, itself included.
void csched_thread_stop(csched_thread *thread, csched_stop_policy policy);

/// Does: waits until the thread has ended. Several threads may wait, and again afterwards.
/// Returns: 0; EDEADLK at once when the caller is that very thread. Thread: any; it blocks.
int csched_thread_join(csched_thread *thread);

/// Does: stops the thread with CSCHED_STOP_RUN unless it has been stopped, and gives up the handle. It does not wait: the thread frees
/// what is left when it ends; join first to wait for that. Requires: no thread is in a call on the handle, and none makes one
/// later. Thread: any, itself included.
void csched_thread_destroy(csched_thread *thread);

CSCHED_END_DECLS

#endif
