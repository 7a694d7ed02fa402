// A watchdog: reports jobs, queues and waits that take longer than a given time, while they last, and deadlocks.
// Depends on: target.h.
#ifndef CSCHED_WATCH_H
#define CSCHED_WATCH_H

#include <CScheduler/target.h>

CSCHED_BEGIN_DECLS

/// What a report is about.
typedef enum csched_watched {
  CSCHED_WATCHED_RUN,  ///< a job runs too long, on `thread`
  CSCHED_WATCHED_HEAD, ///< the next job of `target` has waited too long for its start
  CSCHED_WATCHED_WAIT, ///< `thread` waits too long for `what`, in the library's `function`
  /// `thread` waits for `what` in `function`, in a cycle of threads: each waits for the next to unlock a lock, or to
  /// end a job, a sync or its loop
  CSCHED_WATCHED_DEADLOCK,
} csched_watched;

/// What takes too long. The texts are valid during the call.
typedef struct csched_watch_report {
  csched_watched kind;
  csched_time span;            ///< nanoseconds so far; of a deadlock: since the final wait closed the cycle
  uint32_t thread;             ///< the system's number of the thread; 0 for HEAD
  const csched_target *target; ///< compare the address only: it may be freed; NULL for WAIT, and if unknown
  const char *target_name;     ///< kind, address and name of `target`; or ""
  uint64_t waiting;            ///< how many jobs wait on `target`
  uintptr_t code;              ///< the code that the job calls; 0 for WAIT
  const char *code_name;       ///< the function's name, if the loader knows it; else file and offset
  const char *function;        ///< for WAIT and DEADLOCK: the function, or the kind of object that the thread waits for
  const void *what;            ///< for WAIT and DEADLOCK: the address of the lock, the job …
  /// Lines of a dump (dump.h), each with a newline: the thread, the target, and what the thread waits for; for a
  /// deadlock, each thread with what it waits for. Then the call stack of each thread, if csched_watch_stacks is on.
  /// May be empty.
  const char *details;
} csched_watch_report;

/// Does: starts the watchdog's thread, "csched-watch". It calls `report(context, …)` once for each job that runs longer
/// than `span` nanoseconds, each target whose next job is overdue by more than `span`, each wait in the library that
/// blocks longer, and each deadlock in which all waits last longer. A report is up to a quarter of `span` late, at most
/// 1 s; for a deadlock up to twice that. With `report` NULL it writes to standard error, with the most recent events of
/// each thread (csched_recorder_write). It observes jobs that are submitted from now on, and up to 512 waits at a time.
/// A later call replaces this one. The environment variable SCHEDULER_WATCH=1s (or 250ms, 100us) starts the watchdog
/// without a call. Returns: 0; EINVAL for a span of 0; ENOMEM, EAGAIN. In a child of fork there is no watchdog. Thread:
/// any but `report`'s.
int csched_watch_begin(csched_time span, void (*report)(void *context, const csched_watch_report *report),
                       void *context);

/// Does: ends the watchdog. After this call has returned, `report` is not called any more. It may be called inside
/// `report`, whose current call is then the final one. Thread: any.
void csched_watch_end(void);

/// Does: adds the call stacks of threads to reports. Each thread walks its own stack in a handler of `signal`, which
/// remains installed. An interrupted system call is restarted, except those that the system never restarts: sleep,
/// poll, epoll_wait and others fail with EINTR. A thread that blocks the signal is reported without its stack, 100 ms
/// later; SIGPROF is seldom blocked. `signal` 0 turns call stacks off. Returns: 0; EBUSY: the signal has a handler
/// already; EINVAL: it cannot have one; ENOTSUP (musl, Darwin, static programs). Thread: any.
int csched_watch_stacks(int signal);

CSCHED_END_DECLS

#endif
