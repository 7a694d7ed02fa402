// The loop of the main thread.
// Depends on: loop.h.
#ifndef CSCHED_MAIN_LOOP_H
#define CSCHED_MAIN_LOOP_H

#include <CScheduler/loop.h>

CSCHED_BEGIN_DECLS

/// Returns: the one loop of the main thread, made at its first use; it lives as long as the process. It runs when the main thread runs it (csched_loop_run), or the host to which the main thread has given it (loop_fd.h); to be
/// told apart from other threads it must have been asked for on the main thread once. Thread: any.
csched_loop *csched_main_loop(void);

/// Returns: whether the caller is the thread that the process began with; in a child of fork, the one that forked, which then has the
/// main loop, without what another thread's had in it. Thread: any.
bool csched_is_main_thread(void);

/// Does: says that a host is told of what is submitted, until a child of fork. Thread: any. Private.
void csched_main_loop_set_hosted_(void);

/// Does: has csched_shutdown refuse from now on, because all tasks of a Swift program run here. Thread: any. Private.
void csched_main_loop_keep_(void);

/// Returns: whether csched_main_loop_keep_ was called. Thread: any. Private.
bool csched_main_loop_is_kept_(void);

/// Returns: whether that has been said, in this process. Thread: any. Private.
bool csched_main_loop_is_hosted_(void);

/// Does: closes the main loop for good; on its thread it does what `policy` asks for, and gives back what the loop has allocated. Any
/// number of times. Thread: any, outside of jobs. Private.
void csched_main_loop_end_(csched_stop_policy policy);

CSCHED_END_DECLS

#endif
