// What the parts of a dump share: words that all of them use, and each kind's answer to who it is.
// Depends on: target.h, mpsc_internal.h, text.h, platform.h.
#pragma once

#include <CScheduler/target.h>

#include "../platform/platform.h"
#include "mpsc_internal.h"
#include "text.h"

/// How far what is pending in one queue is counted.
enum { CSCHED_DUMP_PENDING = 1000 };

/// Does: adds `kind`, the address and the name.
void csched_text_target_(csched_text *text, const char *kind, const void *target, const char *name);
/// Does: adds `before`, and "thread", with number and name. Thread: any but a signal handler's: it may open a file.
void csched_text_thread_(csched_text *text, const char *before, uint32_t thread);
void csched_text_pending_(csched_text *text, const char *before, csched_mpsc_seen seen);
void csched_text_delayed_(csched_text *text, size_t count, csched_time first, csched_time now);

/// What a thread waits for: its own to write, and looked at by dumps. All zero: for nothing.
typedef struct csched_dump_wait {
  const char *function; ///< NULL: it does not wait
  const void *what;
  csched_time since;
} csched_dump_wait;
/// Does: notes that the calling thread waits for `what` in `function`, a constant, until csched_wait_is_over_.
void csched_wait_is_seen_(const char *function, const void *what);
void csched_wait_is_over_(void);

/// Who sleeps for a lock, or the like.
typedef struct csched_sleeping {
  const char *kind;
  const void *address;
  csched_time since;
  uint32_t thread, owner; ///< `owner` is that of a lock, else 0
} csched_sleeping;
/// Does: writes down who sleeps in the bucket of that number (parking.h), `most` at the most. Returns: how many.
int csched_sleepers_look_(int bucket, csched_sleeping *found, int most);

/// A place in the table of threads that a signal handler writes.
typedef struct csched_dump_slot csched_dump_slot;
enum { CSCHED_DUMP_SLOTS = CSCHED_DUMP_ROOM };
struct csched_recorder;
/// Does: enters `thread`, whose innermost level `*top` is, until its end. Returns: NULL when the table is full.
csched_dump_slot *csched_dump_take_slot_(uint32_t thread, csched_level *const *top,
                                         const struct csched_recorder *recorder);
void csched_dump_give_slot_(csched_dump_slot *slot); ///< NULL is none
/// Returns: what the thread of that slot is on, and in `thread` its number; NULL: it is nobody's. Thread: any, in a handler too.
csched_level *const *csched_dump_see_slot_(int slot, uint32_t *thread);
/// Returns: the recorder of the thread of that slot, in the same way.
const struct csched_recorder *csched_dump_see_recorder_(int slot, uint32_t *thread);

/// Does: enters a loop into the table that a signal handler writes, until its end. A table that is full goes on without it.
void csched_dump_take_loop_(const csched_target *loop);
void csched_dump_give_loop_(const csched_target *loop);
/// Does: copies the number of a loop's thread, 0 for none, whether it takes no more, and how many timers it has. Returns: whether the loop is there. Thread: any, in
/// a handler too.
bool csched_loop_see_(const csched_target *loop, uint32_t *thread, uint32_t *closing, size_t *timers);

/// Returns: the target that is told of forks by `atfork`; NULL when that belongs to another kind. Thread: inside of csched_os_atfork_visit_.
const csched_target *csched_loop_told_(const csched_atfork *atfork);
const csched_target *csched_pool_told_(const csched_atfork *atfork);
const csched_target *csched_serial_told_(const csched_atfork *atfork);
const csched_target *csched_virtual_told_(const csched_atfork *atfork);
const csched_target *csched_limit_told_(const csched_atfork *atfork);

/// Returns: where the timers of `target` wait, if it is of that kind; else NULL.
csched_timers *csched_loop_timers_seen_(const csched_target *target);
csched_timers *csched_pool_timers_seen_(const csched_target *target);
csched_timers *csched_virtual_timers_seen_(const csched_target *target);
