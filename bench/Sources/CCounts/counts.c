#define _GNU_SOURCE
#include "CCounts.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_long futexes, allocations;

long ccounts_futexes(void) { return atomic_load_explicit(&futexes, memory_order_relaxed); }
long ccounts_allocations(void) { return atomic_load_explicit(&allocations, memory_order_relaxed); }

static void count_allocation(void) { atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed); }

// It takes and hands on six words, whatever the call has: as the kernel's convention does.
long syscall(long number, ...) {
  static long (*_Atomic next)(long, ...);
  if (number == SYS_futex) atomic_fetch_add_explicit(&futexes, 1, memory_order_relaxed);
  long (*call)(long, ...) = atomic_load_explicit(&next, memory_order_relaxed);
  if (call == NULL) {
    call = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    atomic_store_explicit(&next, call, memory_order_relaxed);
  }
  va_list list;
  va_start(list, number);
  long word[6];
  for (int i = 0; i < 6; i++) word[i] = va_arg(list, long);
  va_end(list);
  return call(number, word[0], word[1], word[2], word[3], word[4], word[5]);
}

// The C library's own, under the names by which it has them too: nothing has to be looked up before the first
// allocation.
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) {
  count_allocation();
  return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  count_allocation();
  return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
  count_allocation();
  return __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size) {
  count_allocation();
  return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **memory, size_t alignment, size_t size) {
  void *block = memalign(alignment, size);
  if (block == NULL) return ENOMEM;
  *memory = block;
  return 0;
}
