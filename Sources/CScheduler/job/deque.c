// The deque of a worker's forked jobs (Chase-Lev): the owner pushes and pops at the bottom (deque_internal.h), thieves steal from the top.
//
// States
//   top, bottom  64-bit numbers that never repeat. The entries are `top`, the oldest, to `bottom` - 1; entry n is in slot n % SLOTS. `top` only
//                grows. Only the owner writes `bottom`. While the owner takes the last entry, or finds it taken, `bottom` is not above `top`
//
// Invariants
//   DQ1  Each entry is taken once. A thief takes the entry at `top`, and the owner the last one, by the compare-and-exchange that moves `top` past
//        it. The owner takes others without one: it lowers `bottom`, executes a full fence, and then finds `top` below that. A thief reads `top`,
//        executes a full fence, and then reads `bottom`. So the thief finds the entry gone, or the owner finds that `top` has reached it.
//   DQ2  A thief sees what the owner wrote before the push.
//   DQ3  A slot is written again only when its entry has been taken, and read. A thief reads the slot before it moves `top`. The owner writes after
//        it has seen the new `top`.
//   DQ4  A check finds an entry whose push was followed by a full fence before the checker's. Exceptions: an entry that was taken, and one that its
//        owner is about to take, or to lose to a thief.
// Orderings
//   bottom: push and pop release, pairs with steal's acquire, carries the entries below; pop restores it relaxed, because no entry is left
//   top: steal's compare-and-exchange release, pairs with push's acquire: the slot was read; else relaxed, ordered by fences · slots: relaxed
// Assumes: one owner at a time; each owner is ordered after the one before it.
// Source: Chase and Lev, "Dynamic circular work-stealing deque", with the fences of Lê, Pop, Cohen and Zappa Nardelli, "Correct and efficient
//   work-stealing for weak memory models". This deque is bounded. Its compare-and-exchanges are not sequentially consistent: a full fence also
//   orders what was read before it, as C++20 says and C11 did not, and as all processors do. Documentation/Internals/Targets.md says why the fences
//   are full ones.
// Checked by: "forked jobs compute what plain calls do", "forks nested in forks do not deadlock".
// Models: checks/deque.c; checks/pool.c.

#include "deque_internal.h"

void *csched_deque_steal_(csched_deque *deque) {
  for (;;) {
    uint64_t top = csched_load_relaxed(&deque->top);       // DQ1: before the fence
    csched_fence_full();                                   // DQ1: pairs with pop's fence
    uint64_t bottom = csched_load_acquire(&deque->bottom); // DQ1, DQ2: after the fence; pairs with push's release
    if ((int64_t)(bottom - top) <= 0) return NULL;
    void *entry = csched_load_relaxed(&deque->slots[top % CSCHED_DEQUE_SLOTS]); // DQ3: before the cas
    if (csched_cas_release(&deque->top, &top, top + 1)) return entry; // DQ1, DQ3: release; pairs with push's acquire
  }
}
