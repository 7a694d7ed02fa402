// The functions that compiled Swift calls, as steps of the model: atomic operations, plain accesses, references and
// memory.
//
// Swift's objects are compiled as for ThreadSanitizer, and the calls of that are renamed to the ones here; the run-time
// library is linked statically, so that its memory and its counts of references can be wrapped. A count is one atomic
// word: each release has release order, the last one also acquire order. The run-time's tables are no part of a run.

#include "../engine/internal.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char __executable_start, _end; // the linker's

// Data in the program's image belongs to the run-time and the compiler: metadata, and caches of it.
static bool is_table(const void *address) {
  return (const char *)address >= &__executable_start && (const char *)address < &_end && !model_is_arena(address);
}

// MARK: atomic operations

// The compiler's numbers: relaxed, consume, acquire, release, both, sequentially consistent.
static model_order order_of(int compilers) {
  static const model_order orders[] = {MODEL_RELAXED, MODEL_ACQUIRE, MODEL_ACQUIRE, MODEL_RELEASE, MODEL_ACQ_REL};
  if (compilers >= 5) model_fail("a sequentially consistent operation is not modelled; a fence is", __FILE__, __LINE__);
  return orders[compilers];
}

// Where an operation is, for the log: `addr2line -e PROGRAM ADDRESS` prints the line.
static const char *place(void *where) {
  static struct {
    void *where;
    char text[24];
  } places[1 << 12];
  unsigned i = (unsigned)((uintptr_t)where * 2654435761u >> 16) % (1 << 12);
  while (places[i].where != NULL && places[i].where != where) i = (i + 1) % (1 << 12);
  if (places[i].where == NULL) snprintf(places[i].text, sizeof places[i].text, "%p", where);
  places[i].where = where;
  return places[i].text;
}

#define PLACE place(__builtin_return_address(0)), 0
#define CHANGE(bits, name, change, operand)                                                                            \
  uint##bits##_t model_swift_atomic##bits##_##name(uint##bits##_t *at, uint##bits##_t value, int order) {              \
    return (uint##bits##_t)model_rmw(at, bits / 8, change, operand, order_of(order), PLACE);                           \
  }
#define ATOMIC(bits)                                                                                                   \
  uint##bits##_t model_swift_atomic##bits##_load(const uint##bits##_t *at, int order) {                                \
    if (is_table(at)) return __atomic_load_n(at, __ATOMIC_ACQUIRE);                                                    \
    return (uint##bits##_t)model_load(at, bits / 8, order_of(order), PLACE);                                           \
  }                                                                                                                    \
  void model_swift_atomic##bits##_store(uint##bits##_t *at, uint##bits##_t value, int order) {                         \
    if (is_table(at)) __atomic_store_n(at, value, __ATOMIC_RELEASE);                                                   \
    else model_store(at, bits / 8, value, order_of(order), PLACE);                                                     \
  }                                                                                                                    \
  CHANGE(bits, exchange, MODEL_EXCHANGE, value)                                                                        \
  CHANGE(bits, fetch_add, MODEL_ADD, value)                                                                            \
  CHANGE(bits, fetch_sub, MODEL_ADD, (uint##bits##_t) - value)                                                         \
  CHANGE(bits, fetch_or, MODEL_OR, value)                                                                              \
  CHANGE(bits, fetch_and, MODEL_AND, value)                                                                            \
  uint##bits##_t model_swift_atomic##bits##_compare_exchange_val(uint##bits##_t *at, uint##bits##_t expected,          \
                                                                 uint##bits##_t value, int order, int failing) {       \
    model_cas_ordered(at, bits / 8, &expected, value, order_of(order), order_of(failing), PLACE);                      \
    return expected;                                                                                                   \
  }
ATOMIC(8)
ATOMIC(32)
ATOMIC(64)

void model_swift_atomic_thread_fence(int order) {
  if (order >= 5) model_fence(PLACE);
  else model_fence_weak(order_of(order), PLACE);
}

// MARK: plain accesses

static void plain(void *address, size_t size, bool writes, void *where) {
  if (!is_table(address)) model_access(address, size, writes, where);
}

#define ACCESS(size)                                                                                                   \
  void model_swift_read##size(void *p) { plain(p, size, false, __builtin_return_address(0)); }                         \
  void model_swift_write##size(void *p) { plain(p, size, true, __builtin_return_address(0)); }                         \
  void model_swift_unaligned_read##size(void *p) { plain(p, size, false, __builtin_return_address(0)); }               \
  void model_swift_unaligned_write##size(void *p) { plain(p, size, true, __builtin_return_address(0)); }
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)

