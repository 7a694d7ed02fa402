#if defined(__linux__) // Platform layer for Linux: keeps the library loaded. See platform.h.
#define _GNU_SOURCE
#include "../platform.h"

#include <dlfcn.h>
#include <link.h>

// A library loaded by dlopen stays loaded after dlclose: threads, destructors of thread data and fork handlers have code in it. RTLD_NOLOAD finds it
// by its name, without opening the file. `dlopen` is weak, because a statically linked program may have none.
extern __typeof__(dlopen) dlopen __attribute__((weak));

typedef struct library {
  const char *name;
  bool is_library; // false for the first object: the program, which stays anyway
} library;

static int look_at_library(struct dl_phdr_info *info, size_t size, void *context) {
  library *this = context;
  uintptr_t here = (uintptr_t)&look_at_library - info->dlpi_addr;
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || here - part->p_vaddr >= part->p_memsz) continue;
    this->name = this->is_library ? info->dlpi_name : NULL;
    return 1;
  }
  this->is_library = true;
  return 0;
}

__attribute__((constructor)) static void stay_loaded(void) {
  library this = {0};
  if (dlopen != NULL && dl_iterate_phdr(look_at_library, &this) != 0 && this.name != NULL)
    dlopen(this.name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}
#endif
