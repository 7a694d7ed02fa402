// The table of threads and loops that a signal handler prints (diagnostics/dump_signal.c).
// States of a thread slot
//   0: free. TAKEN: its thread is still writing the slot. Else: the system's number of the slot's thread
// States of a loop slot: NULL: free. Else: the loop
// Invariants
//   DT1  A slot belongs to one thread, from that thread's first context frame until the thread ends. A signal handler
//        may read the slot of a thread that has just ended. So it copies through the slot's pointers by
//        csched_os_copy_if_mapped_, which fails for unmapped memory.
// Orderings
//   thread: release, pairs with the handler's acquire, carries `top` and `recorder`
// Assumes: the table may show a thread or loop that has just ended, or miss one that has just started.
// Source: own design.
// Models: checks/dump.c.

#include "dump_slots.h"

enum { SLOTS = CSCHED_DUMP_SLOTS };
static const uint32_t TAKEN = UINT32_MAX; // not the number of any thread

struct csched_dump_slot {
  uint32_t thread;                 // the system's number; 0 or TAKEN: see States
  struct csched_frame *const *top; // address of the thread's pointer to its innermost context frame
  const void *recorder;            // the thread's csched_recorder
};
static csched_dump_slot slots[SLOTS];
static uint32_t threads_without; // number of threads without a slot
static const void *loops[SLOTS]; // the slots of loops
static uint32_t loops_without;   // number of loops without a slot

csched_dump_slot *csched_dump_add_thread_(uint32_t thread, struct csched_frame *const *top,
                                          const struct csched_recorder *recorder) {
  for (int i = 0; i < SLOTS; i++) {
    uint32_t free = 0;
    if (csched_load_relaxed(&slots[i].thread) != 0 || !csched_cas_relaxed(&slots[i].thread, &free, TAKEN))
      continue;                                         // DT1: the slot of another thread
    csched_store_relaxed(&slots[i].top, top);           // DT1: while TAKEN, no handler reads it
    csched_store_relaxed(&slots[i].recorder, recorder); // DT1: while TAKEN, no handler reads it
    csched_store_release(&slots[i].thread, thread);     // DT1: publishes both fields; pairs with the handler's acquire
    return &slots[i];
  }
  csched_fetch_add_relaxed(&threads_without, 1u); // a count: the table is full
  return NULL;
}

void csched_dump_remove_thread_(csched_dump_slot *slot) {
  if (slot == NULL) csched_fetch_add_relaxed(&threads_without, UINT32_MAX); // subtracts 1 from a count of threads
  else csched_store_relaxed(&slot->thread, 0u);                             // DT1: free; the next owner reads no field
}

struct csched_frame *const *csched_dump_read_slot_(int slot, uint32_t *thread) {
  *thread = csched_load_acquire(&slots[slot].thread); // DT1: then `top` is set; pairs with the release of that store
  return *thread == 0 || *thread == TAKEN ? NULL : csched_load_relaxed(&slots[slot].top); // DT1: maybe freed already
}

const struct csched_recorder *csched_dump_read_recorder_(int slot, uint32_t *thread) {
  return csched_dump_read_slot_(slot, thread) != NULL ? csched_load_relaxed(&slots[slot].recorder)
                                                      : NULL; // DT1: maybe freed: copied with a check
}

void csched_dump_add_loop_(const void *loop) {
  for (int i = 0; i < SLOTS; i++) {
    const void *free = NULL;
    if (csched_load_relaxed(&loops[i]) == NULL && csched_cas_relaxed(&loops[i], &free, loop))
      return; // DT1: takes a free slot; the signal handler copies the loop with a check
  }
  csched_fetch_add_relaxed(&loops_without, 1u); // a count: the table is full
}

void csched_dump_remove_loop_(const void *loop) {
  for (int i = 0; i < SLOTS; i++) {
    if (csched_load_relaxed(&loops[i]) != loop) continue; // DT1: the slot of another loop
    csched_store_relaxed(&loops[i], (const void *)NULL);  // DT1: from now on the table does not show the loop
    return;
  }
  csched_fetch_add_relaxed(&loops_without, UINT32_MAX); // subtracts 1 from a count of loops
}

const void *csched_dump_read_loop_(int slot) {
  return csched_load_relaxed(&loops[slot]); // DT1: maybe freed: the signal handler copies it with a check
}

uint32_t csched_dump_threads_without_(void) { return csched_load_relaxed(&threads_without); } // a count of threads
uint32_t csched_dump_loops_without_(void) { return csched_load_relaxed(&loops_without); }     // a count of loops
