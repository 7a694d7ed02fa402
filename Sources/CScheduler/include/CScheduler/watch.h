// The watchdog: tells of what takes longer than it should, while it does.
// Depends on: target.h.
#ifndef CSCHED_WATCH_H
#define CSCHED_WATCH_H

#include <CScheduler/target.h>

CSCHED_BEGIN_DECLS

typedef enum csched_watched {
  CSCHED_WATCHED_RUN,  ///< a job runs, on `thread`
  CSCHED_WATCHED_HEAD, ///< nothing has waited longer on `target`, where it is its turn
  CSCHED_WATCHED_WAIT, ///< `thread` waits in `function` of the library's for `what`
} csched_watched;

/// What has taken too long so far. Texts are valid during the call.
typedef struct csched_watch_report {
  csched_watched kind;
  csched_time span;            ///< for how long, in nanoseconds
  uint32_t thread;             ///< the system's number; 0 for HEAD
  const csched_target *target; ///< which may be gone; NULL for WAIT, and where it is not known
  const char *target_name;     ///< what it is, its address and its name, as a dump says them; or ""
  uint64_t waiting;            ///< how many jobs wait on `target`
  uintptr_t code;              ///< what the job calls; 0 for WAIT
  const char *code_name;       ///< the function's name, where the loader knows it; else file and offset
  const char *function;        ///< for WAIT: the function, or the kind of thing that is slept for
  const void *what;            ///< for WAIT: the address of the lock, the job …
} csched_watch_report;

/// Does: has a thread of its own, "csched-watch", call `report(context, …)` once for each job that runs for longer than `span` nanoseconds, for each
/// target whose next job has waited for longer since its time came, and for each wait in the library that blocks for longer: a quarter of `span`,
/// 1 s at the most, later than that. With `report` NULL it writes the same to standard error, with the last events of each
/// thread (csched_recorder_write). It sees jobs that are submitted from now on. A later call takes the place of this one.
/// Returns: 0; EINVAL for a span of 0; ENOMEM, EAGAIN. In a child of fork nobody watches. Thread: any but `report`'s.
int csched_watch_begin(csched_time span, void (*report)(void *context, const csched_watch_report *report),
                       void *context);

/// Does: ends that; when it has returned, `report` is not called any more. Thread: any, `report`'s too, whose call is then the last.
void csched_watch_end(void);

CSCHED_END_DECLS

#endif
