// What a thread does with the loop that it is built around: the other half of loop.h.
// Depends on: loop.h, delivery_internal.h.
#pragma once

#include <CScheduler/loop.h>

#include "delivery_internal.h"

/// Does: creates a loop that belongs to no thread yet. Returns: NULL when there is no memory.
csched_loop *csched_loop_create_unbound_(void);

/// Does: makes the one loop whose memory is static, and which belongs to no thread yet. Requires: it is called once.
csched_loop *csched_loop_make_static_(void);

/// Does: as csched_loop_destroy, for whoever owns a loop that was not made by csched_loop_create.
void csched_loop_free_(csched_loop *loop);

/// Does: stops the process if `policy` is none.
void csched_require_policy_(csched_stop_policy policy, const char *function);

/// Does: frees what a closed loop has allocated besides itself: it stays a closed loop. Requires: as csched_loop_destroy.
void csched_loop_empty_(csched_loop *loop);

/// Does: gives the loop to the calling thread.
void csched_loop_bind_(csched_loop *loop);

/// Does: takes the loop away from its thread, which is about to end.
void csched_loop_unbind_(csched_loop *loop);

/// Returns: how many jobs the loop that runs on this thread may still take in its batch, to be counted down; NULL: none runs here.
/// It stays valid as long as the calling job.
unsigned *csched_loop_jobs_left_(void);

/// Does: has `courier` deliver and discard in place of the loop's thread whatever may call something of the user's: see delivery.c.
/// Thread: whoever made the loop, before anything is submitted.
void csched_loop_carry_by_(csched_loop *loop, csched_courier *courier);

/// Does: closes the loop and gives the outstanding work what the policy asks for. Thread: the loop's.
void csched_loop_finish_(csched_loop *loop);

/// Returns: the loop's sources. Requires: the calling thread is the loop's; if not, it stops the process.
struct csched_fds *csched_loop_fds_(csched_loop *loop, const char *function);
/// Returns: the same. Thread: any; what it may do with them is loop_fd.h's to say.
struct csched_fds *csched_loop_fds_of_(csched_loop *loop);

/// Returns: the loop's hooks. Requires: as csched_loop_fds_.
struct csched_hooks *csched_loop_hooks_(csched_loop *loop, const char *function);

/// Does: notes of the calling thread's loops what the thread waits for: see waits.c.
void csched_loops_set_waits_for_(csched_target *target);

/// Returns: whether the loop was orphaned by fork.
bool csched_loop_is_orphaned_(const csched_loop *loop);

/// Does: stops the process if it was.
void csched_loop_require_not_orphaned_(const csched_loop *loop, const char *function);

/// Does: in a child of fork, makes an orphaned loop anew, for no thread yet; what it had is the parent's.
void csched_loop_renew_(csched_loop *loop);
