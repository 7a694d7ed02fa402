// States
//   top, bottom  numbers that do not come again in 64 bits. The entries are those from `top`, the oldest, to before `bottom`; number n is
//                in slot n % SLOTS. `top` only grows. The owner alone writes `bottom`; while it takes the last entry, or finds it taken,
//                `bottom` is no longer above `top`
//
// Obligations
//   DQ1  Each entry is taken once. A thief takes the one at `top`, and the owner the last one, by the compare-and-exchange of `top` that
//        passes it. The owner takes others without: it lowers `bottom`, full fence, then finds `top` below that; against a thief, who reads
//        `top`, full fence, then `bottom`. So the thief finds the entry gone, or the owner that `top` has come to it.
//   DQ2  A thief sees what the owner did before the push.
//   DQ3  A slot is written again only when its entry has been taken, and read: a thief reads it before it passes the entry, and the
//        owner writes after it has seen that.
//   DQ4  A look finds an entry whose push was followed by a full fence before the looker's, unless it has been taken, or its owner is about to
//        take it, or to lose it to a thief.
// Orderings
//   bottom: push and pop release, pairs with steal's acquire, carries the entries below; pop's way back relaxed, none is left · top: steal's
//   compare-and-exchange release, pairs with push's acquire: the slot has been read; else relaxed, ordered by the fences · slots: relaxed
// Assumes: one owner at a time, and each is ordered after the one before it.
// Source: Chase and Lev, "Dynamic circular work-stealing deque", with the fences of Lê, Pop, Cohen and Zappa Nardelli, "Correct and efficient
//   work-stealing for weak memory models". Bounded; and the compare-and-exchanges are not sequentially consistent: a full
//   fence also orders what was read before it, as C++20 says and C11 did not, and as all processors do. Documentation/Internals/Targets.md says why
//   the fences are full ones.
// Checked by: "forked jobs compute what plain calls do", "forks nested in forks do not deadlock".
// Models: checks/deque.c; checks/pool.c.

#include "deque_internal.h"

void *csched_deque_steal_(csched_deque *deque) {
  for (;;) {
    uint64_t top = csched_load_relaxed(&deque->top);       // DQ1: before the fence
    csched_fence_full();                                   // DQ1: pairs with pop's
    uint64_t bottom = csched_load_acquire(&deque->bottom); // DQ1, DQ2: after the fence; pairs with push's release
    if ((int64_t)(bottom - top) <= 0) return NULL;
    void *entry = csched_load_relaxed(&deque->slots[top % CSCHED_DEQUE_SLOTS]); // DQ3: before the cas
    if (csched_cas_release(&deque->top, &top, top + 1)) return entry; // DQ1, DQ3: release; pairs with push's acquire
  }
}
