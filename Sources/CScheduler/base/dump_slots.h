// The table of threads and loops that a signal handler prints (diagnostics/dump_signal.c).
// Depends on: base.h, platform.h.
#pragma once

#include <CScheduler/base.h>

#include "../platform/platform.h"

struct csched_frame;
struct csched_recorder;

/// A slot in the table of threads.
typedef struct csched_dump_slot csched_dump_slot;
enum { CSCHED_DUMP_SLOTS = CSCHED_DUMP_ROOM };
/// Does: adds `thread` to the table. `*top`: its innermost context frame. Returns: the slot; NULL: the table is full,
/// and the thread is only counted.
csched_dump_slot *csched_dump_add_thread_(uint32_t thread, struct csched_frame *const *top,
                                          const struct csched_recorder *recorder);
/// Does: removes the calling thread, which ends, from the table. `slot`: the result of csched_dump_add_thread_, also if
/// that was NULL.
void csched_dump_remove_thread_(csched_dump_slot *slot);
/// Returns: `top` of slot number `slot`; NULL: the slot is not in use. Out: `*thread`, the thread's number. Thread:
/// any, also in a signal handler.
struct csched_frame *const *csched_dump_read_slot_(int slot, uint32_t *thread);
/// Returns: the recorder of the thread in slot number `slot`; NULL: none, or the slot is not in use. Out, thread: as
/// csched_dump_read_slot_.
const struct csched_recorder *csched_dump_read_recorder_(int slot, uint32_t *thread);

/// Does: adds `loop` to the table. When the table is full, the loop is only counted.
void csched_dump_add_loop_(const void *loop);
void csched_dump_remove_loop_(const void *loop); ///< removes `loop` from the table, or from the count
/// Returns: the loop in slot number `slot`, which may be freed already; NULL: the slot is free. Thread: any, also in a
/// signal handler.
const void *csched_dump_read_loop_(int slot);

/// Returns: how many threads, or loops, have no slot.
uint32_t csched_dump_threads_without_(void);
uint32_t csched_dump_loops_without_(void);