void *model_swift_memcpy(void *to, const void *from, size_t size) {
  plain((void *)from, size, false, __builtin_return_address(0));
  plain(to, size, true, __builtin_return_address(0));
  return memcpy(to, from, size);
}
void *model_swift_memmove(void *to, const void *from, size_t size) {
  plain((void *)from, size, false, __builtin_return_address(0));
  plain(to, size, true, __builtin_return_address(0));
  return memmove(to, from, size);
}
void *model_swift_memset(void *to, int value, size_t size) {
  plain(to, size, true, __builtin_return_address(0));
  return memset(to, value, size);
}
void model_swift_init(void) {}
void model_swift_func_entry(void *caller) { (void)caller; }
void model_swift_func_exit(void) {}

// MARK: values whose type the library copies and destroys: how many bytes stands in the type's table of witnesses

static size_t size_of(const void *type) { return ((const size_t *)((void *const *)type)[-1])[8]; }

#define COPY(name, size, destroys)                                                                                     \
  void *model_swift_##name(void *(*witness)(void *, void *, const void *), void *to, void *from, const void *type) {   \
    plain(from, size, destroys, __builtin_return_address(0));                                                          \
    plain(to, size, true, __builtin_return_address(0));                                                                \
    return witness(to, from, type);                                                                                    \
  }
COPY(InitializeBufferWithCopyOfBuffer, 3 * sizeof(void *), false)
COPY(InitializeWithCopy, size_of(type), false)
COPY(InitializeWithTake, size_of(type), true)
COPY(AssignWithCopy, size_of(type), false)
COPY(AssignWithTake, size_of(type), true)
void model_swift_Destroy(void (*witness)(void *, const void *), void *value, const void *type) {
  plain(value, size_of(type), true, __builtin_return_address(0));
  witness(value, type);
}

// MARK: memory

void *__real_swift_slowAlloc(size_t size, size_t mask);
void __real_swift_slowDealloc(void *start, size_t size, size_t mask);
void __real_free(void *start);
size_t __real_malloc_usable_size(void *start);

static bool in_run(void) { return model_unseen == 0 && model_threads[model_self].status == MODEL_READY; }

void *__wrap_swift_slowAlloc(size_t size, size_t mask) {
  return in_run() ? model_aligned_alloc(mask == ~(size_t)0 ? 16 : mask + 1, size) : __real_swift_slowAlloc(size, mask);
}
void __wrap_swift_slowDealloc(void *start, size_t size, size_t mask) {
  if (model_is_arena(start)) model_free(start);
  else __real_swift_slowDealloc(start, size, mask);
}
void __wrap_free(void *start) {
  if (model_is_arena(start)) model_free(start);
  else __real_free(start);
}
size_t __wrap_malloc_usable_size(void *start) {
  return model_is_arena(start) ? model_usable_size(start) : __real_malloc_usable_size(start);
}
void *model_swift_malloc(size_t size) { return in_run() ? model_malloc(size) : malloc(size); }

// MARK: references

void __real_swift_release(void *object);
void __real_swift_release_n(void *object, uint32_t count);
void *__real_swift_retain(void *object);
void *__real_swift_retain_n(void *object, uint32_t count);
size_t swift_retainCount(void *object);

static void let_go(void *object, uint32_t count) {
  model_view *others = model_counted_view(object);
  if (others == NULL || !in_run()) return;
  model_check_alive(object);
  if (swift_retainCount(object) > count) {
    model_step(MODEL_WRITES, object, "release", __FILE__, __LINE__);
    model_check_alive(object);
  }
  model_view *mine = &model_threads[model_self].view;
  if (swift_retainCount(object) > count) model_view_join(others, mine);
  else model_view_join(mine, others);
}

