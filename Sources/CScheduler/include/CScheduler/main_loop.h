// The loop of the main thread.
// Depends on: loop.h.
#ifndef CSCHED_MAIN_LOOP_H
#define CSCHED_MAIN_LOOP_H

#include <CScheduler/loop.h>

CSCHED_BEGIN_DECLS

/// Returns: the main thread's loop, created by the first call; it exists as long as the process. It runs while the main thread runs it
/// (csched_loop_run), or while the host to which the main thread gave it drives it (loop_fd.h). The loop is not bound to its thread until this is
/// called on the main thread once. Thread: any.
csched_loop *csched_main_loop(void);

/// Returns: whether the caller is the thread that the process started with. In a child of fork that is the thread that forked. It then has the main
/// loop, without the work that the loop had if it belonged to another thread. Thread: any.
bool csched_is_main_thread(void);

/// Does: records that a host is notified of submissions. A child of fork clears this. Thread: any. Private.
void csched_main_loop_set_hosted_(void);

/// Does: makes csched_shutdown fail from now on, because all tasks of a Swift program run here. Thread: any. Private.
void csched_main_loop_keep_(void);

/// Returns: whether csched_main_loop_keep_ was called. Thread: any. Private.
bool csched_main_loop_is_kept_(void);

/// Returns: whether csched_main_loop_set_hosted_ was called in this process. Thread: any. Private.
bool csched_main_loop_is_hosted_(void);

/// Does: closes the main loop for good. On its thread, also carries out `policy` and frees what the loop has allocated. Further calls are allowed.
/// Thread: any, outside jobs. Private.
void csched_main_loop_end_(csched_stop_policy policy);

CSCHED_END_DECLS

#endif
