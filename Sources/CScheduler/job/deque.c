// The deque of a worker's spawned jobs (fork_join.c) and of its local queue (pool_pick.c), after Chase and Lev: the
// owner pushes and pops at the bottom (deque_internal.h), thieves steal from the top.
//
// States
//   top, bottom  64-bit numbers that never repeat. The entries are `top`, the oldest, to `bottom` - 1; entry n is in
//                slot n % SLOTS. `top` only grows. Only the owner writes `bottom`. While the owner pops the only entry,
//                or finds it stolen, `bottom` is `top` or `top` - 1
//
// Invariants
//   DQ1  Each entry is removed once. A thief steals the entry at `top` by a compare-and-exchange that increments `top`.
//        The owner pops the only entry in the same way, and other entries by stores: it decrements `bottom`, executes a
//        full fence, and reads a `top` below `bottom`. A thief reads `top`, executes a full fence, and reads `bottom`.
//        So the thief sees the new `bottom`, or the owner sees that `top` reached the entry.
//   DQ2  A thief sees what the owner wrote before the push.
//   DQ3  A slot is reused only after its entry was read and removed. A thief reads the slot before it increments `top`.
//        The owner writes the slot after it has seen the new `top`.
//   DQ4  csched_deque_is_empty_ after a full fence sees each entry whose push was followed by an earlier full fence.
//        Exceptions: an entry that was removed, and the only entry while its owner is popping it.
//   DQ5  csched_deque_steal_until_ removes no entry that was pushed after the owner had stored `end` in `*word`. The
//        thief reads `bottom`, which the push has raised, before it reads `*word`. An entry that was pushed later at
//        the same number fails the compare-and-exchange, because `top` has passed that number.
//   DQ6  If the owner never pops, each thread may take entries, one or several, without a fence: all of them remove
//        entries by a compare-and-exchange on `top`, so each entry is removed once.
// Orderings
//   bottom: push and pop release, pairs with steal's acquire, carries the entries below; pop restores `bottom` relaxed,
//   because the deque is empty top: steal's compare-and-exchange release, pairs with push's acquire: the slot was read;
//   otherwise relaxed, ordered by fences · slots: relaxed word: relaxed, ordered by the acquire of `bottom`, which
//   carries the owner's stores before the push
// Assumes: one owner at a time; each owner is ordered after the previous owner.
// Source: Chase and Lev, "Dynamic circular work-stealing deque", with the fences of Lê, Pop, Cohen and Zappa Nardelli,
//   "Correct and efficient work-stealing for weak memory models". This deque is bounded. Its compare-and-exchanges are
//   not sequentially consistent: a full fence also orders the reads before it (in C++20 and on all processors, but not
//   in C11). Why full fences: Documentation/Internals/Targets.md.
// Models: checks/deque.c, checks/fork_join.c, checks/pool_local.c.

#include "deque_internal.h"

size_t csched_deque_take_half_(csched_deque *deque, void **entries, size_t most) {
  uint64_t top = csched_load_relaxed(&deque->top); // DQ6: rechecked by the cas
  for (;;) {
    uint64_t bottom = csched_load_acquire(&deque->bottom); // DQ2: pairs with push's release
    int64_t count = (int64_t)(bottom - top);
    if (count <= 0) return 0;
    size_t half = ((size_t)count + 1) / 2; // `top` may be old: then `count` is too large, and the cas fails
    if (half > most) half = most;
    for (size_t i = 0; i < half; i++)
      entries[i] = csched_load_relaxed(&deque->slots[(top + i) % CSCHED_DEQUE_SLOTS]); // DQ3: before the cas
    if (csched_cas_release(&deque->top, &top, top + half)) return half; // DQ6, DQ3: release; pairs with push's acquire
  }
}

void *csched_deque_steal_until_(csched_deque *deque, const uint32_t *word, uint32_t end) {
  for (;;) {
    uint64_t top = csched_load_relaxed(&deque->top);       // DQ1: before the fence: else the owner may get it, too
    csched_fence_full();                                   // DQ1: orders the two loads; pairs with the fence of pop
    uint64_t bottom = csched_load_acquire(&deque->bottom); // DQ1, DQ2: after the fence; pairs with push's release
    if ((int64_t)(bottom - top) <= 0) return NULL;         // `bottom` may be `top` - 1 during a pop
    void *entry = csched_load_relaxed(&deque->slots[top % CSCHED_DEQUE_SLOTS]); // DQ3: after the cas it may be reused
    if (word != NULL && csched_load_relaxed(word) == end) return NULL;          // DQ5: after the load of `bottom`
    if (csched_cas_release(&deque->top, &top, top + 1)) return entry; // DQ1, DQ3: release; pairs with push's acquire
  }
}
