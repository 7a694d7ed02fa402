// A group: counts work in progress (entries). Threads wait, and notices are called, when the count is 0.
//
// States
//   word      2n              n entries have not left (0: the group is empty); no thread sleeps, and no notice is
//             listed
//             2n | AWAITED    n > 0 entries have not left; a thread may sleep in the bucket (waiting_internal.h), or a
//                             notice may be listed
//   notices   list of the notices to call when the group is empty, newest first; `notices` and AWAITED are set under
//             the bucket's lock
//
// Invariants
//   GR1  A thread sets AWAITED, while the group is not empty, before it sleeps or lists a notice. Then the final leave
//        empties the group under the bucket's lock, and unlinks all sleepers and notices. So no sleeper is missed; each
//        notice is called once, or taken back.
//   GR2  A wait succeeds in two cases only: since it began, its thread has seen the group empty, or the final leave has
//        signalled its thread.
//   GR3  A thread whose wait succeeds, and a notice that is called, see the writes before each leave.
//   GR4  A wait that times out leaves no sleeper in the bucket. If the waiter is signalled at that instant, the wait
//        succeeds.
//   GR5  The final leave does not touch the group after emptying it, because a waiter may free the group. Notices are
//        called outside the lock. A notice is not read after its call.
//   GR6  Misuse stops the process: a leave without an enter, too many entries, and a destroy while a thread waits or an
//        entry has not left.
//   GR7  In a child of fork no thread sleeps, even if AWAITED is set. The notices remain.
//
// Orderings
//   word: acquire, pairs with each leave's release, carries the writes before that leave; all changes are one release
//   sequence · a sleeper: the signal's release carries the writes that the final leave has acquired
// Assumes: PK1, PK3 of parking.c.
// Source: a countdown latch (latch.c) that can count up again. Dispatch's groups use a generation; here the final leave
//   unlinks the sleepers.
// Models: checks/group.c. Not modelled: GR7.

#include <CScheduler/group.h>
#include "../base/panic.h"
#include "../sync/waiting_internal.h"
#include "../targets/target_internal.h"

enum { AWAITED = 1, ONE = 2 }; // ONE: one entry in `word`
enum { EMPTY = 1 };            // the signal to a sleeper: the group is empty

static bool is_empty(const csched_group *group) {
  return csched_load_acquire(&group->word) < ONE; // GR2, GR3: acquire: sees what preceded each leave
}

// Does: sets AWAITED unless the group is empty. Returns: false if the group is empty.
static bool set_awaited_locked(csched_group *group) {
  uint32_t seen = csched_load_relaxed(&group->word);                          // racy read, rechecked by the cas
  while (seen >= ONE)                                                         // not empty
    if (csched_cas_relaxed(&group->word, &seen, seen | AWAITED)) return true; // GR1: so the final leave finds it
  (void)csched_load_acquire(&group->word); // GR2, GR3: it was empty; acquires the leaves' writes
  return false;
}

// Does: sleeps until the group is empty. Returns: true: it has been empty; false: the deadline has passed.
static bool sleep_until_empty(csched_group *group, csched_time deadline) {
  csched_sleeper waiter = csched_waiter_(group); // this thread's entry in the bucket
  csched_bucket *bucket = csched_waiters_lock_(group);
  bool sleeps = set_awaited_locked(group);
  if (sleeps) csched_bucket_insert_locked_(bucket, &waiter, false); // GR1: AWAITED is set; false: at the end
  csched_bucket_unlock_(bucket);
  return !sleeps || csched_waiter_sleep_(&waiter, deadline) == EMPTY; // GR2: empty, or signalled; GR4: timeout
}

// Does: calls the listed notices, the oldest first, by reversing the list.
static void call_notices(csched_group_notice *newest) {
  csched_group_notice *first = NULL;
  for (csched_group_notice *each = newest, *older; each != NULL; each = older) {
    older = each->next;
    each->next = first;
    first = each;
  }
  for (csched_group_notice *each = first, *next; each != NULL; each = next) {
    next = each->next; // GR5: the call may free the notice
    each->call(each);
  }
}

