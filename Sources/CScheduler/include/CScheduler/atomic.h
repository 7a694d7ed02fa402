// Atomic operations, each named by its order. The only file that names the compiler's atomics, and the seam at which a
// model checker takes them over. Public only because lock.h's fast path is inline.
// Depends on: base.h.
//
// There is no bare sequentially consistent operation: the one pattern that needs more than acquire and release (publish
// mine, then look at yours) is spelled with a pair of fences, csched_fence_light on the hot side and csched_fence_heavy
// on the rare one.
#ifndef CSCHED_ATOMIC_H
#define CSCHED_ATOMIC_H

#include <CScheduler/base.h>

#define csched_load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define csched_load_flag(p)    __atomic_load_n((p), __ATOMIC_RELAXED) // the same, of what a model check never changes
#define csched_is_set(p)       CSCHED_IS_SET(p, csched_load_flag(p)) // the same, of a word of 32 bits: whether it is not zero
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

// Compare-and-exchange: `expected` is a pointer and receives what was found. A failure is a relaxed load. Strong.
#define csched_cas_relaxed(p, expected, v)                                                                             \
  __atomic_compare_exchange_n((p), (expected), (v), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
#define csched_cas_acquire(p, expected, v)                                                                             \
  __atomic_compare_exchange_n((p), (expected), (v), false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)
#define csched_cas_release(p, expected, v)                                                                             \
  __atomic_compare_exchange_n((p), (expected), (v), false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)
#define csched_cas_acq_rel(p, expected, v)                                                                             \
  __atomic_compare_exchange_n((p), (expected), (v), false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)

/// Keeps the compiler, and only the compiler, from moving memory accesses across it.
#define csched_fence_compiler() __atomic_signal_fence(__ATOMIC_SEQ_CST)

/// A full fence, for csched_fence_light and csched_fence_heavy where the kernel has no membarrier.
#define csched_fence_full() __atomic_thread_fence(__ATOMIC_SEQ_CST)

#endif
