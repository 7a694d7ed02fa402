#if defined(__linux__) // Platform layer for Linux: nice values of threads. See platform.h.
#define _GNU_SOURCE
#include "../platform.h"
#include <errno.h>
#include <sys/resource.h>

// `raised_here`: whether this thread's nice value is above its base: NOT_RAISED, or RAISED_ABOVE + the base (-20 to
// 19). One byte: see task_memory.c.
enum { NOT_RAISED = 0, RAISED_ABOVE = 21 };
static CSCHED_THREAD_LOCAL uint8_t raised_here;

// A table of threads whose nice value is above their base. A thread's number selects a slot, which another thread's
// entry may overwrite: that costs speed only. LIFTING: a thread resets the nice value now (csched_os_thread_lift_).
// LIFTED: it has reset the nice value to the base.
enum { SLOTS = 64 };
static const uint32_t LIFTING = UINT32_C(1) << 30, LIFTED = UINT32_C(1) << 31; // bits in `thread`
static struct { uint32_t thread, base; } raised[SLOTS];                        // `thread` 0: an empty slot

static uint32_t *slot_of(uint32_t thread) { return &raised[thread % SLOTS].thread; }

// Does: enters `thread`, the calling thread, into its slot; with `is_raised` false, removes it from there.
static void note_raised(uint32_t thread, int base, bool is_raised) {
  uint32_t seen = csched_load_relaxed(slot_of(thread));       // racy read, rechecked by the cas
  bool is_here = seen == thread || seen == (thread | LIFTED); // the slot is this thread's
  // A slot of this thread with LIFTING stays unchanged: csched_os_thread_lift_ is about to store its result there.
  if (!is_here && (!is_raised || seen == (thread | LIFTING))) return;
  csched_store_relaxed(&raised[thread % SLOTS].base, (uint32_t)base); // Speed only
  csched_cas_relaxed(slot_of(thread), &seen, is_raised ? thread : 0); // Speed only
}

void csched_os_thread_lift_(uint32_t thread) { // resets the raised nice value of `thread`, and notes it in its slot
  uint32_t seen = csched_load_relaxed(slot_of(thread));                             // racy read, rechecked by the cas
  if (CSCHED_LIKELY(seen != thread) || raised_here != NOT_RAISED) return;           // not raised; or the caller is
  int saved = errno, base = (int)csched_load_relaxed(&raised[thread % SLOTS].base); // Speed only
  uint32_t lifting = thread | LIFTING;
  if (csched_cas_relaxed(slot_of(thread), &seen, lifting)) { // Speed only
    bool is_lifted = setpriority(PRIO_PROCESS, thread, base) == 0;
    csched_cas_relaxed(slot_of(thread), &lifting, is_lifted ? thread | LIFTED : thread); // Speed only
  }
  errno = saved;
}

bool csched_os_thread_is_lifted_(uint32_t thread) {
  return csched_load_relaxed(slot_of(thread)) == (thread | LIFTED); // Speed only
}

static bool set_nice(int nice) { return setpriority(PRIO_PROCESS, 0, nice) == 0; } // 0: the calling thread

// Returns: whether the limit RLIMIT_NICE permits `nice`. A limit n permits nice values of at least 20 - n.
static bool limit_permits(int nice) {
  struct rlimit limit;
  return getrlimit(RLIMIT_NICE, &limit) == 0 && (rlim_t)(20 - nice) <= limit.rlim_cur;
}

// Returns: whether the thread may lower its nice value to `base`: by the limit, or by a capability, which only a trial
// shows. It changes the value.
static bool may_return_to(int base) {
  return limit_permits(base) || (base > -20 ? set_nice(base - 1) : set_nice(base + 1) && set_nice(base));
}

// Returns: in `*nice` the calling thread's nice value; and whether the thread may raise the value, and lower it again.
bool csched_os_thread_has_nice_(int *nice) {
  int saved = errno;
  errno = 0;
  *nice = getpriority(PRIO_PROCESS, 0);
  bool may_raise = errno == 0 && *nice < 19 && may_return_to(*nice); // errno, not -1, shows an error; 19: the highest
  if (may_raise) set_nice(*nice);                                    // restores the value after a trial
  errno = saved;
  return may_raise;
}

bool csched_os_thread_set_nice_(int nice, int base) { // of the calling thread; above `base` only if it may return
  int saved = errno;
  bool is_set = (nice <= base || may_return_to(base)) && set_nice(nice);
  bool is_raised = nice > base;
  if (is_set && (is_raised || raised_here != NOT_RAISED)) { // raised now or before
    raised_here = is_raised ? (uint8_t)(RAISED_ABOVE + base) : NOT_RAISED;
    note_raised(csched_os_thread_id_(), base, is_raised);
  }
  errno = saved;
  return is_set;
}

int csched_os_thread_nice_(void) { return getpriority(PRIO_PROCESS, 0); }

bool csched_os_thread_is_raised_(int *base) {
  if (raised_here != NOT_RAISED) *base = raised_here - RAISED_ABOVE; // decodes the base
  return raised_here != NOT_RAISED;
}
#endif