void __wrap_swift_release(void *object) {
  let_go(object, 1);
  __real_swift_release(object);
}
void __wrap_swift_release_n(void *object, uint32_t count) {
  let_go(object, count);
  __real_swift_release_n(object, count);
}
void *__wrap_swift_retain(void *object) {
  model_check_alive(object);
  return __real_swift_retain(object);
}
void *__wrap_swift_retain_n(void *object, uint32_t count) {
  model_check_alive(object);
  return __real_swift_retain_n(object, count);
}

// A thread that finds itself the only owner acquires, as a last release does: it may change data that other owners have
// read.
bool __real_swift_isUniquelyReferenced_nonNull_native(const void *object);
bool __wrap_swift_isUniquelyReferenced_nonNull_native(const void *object) {
  model_view *others = model_counted_view((void *)object);
  if (others != NULL && in_run()) model_step(MODEL_READS, (void *)object, "unique?", __FILE__, __LINE__);
  bool is_unique = __real_swift_isUniquelyReferenced_nonNull_native(object);
  if (is_unique && others != NULL && in_run()) model_view_join(&model_threads[model_self].view, others);
  return is_unique;
}

// MARK: once, and failures

// A once-initialised value exists for all runs: its making is no part of a run.
void __wrap_swift_once(intptr_t *done, void (*make)(void *), void *context) {
  if (*done != 0) return;
  model_unseen++;
  make(context);
  model_unseen--;
  *done = -1;
}

// So are the types that the library makes at first use: their allocations would shift the memory of the one run that
// makes them.
typedef struct type_response {
  const void *type;
  size_t state;
} type_response;

#define MADE_OUTSIDE(returned, name, parameters, arguments)                                                            \
  returned __real_##name parameters;                                                                                   \
  returned __wrap_##name parameters {                                                                                  \
    model_unseen++;                                                                                                    \
    returned made = __real_##name arguments;                                                                           \
    model_unseen--;                                                                                                    \
    return made;                                                                                                       \
  }
MADE_OUTSIDE(type_response, swift_getGenericMetadata, (size_t request, const void *arguments, const void *description),
             (request, arguments, description))
MADE_OUTSIDE(type_response, swift_getSingletonMetadata, (size_t request, const void *description),
             (request, description))
MADE_OUTSIDE(type_response, swift_getTupleTypeMetadata2,
             (size_t request, const void *first, const void *second, const char *labels, const void *witnesses),
             (request, first, second, labels, witnesses))
MADE_OUTSIDE(const void *, swift_getTypeByMangledNameInContext2,
             (const char *name, size_t length, const void *context, const void *arguments),
             (name, length, context, arguments))
MADE_OUTSIDE(const void *, swift_getTypeByMangledNameInContextInMetadataState2,
             (size_t state, const char *name, size_t length, const void *context, const void *arguments),
             (state, name, length, context, arguments))

void __wrap__swift_stdlib_reportFatalErrorInFile(const char *prefix, int prefix_size, const char *text, int size,
                                                 const char *file, int file_size, uint32_t line, uint32_t flags) {
  (void)prefix, (void)prefix_size, (void)file, (void)file_size, (void)line, (void)flags;
  static char copy[400];
  snprintf(copy, sizeof copy, "%.*s", size, text);
  model_panic(copy);
}

static void trapped(int signal) { model_fail(strsignal(signal), __FILE__, __LINE__); }

__attribute__((constructor)) static void begin(void) {
  signal(SIGILL, trapped);
  signal(SIGTRAP, trapped);
  signal(SIGSEGV, trapped);
}

// MARK: the checks

static model_check suite[100]; // ends with one without a name
const model_check *const model_suites[] = {suite, NULL};

void model_swift_fill(model_check *into);
__attribute__((constructor)) static void collect(void) {
  model_unseen++;
  model_swift_fill(suite);
  model_unseen--;
}
