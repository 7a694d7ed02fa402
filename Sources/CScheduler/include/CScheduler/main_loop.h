// The loop of the main thread.
// Depends on: loop.h.
#ifndef CSCHED_MAIN_LOOP_H
#define CSCHED_MAIN_LOOP_H

#include <CScheduler/loop.h>

CSCHED_BEGIN_DECLS

/// Returns: the main thread's loop, created by the first call; it exists as long as the process. It runs while the main
/// thread runs it (csched_loop_run), or while the host to which the main thread gave it drives it (loop_fd.h). The loop
/// is bound to the main thread by the first call on that thread. Thread: any.
csched_loop *csched_main_loop(void);

/// Returns: whether the caller is the thread that the process started with. In a child of fork that is the thread that
/// forked, which then owns the main loop. If the loop belonged to another thread in the parent, the child's loop has
/// none of its work. Thread: any.
bool csched_is_main_thread(void);

/// Does: records that a host drives the main loop and must be notified of submissions. A child of fork clears this.
/// Thread: any. Private.
void csched_main_loop_set_hosted_(void);

/// Does: forbids csched_shutdown: a later call stops the process. Called if all tasks of a Swift program run on this
/// library. Thread: any. Private.
void csched_main_loop_keep_(void);

/// Returns: whether csched_main_loop_keep_ was called. Thread: any. Private.
bool csched_main_loop_is_kept_(void);

/// Returns: whether csched_main_loop_set_hosted_ was called in this process. Thread: any. Private.
bool csched_main_loop_is_hosted_(void);

/// Does: after a submission to the main loop, has a thread watch that `loop`, unless the program is known to run it. If
/// work then waits for two seconds, while nothing runs the loop and the main thread sleeps, the thread calls `report`,
/// once in a process. `is_due`: whether the submitted work may run now. Thread: any. Private.
void csched_main_loop_watch_(csched_loop *loop, bool is_due, void (*report)(void));

/// Does: tells csched_main_loop_watch_ that the program, or its host, runs the main loop from now on (true), or no
/// longer (false). Thread: any. Private.
void csched_main_loop_set_running_(bool is_running);

/// Does: for csched_shutdown: closes the main loop permanently. On the loop's thread it also runs or drops outstanding
/// work, as `policy` says, and frees the loop's memory. It may be called again. Thread: any, outside jobs. Private.
void csched_main_loop_end_(csched_stop_policy policy);

CSCHED_END_DECLS

#endif
