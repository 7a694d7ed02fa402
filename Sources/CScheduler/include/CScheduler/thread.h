// A thread with a run loop: runs all its jobs on one thread, in order.
// Depends on: loop.h.
//
// Use it for state that is confined to one thread: a database handle, a GL context, an interpreter.
//
// A job may end its thread (pthread_exit, cancellation). The library then ends the job, and drops outstanding work, as
// by CSCHED_STOP_DROP. Catch C++ exceptions inside the job: an exception that escapes a job ends the process
// (std::terminate). In a child of fork the thread is orphaned, unless one of its jobs called fork. Submitting, rearming
// or joining then stops the process with a message; stopping or destroying does nothing.
#ifndef CSCHED_THREAD_H
#define CSCHED_THREAD_H

#include <CScheduler/loop.h>

CSCHED_BEGIN_DECLS

typedef struct csched_thread csched_thread;

/// How the system schedules the thread.
typedef enum csched_thread_policy {
  CSCHED_POLICY_DEFAULT, ///< that of the thread that calls csched_thread_start
  CSCHED_POLICY_NICE,    ///< `priority` is its nice value, from -20 to 19
  CSCHED_POLICY_FIFO,    ///< real time: `priority` is 1 to 99 on Linux; precedes non-real-time threads until it sleeps
  CSCHED_POLICY_ROUND_ROBIN, ///< as FIFO, but alternates with threads of equal priority
} csched_thread_policy;

/// How to start a thread. All zero is the default.
typedef struct csched_thread_options {
  const char *name; ///< shown by system tools; cut at 15 bytes, not inside a UTF-8 character; NULL: the default
  void (*at_end)(void *context); ///< called on the thread after all its work; may be NULL
  void *context;                 ///< the argument of at_end
  /// Bytes; 0: the system's default. A smaller size is raised to the system's minimum (16 KB) plus a signal's frame and
  /// handler, and the program's thread-locals, which are stored on the stack: enough for small jobs and all that the
  /// library calls on the thread.
  size_t stack_size;
  const unsigned *processors;  ///< where the thread may run: numbers from 0, as in system tools; read during the start
  size_t processor_count;      ///< how many numbers; 0: the processors of the thread that starts it
  csched_thread_policy policy; ///< threads that it starts inherit a nice value above 0, but not real time
  int priority;                ///< its meaning depends on `policy`
} csched_thread_options;

/// Does: starts a thread, and returns once it is ready for work. `options` may be NULL. Returns: 0, or an errno value,
/// with nothing allocated and `at_end` not called. EAGAIN or ENOMEM: the system has no thread or memory left. EINVAL:
/// no such processor, policy or priority, or one that this process may not use. EPERM or EACCES: this process may not
/// use the policy or priority (Linux: RLIMIT_RTPRIO, RLIMIT_NICE, CAP_SYS_NICE). ENOTSUP: the system does not support
/// the option for a thread (Darwin). Thread: any.
int csched_thread_start(csched_thread **thread, const csched_thread_options *options);

/// Returns: the thread's loop, for functions that need a loop (csched_loop_rearm, an activation). Do not destroy it.
/// Thread: any.
csched_loop *csched_thread_loop(const csched_thread *thread);

/// Returns: the target of the thread's loop, to submit to (target.h). Valid as long as the handle. Thread: any.
CSCHED_INLINE csched_target *csched_thread_target(const csched_thread *thread) {
  return csched_loop_target(csched_thread_loop(thread));
}

/// Returns: whether the caller runs on this thread. Thread: any.
bool csched_thread_is_current(const csched_thread *thread);

/// Returns: whether the thread was started in the parent process, before fork. Thread: any.
bool csched_thread_is_orphaned(const csched_thread *thread);

/// Does: stops the thread, without waiting: the thread refuses later work, runs or drops outstanding work (`policy`:
/// loop.h), and ends. Thread: any, itself included.
void csched_thread_stop(csched_thread *thread, csched_stop_policy policy);

/// Does: waits until the thread has ended. Several threads may join, also after the thread has ended. Returns: 0;
/// EDEADLK at once when the caller is that thread. Thread: any; it blocks.
int csched_thread_join(csched_thread *thread);

/// Does: stops the thread with CSCHED_STOP_RUN unless it was stopped before, and releases the handle. It does not wait:
/// the thread frees its memory when it ends. To wait, join first. Requires: no thread is in a call on the handle, and
/// none makes one later. Thread: any, itself included.
void csched_thread_destroy(csched_thread *thread);

CSCHED_END_DECLS

#endif
