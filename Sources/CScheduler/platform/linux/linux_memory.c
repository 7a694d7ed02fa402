#if defined(__linux__) // Platform layer for Linux: pages, and copies of memory that may be unmapped. See platform.h.
#define _GNU_SOURCE
#include "../platform.h"
#include <errno.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

// A function of LeakSanitizer; NULL if the program lacks it. Without this call, LeakSanitizer does not search memory
// from mmap.
__attribute__((weak)) void __lsan_register_root_region(const void *memory, size_t size);

void csched_os_leaks_register_(void *memory, size_t size) {
  if (__lsan_register_root_region != NULL) __lsan_register_root_region(memory, size);
}

// madvise refuses pages locked by mlock, which keep their content: so its result is not checked.
void csched_os_pages_discard_(void *pages, size_t size) {
  int saved = errno;
  madvise(pages, size, MADV_DONTNEED);
  errno = saved;
}

bool csched_os_copy_if_mapped_(void *copy, const void *memory, size_t size) {
  struct iovec here = {copy, size}, there = {(void *)(uintptr_t)memory, size};
  int saved = errno;
  bool is_copied = process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)size; // EFAULT, not SIGSEGV
  errno = saved;
  return is_copied;
}
#endif
