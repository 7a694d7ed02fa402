// A group: how many things are under way, to wait for the instant at which none is, or to be told of it.
// Depends on: target.h.
//
// Enter before a thing is begun, leave when it has ended, on whichever thread. All zero is an empty group; no heap is used. It may be entered
// again when it is empty. On a thread of a pool another one takes the waiter's place; a loop is held up by a wait on its thread. A child of
// fork has the count and the notices, and none of the waiters; what orphaned threads were to leave stays. Not in signal handlers.
#ifndef CSCHED_GROUP_H
#define CSCHED_GROUP_H

#include <CScheduler/target.h>

CSCHED_BEGIN_DECLS

/// Something to do when a group is empty. It is the caller's memory, and the group's from csched_group_notify to its submission. Its fields are
/// private.
typedef struct csched_group_notice {
  struct csched_group_notice *next, **back;
  void (*call)(struct csched_group_notice *notice);
  csched_target *target;
  csched_job *job;
} csched_group_notice;

/// The group. Keep it where it is while it is not empty, or any thread uses it. Who was told that it is empty may free it, if no thread is
/// going to use it: the last to leave does not look at it again after that.
typedef struct csched_group {
  uint32_t word;                ///< private
  csched_group_notice *notices; ///< private
} csched_group;

#define CSCHED_GROUP_INIT                                                                                              \
  { 0, NULL }
#define CSCHED_GROUP_MOST 0x7fffffffu

/// Does: makes an empty group. Requires: nobody uses it. Thread: any.
void csched_group_init(csched_group *group);

/// Does: enters the group for `count` things, each of which is to leave once. More than CSCHED_GROUP_MOST at a time stop the process. Thread: any.
void csched_group_enter(csched_group *group, uint32_t count);

/// Does: leaves the group. What was done before is seen by those who wait or are told. The last one out wakes all who wait, and submits the
/// jobs of the notices, the first given first. Without an enter it stops the process. Thread: any.
void csched_group_leave(csched_group *group);

/// Does: waits until the group is empty, or has been so since the call. Thread: any; it blocks.
void csched_group_wait(csched_group *group);

/// Does: the same until `deadline` (of csched_now) at the most. A deadline in the past does not wait. Returns: whether the group was
/// empty. Thread: any; it blocks.
bool csched_group_wait_until(csched_group *group, csched_time deadline);

/// Does: submits `job` to `target` when the group is empty, once: at once if it is, else on the thread that is the last to leave.
/// Requires: `notice` and `job` are not in use; `target` stays until then. Thread: any; it does not wait.
void csched_group_notify(csched_group *group, csched_group_notice *notice, csched_target *target, csched_job *job);

/// Does: takes a notice back, in a time that depends on nothing. Requires: it was given to `group`, or is all zero. Returns: whether it waited: it is
/// then the caller's again, with its job, which was not submitted; else its job has been submitted, or is about to be. Thread: any.
bool csched_group_take_back(csched_group *group, csched_group_notice *notice);

/// Does: as csched_group_notify, with a call of `call(notice)`, on that thread; the notice is then the callee's. Thread: any. Private.
void csched_group_call_(csched_group *group, csched_group_notice *notice, void (*call)(csched_group_notice *notice));

/// Returns: how many have entered and not left; 0: it is empty, and what was done before that is seen. Thread: any.
uint32_t csched_group_count(const csched_group *group);

/// Does: stops the process with a message if a thread waits, or somebody has not left; otherwise nothing, so that it need not be called.
/// Thread: any.
void csched_group_destroy(csched_group *group);

CSCHED_END_DECLS

#endif
