// The tests' own atomic operations, made known to helgrind or DRD as the library's are.
#ifndef SHADOW_STDATOMIC_H
#define SHADOW_STDATOMIC_H

#include_next <stdatomic.h>
#include <stdint.h>

#include "annotate.h"

#undef atomic_load
#undef atomic_load_explicit
#undef atomic_store
#undef atomic_store_explicit
#undef atomic_fetch_add
#undef atomic_fetch_add_explicit
#undef atomic_fetch_sub_explicit

// The order by the tool's name for it: acquire for what loads, release for what stores.
#define SHADOW_IF_ORDERED(system_order, order) ((system_order) == memory_order_relaxed ? SHADOW_RELAXED : (order))

#define atomic_load_explicit(p, o)     SHADOW_VALUE(p, SHADOW_IF_ORDERED(o, SHADOW_ACQUIRE), __atomic_load_n(pointer_, (o)))
#define atomic_store_explicit(p, v, o) SHADOW_STORE(p, v, SHADOW_IF_ORDERED(o, SHADOW_RELEASE), (o))
#define atomic_fetch_add_explicit(p, v, o)                                                                             \
  SHADOW_VALUE(p, SHADOW_IF_ORDERED(o, SHADOW_BOTH), __atomic_fetch_add(pointer_, (v), (o)))
#define atomic_fetch_sub_explicit(p, v, o)                                                                             \
  SHADOW_VALUE(p, SHADOW_IF_ORDERED(o, SHADOW_BOTH), __atomic_fetch_sub(pointer_, (v), (o)))

#define atomic_load(p)         atomic_load_explicit(p, memory_order_seq_cst)
#define atomic_store(p, v)     atomic_store_explicit(p, v, memory_order_seq_cst)
#define atomic_fetch_add(p, v) atomic_fetch_add_explicit(p, v, memory_order_seq_cst)

#endif
