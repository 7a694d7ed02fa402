#define _GNU_SOURCE
#include "CTestAllocations.h"

#include <dlfcn.h>
#include <errno.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __has_feature
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif

void ctest_keep_no_thrown_errors(void) {
  void (*set_handler)(void *);
  *(void **)&set_handler = dlsym(RTLD_DEFAULT, "_swift_setWillThrowHandler");
  if (set_handler != NULL) set_handler(NULL);
}

#if defined(__GLIBC__) && !defined(SANITIZED)

static _Thread_local uint64_t count;
static _Thread_local int64_t balance;
static _Thread_local int64_t until_failure; // 0: none fails

// Counts one allocation. Returns: whether it must fail, with the errno that the C library checks when it starts a
// thread.
static int fails(void) {
  count++;
  bool is_last = until_failure > 0 && --until_failure == 0;
  if (is_last) errno = ENOMEM;
  return is_last;
}

static void *given(void *block) {
  balance += block != NULL;
  return block;
}

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

void *malloc(size_t size) { return fails() ? NULL : given(__libc_malloc(size)); }

void *calloc(size_t number, size_t size) { return fails() ? NULL : given(__libc_calloc(number, size)); }

void *realloc(void *block, size_t size) {
  if (fails()) return NULL;
  balance += block == NULL;
  return __libc_realloc(block, size);
}

void *aligned_alloc(size_t alignment, size_t size) { return fails() ? NULL : given(__libc_memalign(alignment, size)); }

int posix_memalign(void **block, size_t alignment, size_t size) {
  *block = fails() ? NULL : given(__libc_memalign(alignment, size));
  return *block == NULL ? ENOMEM : 0;
}

// What the library takes from the system itself.
void *mmap(void *at, size_t size, int protection, int flags, int file, off_t offset) {
  if ((flags & MAP_ANONYMOUS) != 0 && fails()) return MAP_FAILED;
  return (void *)syscall(SYS_mmap, at, size, protection, flags, file, offset);
}

void free(void *block) {
  balance -= block != NULL;
  __libc_free(block);
}

bool ctest_counts_allocations(void) { return true; }
uint64_t ctest_allocations(void) { return count; }
int64_t ctest_allocations_left(void) { return balance; }
#if __GLIBC_PREREQ(2, 33)
uint64_t ctest_bytes_in_use(void) { return mallinfo2().uordblks; }
#else
uint64_t ctest_bytes_in_use(void) { return (unsigned)mallinfo().uordblks; }
#endif
bool ctest_fail_allocation(int64_t number) {
  bool is_pending = until_failure != 0;
  until_failure = number;
  return is_pending;
}

#else

bool ctest_counts_allocations(void) { return false; }
uint64_t ctest_allocations(void) { return 0; }
int64_t ctest_allocations_left(void) { return 0; }
uint64_t ctest_bytes_in_use(void) { return 0; }
bool ctest_fail_allocation(int64_t number) {
  (void)number;
  return true;
}

#endif
