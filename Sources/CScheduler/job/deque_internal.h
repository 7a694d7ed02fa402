// A bounded deque: its owner pushes and pops at the bottom, thieves steal from the top. The protocol is described in
// deque.c.
// Depends on: atomic.h.
#pragma once

#include <CScheduler/atomic.h>

enum { CSCHED_DEQUE_SLOTS = 64 };

/// All zero is an empty deque. Thieves write `top`, and so does an owner that takes. The owner writes `bottom` and the
/// slots, on other cache lines.
typedef struct csched_deque {
  CSCHED_CACHE_ALIGNED uint64_t top;    ///< the oldest entry's number; it only grows
  CSCHED_CACHE_ALIGNED uint64_t bottom; ///< the number of the next entry to be pushed; only the owner writes it
  void *slots[CSCHED_DEQUE_SLOTS];      ///< entry n is in slot n % CSCHED_DEQUE_SLOTS
} csched_deque;

/// Does: adds `entry` at the bottom. Returns: false, and adds nothing, when the deque is full. Thread: the owner.
/// Lock-free.
static inline bool csched_deque_push_(csched_deque *deque, void *entry) {
  uint64_t bottom = csched_load_relaxed(&deque->bottom); // DQ1: only the owner writes it, so relaxed is enough
  uint64_t top = csched_load_acquire(&deque->top);       // DQ3: pairs with steal's release: the thief has read the slot
  if (CSCHED_UNLIKELY(bottom - top >= CSCHED_DEQUE_SLOTS)) return false;
  csched_store_relaxed(&deque->slots[bottom % CSCHED_DEQUE_SLOTS], entry); // DQ2: `bottom` publishes the slot
  csched_store_release(&deque->bottom, bottom + 1);                        // DQ2: release; pairs with steal's acquire
  return true;
}

/// Does: removes the newest entry. Returns: the entry; NULL when the deque is empty. Thread: the owner. Lock-free.
static inline void *csched_deque_pop_(csched_deque *deque) {
  uint64_t bottom = csched_load_relaxed(&deque->bottom); // DQ1: only the owner writes it, so relaxed is enough
  uint64_t top = csched_load_relaxed(&deque->top);       // Speed only: skips the fence if the deque is empty
  if (top == bottom) return NULL;
  csched_store_release(&deque->bottom, --bottom); // DQ1, DQ2: before the fence; pairs with steal's acquire
  csched_fence_full();                            // DQ1: orders the store and the next load; pairs with steal's fence
  top = csched_load_relaxed(&deque->top);         // DQ1: after the fence: else a thief may get the entry, too
  void *entry = csched_load_relaxed(&deque->slots[bottom % CSCHED_DEQUE_SLOTS]); // DQ2: relaxed: the owner wrote it
  if (CSCHED_LIKELY((int64_t)(bottom - top) > 0)) return entry; // older entries remain: no thief can reach this one
  if (top != bottom || !csched_cas_relaxed(&deque->top, &top, bottom + 1)) entry = NULL; // DQ1: a thief was first
  csched_store_relaxed(&deque->bottom, bottom + 1); // DQ1: the deque is empty: undoes the decrement
  return entry;
}

/// Does: removes the oldest entry, unless the owner has stored `end` in `*word` before it pushed that entry. `word`
/// NULL: any entry. Returns: the entry; NULL when the deque is empty, or `*word` is `end`. Thread: any. Lock-free.
void *csched_deque_steal_until_(csched_deque *deque, const uint32_t *word, uint32_t end);

/// Does: removes the oldest entry. Returns: the entry; NULL when the deque is empty. Thread: any. Lock-free.
static inline void *csched_deque_steal_(csched_deque *deque) { return csched_deque_steal_until_(deque, NULL, 0); }

/// Does: removes the oldest entry. Requires: the owner never pops, so the deque is a queue. Returns: the entry; NULL
/// when the deque is empty. Thread: any. Lock-free.
static inline void *csched_deque_take_(csched_deque *deque) {
  uint64_t top = csched_load_relaxed(&deque->top); // DQ6: rechecked by the cas
  for (;;) {
    uint64_t bottom = csched_load_acquire(&deque->bottom); // DQ2: pairs with push's release
    if ((int64_t)(bottom - top) <= 0) return NULL;
    void *entry = csched_load_relaxed(&deque->slots[top % CSCHED_DEQUE_SLOTS]);      // DQ3: as in a steal
    if (CSCHED_LIKELY(csched_cas_release(&deque->top, &top, top + 1))) return entry; // DQ6, DQ3: pairs with push
  }
}

/// Does: removes the oldest entries, at most `most` and at most half of them, rounded up, and stores them in `entries`,
/// the oldest first. Requires: the owner never pops. Returns: their number. Thread: any. Lock-free.
size_t csched_deque_take_half_(csched_deque *deque, void **entries, size_t most);

/// Returns: how many entries the deque seems to have. Thread: any; exact on the owner's if no thread takes or steals.
static inline size_t csched_deque_count_(const csched_deque *deque) {
  uint64_t top = csched_load_relaxed(&deque->top); // racy read: before `bottom`, so that the result is not too small
  int64_t count = (int64_t)(csched_load_relaxed(&deque->bottom) - top); // racy read
  return count > 0 ? (size_t)count : 0;
}

/// Returns: whether the deque seems to be empty. The answer is exact after a full fence (deque.c, DQ4). Thread: any.
static inline bool csched_deque_is_empty_(const csched_deque *deque) {
  uint64_t top = csched_load_relaxed(&deque->top);       // DQ4: the caller's fence shows earlier pushes
  uint64_t bottom = csched_load_relaxed(&deque->bottom); // DQ4: the caller's fence shows earlier pushes
  return (int64_t)(bottom - top) <= 0;                   // `bottom` may be `top` - 1 during a pop
}
