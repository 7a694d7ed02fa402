// Announces one atomic operation to a valgrind tool. Helgrind and DRD see the instructions, not their ordering.
#ifndef SHADOW_ANNOTATE_H
#define SHADOW_ANNOTATE_H

#include <stddef.h>

#define SHADOW_RELAXED 0
#define SHADOW_ACQUIRE 1
#define SHADOW_RELEASE 2
#define SHADOW_BOTH    3

/// Before the operation. The word itself cannot race; after a release it may be freed memory, so all that needs it
/// comes before. Releases of several threads add up: what C says of read-modify-writes, and more than it says of
/// stores.
void shadow_before(const volatile void *word, size_t size, int order);

/// After it. The address is only a name.
void shadow_after(const volatile void *word, int order);

// An operation on `pointer_` with a result, and one without.
#define SHADOW_VALUE(p, order, operation)                                                                              \
  __extension__({                                                                                                      \
    __typeof__(p) pointer_ = (p);                                                                                      \
    shadow_before(pointer_, sizeof *pointer_, order);                                                                  \
    __typeof__(*pointer_ + 0) value_ = (operation);                                                                    \
    shadow_after(pointer_, order);                                                                                     \
    value_;                                                                                                            \
  })
#define SHADOW_STORE(p, v, order, system_order)                                                                        \
  __extension__({                                                                                                      \
    __typeof__(p) pointer_ = (p);                                                                                      \
    __typeof__(*pointer_ + 0) stored_ = (v);                                                                           \
    shadow_before(pointer_, sizeof *pointer_, order);                                                                  \
    __atomic_store_n(pointer_, stored_, (system_order));                                                               \
    shadow_after(pointer_, SHADOW_RELAXED);                                                                            \
  })

#endif
