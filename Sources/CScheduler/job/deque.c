// The deque of a worker's forked jobs (Chase-Lev): the owner pushes and pops at the bottom (deque_internal.h), thieves steal from the top.
//
// States
//   top, bottom  64-bit numbers that never repeat. The entries are `top`, the oldest, to `bottom` - 1; entry n is in slot n % SLOTS. `top` only
//                grows. Only the owner writes `bottom`. While the owner pops the last entry, or finds it stolen, `bottom` is at most `top`
//
// Invariants
//   DQ1  Each entry is removed once. A thief steals the entry at `top` by a compare-and-exchange that moves `top` past the entry. The owner pops the
//        last entry in the same way, and other entries without one: it lowers `bottom`, executes a full fence, and then finds `top` below `bottom`. A
//        thief reads `top`, executes a full fence, and then reads `bottom`. So the thief sees that the entry was popped, or the owner sees that `top`
//        has reached the entry.
//   DQ2  A thief sees what the owner wrote before the push.
//   DQ3  A slot is reused only after its entry was read and removed. A thief reads the slot before it moves `top`. The owner writes the slot after it
//        has seen the new `top`.
//   DQ4  csched_deque_is_empty_ after a full fence sees each entry whose push was followed by an earlier full fence. Exceptions: an entry that was
//        removed, and the last entry while its owner is popping it.
// Orderings
//   bottom: push and pop release, pairs with steal's acquire, carries the entries below; pop restores `bottom` relaxed, because the deque is empty
//   top: steal's compare-and-exchange release, pairs with push's acquire: the slot was read; otherwise relaxed, ordered by fences · slots: relaxed
// Assumes: one owner at a time; each owner is ordered after the previous owner.
// Source: Chase and Lev, "Dynamic circular work-stealing deque", with the fences of Lê, Pop, Cohen and Zappa Nardelli, "Correct and efficient
//   work-stealing for weak memory models". This deque is bounded. Its compare-and-exchanges are not sequentially consistent: a full fence also orders
//   what was read before it, as C++20 says and C11 did not, and as all processors do. Documentation/Internals/Targets.md says why the fences are full
//   ones.
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