// Does: if the word is still `last` (one entry, AWAITED): empties the group, wakes the sleepers, calls the notices.
// Returns: whether it did.
static bool try_leave_as_last(csched_group *group, uint32_t last) {
  csched_sleepers taken = TAILQ_HEAD_INITIALIZER(taken);
  csched_sleeper *waiter;
  csched_group_notice *notices = NULL;
  csched_bucket *bucket = csched_waiters_lock_(group);
  bool empties = csched_load_relaxed(&group->word) == last; // racy read, rechecked by the cas
  if (empties) {
    notices = group->notices; // GR5: read now: after the compare-and-exchange the group may be freed
    group->notices = NULL;
    empties = csched_cas_acq_rel(&group->word, &last, 0u); // GR2, GR3: acquires the other leaves for the waiters
    if (!empties) group->notices = notices;                // the word has changed: puts the notices back
  }
  for (csched_group_notice *each = empties ? notices : NULL; each != NULL; each = each->next)
    each->back = NULL; // GR1: no longer listed: csched_group_take_back fails
  while (empties && (waiter = csched_bucket_first_locked_(bucket, group)) != NULL)
    csched_waiter_take_locked_(bucket, waiter, &taken); // GR1: unlinks all sleepers, which are signalled below
  csched_bucket_unlock_(bucket);
  csched_waiters_signal_(&taken, EMPTY);
  if (empties) call_notices(notices); // GR1: each notice once
  return empties;
}

void csched_group_init(csched_group *group) { *group = (csched_group)CSCHED_GROUP_INIT; }

void csched_group_enter(csched_group *group, uint32_t count) {
  uint32_t seen = csched_load_relaxed(&group->word); // racy read, rechecked by the cas
  do {
    if (count > CSCHED_GROUP_MOST - seen / ONE)
      csched_panic_("csched_group_enter",
                    "group %p has %u inside, and cannot take %u more. Leave once for each enter.", // GR6: overflow
                    (void *)group, seen / ONE, count);
  } while (!csched_cas_relaxed(&group->word, &seen, seen + count * ONE)); // GR1: keeps AWAITED; publishes nothing
}

void csched_group_leave(csched_group *group) {       // the final leave wakes the sleepers and calls the notices
  uint32_t seen = csched_load_relaxed(&group->word); // racy read, rechecked by the cas
  for (;;) {
    if (seen < ONE) // GR6: more leaves than enters
      csched_panic_("csched_group_leave", "group %p is empty. Leave once for each enter.", (void *)group);
    if (seen == (ONE | AWAITED)) { // the final leave of an awaited group, under the bucket's lock
      if (try_leave_as_last(group, seen)) return;
      seen = csched_load_relaxed(&group->word);                       // racy read, rechecked by the cas
    } else if (csched_cas_release(&group->word, &seen, seen - ONE)) { // GR2, GR3: waiters see what preceded it
      return;
    }
  }
}

void csched_group_wait(csched_group *group) {
  if (!is_empty(group)) sleep_until_empty(group, CSCHED_FOREVER);
}

bool csched_group_wait_until(csched_group *group, csched_time deadline) {
  if (is_empty(group)) return true;
  return (deadline == CSCHED_FOREVER || csched_now() < deadline) && sleep_until_empty(group, deadline);
}

// Does: lists `notice`, so that the final leave calls `call` with it. If the group is empty, calls it now.
void csched_group_call_(csched_group *group, csched_group_notice *notice, void (*call)(csched_group_notice *)) {
  csched_waiter_(group); // called only to register the buckets' fork handler
  csched_bucket *bucket = csched_waiters_lock_(group);
  bool waits = set_awaited_locked(group); // whether the notice must wait for the final leave
  notice->call = call;
  notice->back = NULL; // NULL: not listed
  if (waits) {
    notice->next = group->notices;  // GR1: inserts it as the newest
    notice->back = &group->notices; // the address of the link that points to it
    if (notice->next != NULL) notice->next->back = &notice->next;
    group->notices = notice;
  }
  csched_bucket_unlock_(bucket);
  if (!waits) call(notice); // GR2: the group is empty
}

bool csched_group_take_back(csched_group *group, csched_group_notice *notice) { // Returns: whether it was listed
  csched_bucket *bucket = csched_waiters_lock_(group);
  bool waits = notice->back != NULL; // GR1: listed, so not called yet
  if (waits) {                       // unlinks it
    *notice->back = notice->next;
    if (notice->next != NULL) notice->next->back = notice->back;
    notice->back = NULL;
  }
  csched_bucket_unlock_(bucket);
  return waits;
}

static void submit_notice(csched_group_notice *notice) { csched_target_submit_always_(notice->target, notice->job); }

void csched_group_notify(csched_group *group, csched_group_notice *notice, csched_target *target, csched_job *job) {
  notice->target = target;
  notice->job = job;
  csched_group_call_(group, notice, submit_notice);
}

uint32_t csched_group_count(const csched_group *group) {
  return csched_load_acquire(&group->word) / ONE; // GR3: at 0, the caller sees what preceded each leave
}

void csched_group_destroy(csched_group *group) {
  csched_waiters_require_none_(group, "csched_group_destroy", "group"); // GR6: stops if a thread waits
  uint32_t left = csched_group_count(group);
  if (left != 0)
    csched_panic_("csched_group_destroy", "group %p has %u inside. Destroy it when all have left.", (void *)group,
                  left);
}
