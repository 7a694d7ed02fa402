// A watchdog: reports jobs, queues and waits that take longer than a given time, while they last.
// Depends on: target.h.
#ifndef CSCHED_WATCH_H
#define CSCHED_WATCH_H

#include <CScheduler/target.h>

CSCHED_BEGIN_DECLS

typedef enum csched_watched {
  CSCHED_WATCHED_RUN,  ///< a job runs, on `thread`
  CSCHED_WATCHED_HEAD, ///< the next job of `target` has waited too long for its turn
  CSCHED_WATCHED_WAIT, ///< `thread` waits for `what` in the library's `function`
} csched_watched;

/// What takes too long. The texts are valid during the call.
typedef struct csched_watch_report {
  csched_watched kind;
  csched_time span;            ///< nanoseconds so far
  uint32_t thread;             ///< the system's number; 0 for HEAD
  const csched_target *target; ///< may be freed already; NULL for WAIT, and if unknown
  const char *target_name;     ///< its kind, address and name, as in a dump; or ""
  uint64_t waiting;            ///< how many jobs wait on `target`
  uintptr_t code;              ///< the code that the job calls; 0 for WAIT
  const char *code_name;       ///< the function's name, if the loader knows it; else file and offset
  const char *function;        ///< for WAIT: the function, or the kind of object that the thread waits for
  const void *what;            ///< for WAIT: the address of the lock, the job …
} csched_watch_report;

/// Does: starts the watchdog's thread, "csched-watch". It calls `report(context, …)` once for each job that runs longer than `span` nanoseconds, for
/// each target whose next job is overdue by more than that, and for each wait in the library that blocks longer. A report comes up to a quarter of
/// `span` later, at most 1 s. With `report` NULL it writes to standard error, with the last events of each thread (csched_recorder_write). It
/// observes jobs that are submitted from now on. A later call replaces this one. Returns: 0; EINVAL for a span of 0; ENOMEM, EAGAIN. In a child of
/// fork there is no watchdog. Thread: any but `report`'s.
int csched_watch_begin(csched_time span, void (*report)(void *context, const csched_watch_report *report),
                       void *context);

/// Does: ends the watchdog. After it has returned, `report` is not called any more. Thread: any. Called inside `report`, that call of `report` is the
/// last.
void csched_watch_end(void);

CSCHED_END_DECLS

#endif
