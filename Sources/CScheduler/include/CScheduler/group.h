// A group: counts work in progress; threads wait, or a job is submitted, when the count is 0.
// Depends on: target.h.
//
// Call csched_group_enter before a piece of work starts, and csched_group_leave when the work has ended, on any thread.
// A group whose count is 0 is empty; it may be entered again. All zero is an empty group; no heap is used. While a
// pool's worker waits, the pool may run another worker in its place. On a loop's thread a wait blocks the loop. A child
// of fork has the count and the notices, without the waiters. Entries of threads that do not exist in the child remain
// counted. Not for signal handlers.
#ifndef CSCHED_GROUP_H
#define CSCHED_GROUP_H

#include <CScheduler/target.h>

CSCHED_BEGIN_DECLS

/// A notice: a job to submit when the group is empty. The caller owns the memory; the group uses it from
/// csched_group_notify until the job's submission. Its fields are private.
typedef struct csched_group_notice {
  struct csched_group_notice *next, **back;         // links of the group's list
  void (*call)(struct csched_group_notice *notice); // submits `job`; see csched_group_call_
  csched_target *target;
  csched_job *job;
} csched_group_notice;

/// The group. Do not move it while it is not empty, or any thread uses it. A thread that was notified that the group is
/// empty may free it, if no thread is going to use it: the leave that empties the group does not access it afterwards.
typedef struct csched_group {
  uint32_t word;                ///< private: the count of entries, and whether threads wait
  csched_group_notice *notices; ///< private: the waiting notices
} csched_group;

#define CSCHED_GROUP_INIT                                                                                              \
  { 0, NULL }
#define CSCHED_GROUP_MOST 0x7fffffffu // entries

/// Does: makes an empty group. Requires: no thread uses it. Thread: any.
void csched_group_init(csched_group *group);

/// Does: adds `count` entries; csched_group_leave must be called once for each. More than CSCHED_GROUP_MOST at a time
/// stop the process. Thread: any.
void csched_group_enter(csched_group *group, uint32_t count);

/// Does: removes one entry. Waiters and the notices' jobs see the caller's earlier writes. The leave that empties the
/// group wakes all waiters, and submits the jobs of the notices in the order of csched_group_notify. A leave without an
/// entry stops the process. Thread: any.
void csched_group_leave(csched_group *group);

/// Does: waits until the group is empty, or has been empty for a moment since the call. Thread: any; it blocks.
void csched_group_wait(csched_group *group);

/// Does: as csched_group_wait, until `deadline` (of csched_now, nanoseconds) at the latest. A deadline in the past does
/// not wait. Returns: whether the group was empty at some instant. Thread: any; it blocks.
bool csched_group_wait_until(csched_group *group, csched_time deadline);

/// Does: submits `job` to `target` once, when the group is empty: at once, or on the thread of the leave that empties
/// the group. Requires: `notice` and `job` are not in use; `target` stays valid until the submission. Thread: any; it
/// does not wait.
void csched_group_notify(csched_group *group, csched_group_notice *notice, csched_target *target, csched_job *job);

/// Does: undoes csched_group_notify: removes `notice`, in constant time. Requires: `notice` was added to `group`, or is
/// all zero. Returns: true if the notice was waiting: the caller owns it and its job again. False: it is all zero, or
/// its job has been or will be submitted. Thread: any.
bool csched_group_take_back(csched_group *group, csched_group_notice *notice);

/// Does: as csched_group_notify, but calls `call(notice)` instead of submitting a job; the callee owns the notice from
/// then on. Thread: any. Private.
void csched_group_call_(csched_group *group, csched_group_notice *notice, void (*call)(csched_group_notice *notice));

/// Returns: how many entries remain. 0 means empty: writes before each leave are then visible. Thread: any.
uint32_t csched_group_count(const csched_group *group);

/// Does: stops the process with a message if a thread waits, or an entry remains. Calling it is optional. Thread: any.
void csched_group_destroy(csched_group *group);

CSCHED_END_DECLS

#endif
