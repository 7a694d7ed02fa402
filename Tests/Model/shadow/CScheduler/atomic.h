// Takes the place of the library's atomic.h in a model build: every atomic operation becomes a step of the model.
#ifndef CSCHED_ATOMIC_H
#define CSCHED_ATOMIC_H

#include <CScheduler/base.h>

typedef enum model_order { MODEL_RELAXED = 0, MODEL_ACQUIRE = 1, MODEL_RELEASE = 2, MODEL_ACQ_REL = 3 } model_order;
typedef enum model_change { MODEL_EXCHANGE, MODEL_ADD, MODEL_OR, MODEL_AND } model_change;

CSCHED_BEGIN_DECLS
uint64_t model_load(const void *address, size_t size, model_order order, const char *file, int line);
void model_store(void *address, size_t size, uint64_t value, model_order order, const char *file, int line);
uint64_t model_rmw(void *address, size_t size, model_change change, uint64_t operand, model_order order,
                   const char *file, int line);
bool model_cas(void *address, size_t size, void *expected, uint64_t value, model_order order, const char *file,
               int line);
void model_fence(const char *file, int line);

// What Swift has besides: a failure that orders, and weaker fences.
bool model_cas_ordered(void *address, size_t size, void *expected, uint64_t value, model_order order,
                       model_order failing, const char *file, int line);
void model_fence_weak(model_order order, const char *file, int line);
CSCHED_END_DECLS

#define MODEL_VALUE(p, v)                                                                                              \
  ((uint64_t)(uintptr_t)(v) & (sizeof(*(p)) == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * sizeof(*(p)) % 64) - 1))
#define MODEL_LOAD(p, o) ((__typeof__(*(p) + 0))(uintptr_t)model_load((p), sizeof(*(p)), (o), __FILE__, __LINE__))
#define MODEL_RMW(p, c, v, o)                                                                                          \
  ((__typeof__(*(p) + 0))(uintptr_t)model_rmw((p), sizeof(*(p)), (c), MODEL_VALUE(p, v), (o), __FILE__, __LINE__))
#define MODEL_STORE(p, v, o)  model_store((p), sizeof(*(p)), MODEL_VALUE(p, v), (o), __FILE__, __LINE__)
#define MODEL_CAS(p, e, v, o) model_cas((p), sizeof(*(p)), (e), MODEL_VALUE(p, v), (o), __FILE__, __LINE__)

#define csched_load_relaxed(p) MODEL_LOAD(p, MODEL_RELAXED)
#define csched_load_flag(p)    (*(p))
#define csched_is_set(p)       (*(p) != 0)
#define csched_load_acquire(p) MODEL_LOAD(p, MODEL_ACQUIRE)

#define csched_store_relaxed(p, v) MODEL_STORE(p, v, MODEL_RELAXED)
#define csched_store_release(p, v) MODEL_STORE(p, v, MODEL_RELEASE)

#define csched_exchange_relaxed(p, v) MODEL_RMW(p, MODEL_EXCHANGE, v, MODEL_RELAXED)
#define csched_exchange_acquire(p, v) MODEL_RMW(p, MODEL_EXCHANGE, v, MODEL_ACQUIRE)
#define csched_exchange_release(p, v) MODEL_RMW(p, MODEL_EXCHANGE, v, MODEL_RELEASE)

#define csched_fetch_add_relaxed(p, v) MODEL_RMW(p, MODEL_ADD, v, MODEL_RELAXED)
#define csched_fetch_add_release(p, v) MODEL_RMW(p, MODEL_ADD, v, MODEL_RELEASE)
#define csched_fetch_add_acq_rel(p, v) MODEL_RMW(p, MODEL_ADD, v, MODEL_ACQ_REL)
#define csched_fetch_or_relaxed(p, v)  MODEL_RMW(p, MODEL_OR, v, MODEL_RELAXED)
#define csched_fetch_and_relaxed(p, v) MODEL_RMW(p, MODEL_AND, v, MODEL_RELAXED)

#define csched_cas_relaxed(p, e, v) MODEL_CAS(p, e, v, MODEL_RELAXED)
#define csched_cas_acquire(p, e, v) MODEL_CAS(p, e, v, MODEL_ACQUIRE)
#define csched_cas_release(p, e, v) MODEL_CAS(p, e, v, MODEL_RELEASE)
#define csched_cas_acq_rel(p, e, v) MODEL_CAS(p, e, v, MODEL_ACQ_REL)

// Weaker than any that the core uses: for mutants only.
#define csched_fetch_add_acquire(p, v) MODEL_RMW(p, MODEL_ADD, v, MODEL_ACQUIRE)

#define csched_fence_compiler() ((void)0)
#define csched_fence_full()     model_fence(__FILE__, __LINE__)

#endif
