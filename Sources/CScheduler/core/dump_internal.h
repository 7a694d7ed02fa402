// Shared by the parts of a dump: text, waits, sleepers, the tables that a signal handler writes, and the target of each fork-list entry.
// Depends on: target.h, mpsc_internal.h, text.h, platform.h.
#pragma once

#include <CScheduler/target.h>

#include "../platform/platform.h"
#include "mpsc_internal.h"
#include "text.h"

/// At most this many pending jobs of one queue are counted.
enum { CSCHED_DUMP_PENDING = 1000 };

/// Does: adds `kind`, then the address and the name of the target.
void csched_text_target_(csched_text *text, const char *kind, const void *target, const char *name);
/// Does: adds `before`, "thread", and the thread's number and name. Thread: any, except in a signal handler: it may open a file.
void csched_text_thread_(csched_text *text, const char *before, uint32_t thread);
void csched_text_pending_(csched_text *text, const char *before, csched_mpsc_seen seen);
void csched_text_delayed_(csched_text *text, size_t count, csched_time first, csched_time now);

/// What a thread waits for. Only that thread writes it; dumps read it. All zero: the thread does not wait.
typedef struct csched_dump_wait {
  const char *function; ///< NULL: the thread does not wait
  const void *what;
  csched_time since;
} csched_dump_wait;
/// Does: notes that the calling thread waits for `what` in `function`, a constant string, until csched_wait_is_over_.
void csched_wait_is_seen_(const char *function, const void *what);
void csched_wait_is_over_(void);

/// A thread that sleeps for a lock or another blocking object.
typedef struct csched_sleeping {
  const char *kind;
  const void *address;
  csched_time since;
  uint32_t thread, owner; ///< `owner`: for csched_lock_thread_of_; 0 unless `address` is an owned lock
} csched_sleeping;
/// Does: copies at most `most` sleepers of bucket number `bucket` (parking.h). Returns: how many.
int csched_sleepers_look_(int bucket, csched_sleeping *found, int most);

/// A slot in the table of threads that a signal handler writes.
typedef struct csched_dump_slot csched_dump_slot;
enum { CSCHED_DUMP_SLOTS = CSCHED_DUMP_ROOM };
struct csched_recorder;
/// Does: enters `thread` until its end. `*top` is its innermost context frame (`csched_level`). Returns: NULL when the table is full.
csched_dump_slot *csched_dump_take_slot_(uint32_t thread, csched_level *const *top,
                                         const struct csched_recorder *recorder);
void csched_dump_give_slot_(csched_dump_slot *slot); ///< NULL: the thread got no slot
/// Returns: the `top` of the slot's thread, and in `thread` its number; NULL: the slot is free. Thread: any, also in a signal handler.
csched_level *const *csched_dump_see_slot_(int slot, uint32_t *thread);
/// Returns: the recorder of the slot's thread, under the same rules.
const struct csched_recorder *csched_dump_see_recorder_(int slot, uint32_t *thread);

/// Does: enters a loop, until its end, in the table that a signal handler writes. When the table is full, the loop is only counted.
void csched_dump_take_loop_(const csched_target *loop);
void csched_dump_give_loop_(const csched_target *loop);
/// Does: copies the number of the loop's thread (0: none), whether the loop is closed, and how many timers it has. Returns: whether the loop could
/// be read. Thread: any, also in a signal handler.
bool csched_loop_see_(const csched_target *loop, uint32_t *thread, uint32_t *closing, size_t *timers);

/// Returns: the target whose entry in the fork list is `atfork`; NULL if the entry is of another kind. Thread: inside csched_os_atfork_visit_.
const csched_target *csched_loop_told_(const csched_atfork *atfork);
const csched_target *csched_pool_told_(const csched_atfork *atfork);
const csched_target *csched_serial_told_(const csched_atfork *atfork);
const csched_target *csched_virtual_told_(const csched_atfork *atfork);
const csched_target *csched_limit_told_(const csched_atfork *atfork);

/// Returns: the timers of `target`, if it is of this kind; else NULL.
csched_timers *csched_loop_timers_seen_(const csched_target *target);
csched_timers *csched_pool_timers_seen_(const csched_target *target);
csched_timers *csched_virtual_timers_seen_(const csched_target *target);
