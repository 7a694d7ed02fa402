// Atomic operations, each named by its memory order.
// Depends on: base.h.
//
// This is the only file that uses the compiler's atomic built-ins; a model checker replaces this file. It is public for
// lock.h's inline code.
//
// There is no sequentially consistent operation. One pattern needs more than acquire and release: two threads each
// publish their own state, then read the other's (Dekker). It uses a pair of fences: csched_fence_light on the frequent
// side, csched_fence_heavy (membarrier) on the rare side.
#ifndef CSCHED_ATOMIC_H
#define CSCHED_ATOMIC_H

#include <CScheduler/base.h>

#define csched_load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define csched_load_flag(p)    __atomic_load_n((p), __ATOMIC_RELAXED) // for flags that a model checker keeps constant
#define csched_is_set(p)       CSCHED_IS_SET(p, csched_load_flag(p))  // csched_load_flag(p) != 0, for a 32-bit word
#define csched_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)

#define csched_store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define csched_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

#define csched_exchange_relaxed(p, v) __atomic_exchange_n((p), (v), __ATOMIC_RELAXED)
#define csched_exchange_acquire(p, v) __atomic_exchange_n((p), (v), __ATOMIC_ACQUIRE)
#define csched_exchange_release(p, v) __atomic_exchange_n((p), (v), __ATOMIC_RELEASE)

#define csched_fetch_add_relaxed(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define csched_fetch_add_release(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELEASE)
#define csched_fetch_add_acq_rel(p, v) __atomic_fetch_add((p), (v), __ATOMIC_ACQ_REL)
#define csched_fetch_or_relaxed(p, v)  __atomic_fetch_or((p), (v), __ATOMIC_RELAXED)
#define csched_fetch_and_relaxed(p, v) __atomic_fetch_and((p), (v), __ATOMIC_RELAXED)

// Compare-and-exchange. `expected` is a pointer; on failure the value found is stored there. A failure is a relaxed
// load. No spurious failures.
#define csched_cas_relaxed(p, expected, v)                                                                             \
  __atomic_compare_exchange_n((p), (expected), (v), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
#define csched_cas_acquire(p, expected, v)                                                                             \
  __atomic_compare_exchange_n((p), (expected), (v), false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)
#define csched_cas_release(p, expected, v)                                                                             \
  __atomic_compare_exchange_n((p), (expected), (v), false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)
#define csched_cas_acq_rel(p, expected, v)                                                                             \
  __atomic_compare_exchange_n((p), (expected), (v), false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)

/// A fence for the compiler only: it moves no memory access across this. The processor may.
#define csched_fence_compiler() __atomic_signal_fence(__ATOMIC_SEQ_CST)

/// A full fence, for csched_fence_light and csched_fence_heavy where the kernel has no membarrier.
#define csched_fence_full() __atomic_thread_fence(__ATOMIC_SEQ_CST)

#endif
