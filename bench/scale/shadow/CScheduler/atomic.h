// Takes the place of the library's atomic.h in the simulator: the model's atomic operations, with the name of the word.
#ifndef SCALE_ATOMIC_H
#define SCALE_ATOMIC_H

#include "../../../../Tests/Model/shadow/CScheduler/atomic.h"

CSCHED_BEGIN_DECLS
extern const char *scale_word; // what the next operation accesses, as the source writes it
void scale_relax(void);
CSCHED_END_DECLS

#undef MODEL_LOAD
#undef MODEL_RMW
#undef MODEL_STORE
#undef MODEL_CAS
#define MODEL_LOAD(p, o)                                                                                               \
  (scale_word = #p, (__typeof__(*(p) + 0))(uintptr_t)model_load((p), sizeof(*(p)), (o), __FILE__, __LINE__))
#define MODEL_RMW(p, c, v, o)                                                                                          \
  (scale_word = #p,                                                                                                    \
   (__typeof__(*(p) + 0))(uintptr_t)model_rmw((p), sizeof(*(p)), (c), MODEL_VALUE(p, v), (o), __FILE__, __LINE__))
#define MODEL_STORE(p, v, o)                                                                                           \
  (scale_word = #p, model_store((p), sizeof(*(p)), MODEL_VALUE(p, v), (o), __FILE__, __LINE__))
#define MODEL_CAS(p, e, v, o)                                                                                          \
  (scale_word = #p, model_cas((p), sizeof(*(p)), (e), MODEL_VALUE(p, v), (o), __FILE__, __LINE__))

#undef CSCHED_CPU_RELAX
#define CSCHED_CPU_RELAX() scale_relax()

#endif
