// Replaces the library's atomic.h in a build for helgrind or DRD: the same operations, each announced to the tool.
// Fences are not announced: they order atomic words only. Releases and acquires publish the data.
#ifndef CSCHED_ATOMIC_H
#define CSCHED_ATOMIC_H

#include <CScheduler/base.h>

#include "../annotate.h"

#define SHADOW_LOAD(p, order, system_order) SHADOW_VALUE(p, order, __atomic_load_n(pointer_, (system_order)))
#define SHADOW_CHANGE(p, operation, v, order, system_order)                                                            \
  SHADOW_VALUE(p, order, operation(pointer_, (v), (system_order)))
#define SHADOW_CAS(p, expected, v, order, system_order)                                                                \
  __extension__({                                                                                                      \
    __typeof__(p) pointer_ = (p);                                                                                      \
    shadow_before(pointer_, sizeof *pointer_, order);                                                                  \
    bool is_done_ = __atomic_compare_exchange_n(pointer_, (expected), (v), false, (system_order), __ATOMIC_RELAXED);   \
    shadow_after(pointer_, is_done_ ? (order) : SHADOW_RELAXED);                                                       \
    is_done_;                                                                                                          \
  })

#define csched_load_relaxed(p) SHADOW_LOAD(p, SHADOW_RELAXED, __ATOMIC_RELAXED)
#define csched_load_acquire(p) SHADOW_LOAD(p, SHADOW_ACQUIRE, __ATOMIC_ACQUIRE)
#define csched_load_flag(p)    csched_load_relaxed(p)
#define csched_is_set(p)       (csched_load_relaxed(p) != 0)

#define csched_store_relaxed(p, v) SHADOW_STORE(p, v, SHADOW_RELAXED, __ATOMIC_RELAXED)
#define csched_store_release(p, v) SHADOW_STORE(p, v, SHADOW_RELEASE, __ATOMIC_RELEASE)

#define csched_exchange_relaxed(p, v) SHADOW_CHANGE(p, __atomic_exchange_n, v, SHADOW_RELAXED, __ATOMIC_RELAXED)
#define csched_exchange_acquire(p, v) SHADOW_CHANGE(p, __atomic_exchange_n, v, SHADOW_ACQUIRE, __ATOMIC_ACQUIRE)
#define csched_exchange_release(p, v) SHADOW_CHANGE(p, __atomic_exchange_n, v, SHADOW_RELEASE, __ATOMIC_RELEASE)

#define csched_fetch_add_relaxed(p, v) SHADOW_CHANGE(p, __atomic_fetch_add, v, SHADOW_RELAXED, __ATOMIC_RELAXED)
#define csched_fetch_add_release(p, v) SHADOW_CHANGE(p, __atomic_fetch_add, v, SHADOW_RELEASE, __ATOMIC_RELEASE)
#define csched_fetch_add_acq_rel(p, v) SHADOW_CHANGE(p, __atomic_fetch_add, v, SHADOW_BOTH, __ATOMIC_ACQ_REL)
#define csched_fetch_or_relaxed(p, v)  SHADOW_CHANGE(p, __atomic_fetch_or, v, SHADOW_RELAXED, __ATOMIC_RELAXED)
#define csched_fetch_and_relaxed(p, v) SHADOW_CHANGE(p, __atomic_fetch_and, v, SHADOW_RELAXED, __ATOMIC_RELAXED)

#define csched_cas_relaxed(p, expected, v) SHADOW_CAS(p, expected, v, SHADOW_RELAXED, __ATOMIC_RELAXED)
#define csched_cas_acquire(p, expected, v) SHADOW_CAS(p, expected, v, SHADOW_ACQUIRE, __ATOMIC_ACQUIRE)
#define csched_cas_release(p, expected, v) SHADOW_CAS(p, expected, v, SHADOW_RELEASE, __ATOMIC_RELEASE)
#define csched_cas_acq_rel(p, expected, v) SHADOW_CAS(p, expected, v, SHADOW_BOTH, __ATOMIC_ACQ_REL)

#define csched_fence_compiler() __atomic_signal_fence(__ATOMIC_SEQ_CST)
#define csched_fence_full()     __atomic_thread_fence(__ATOMIC_SEQ_CST)

#endif
