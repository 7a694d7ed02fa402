#if defined(__linux__) // Platform layer for Linux: keeps the library loaded after dlclose. See platform.h.
#define _GNU_SOURCE
#include "../platform.h"
#include <dlfcn.h>
#include <link.h>

// This library must stay loaded after dlclose, because threads, destructors of thread data and fork handlers run its
// code. RTLD_NODELETE pins it; RTLD_NOLOAD finds it by its name, without opening the file. `dlopen` is weak, because a
// statically linked program may lack it.
extern __typeof__(dlopen) dlopen __attribute__((weak));

typedef struct library { // context of find_own_library
  const char *name;      // result: the file with this code; NULL: the program, or not found
  bool is_library;       // false for the first object of the walk: the program, which is never unloaded
} library;

// Called for the program and each loaded library. If it contains this function: sets `name`, and returns 1, which ends
// the walk; else returns 0.
static int find_own_library(struct dl_phdr_info *info, size_t size, void *context) {
  library *this = context;
  uintptr_t here = (uintptr_t)&find_own_library - info->dlpi_addr;
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || here - part->p_vaddr >= part->p_memsz) continue; // not here; below it, `-` wraps
    this->name = this->is_library ? info->dlpi_name : NULL;
    return 1;
  }
  this->is_library = true;
  return 0;
}

__attribute__((constructor)) static void stay_loaded(void) {
  library this = {0};
  if (dlopen != NULL && dl_iterate_phdr(find_own_library, &this) != 0 && this.name != NULL)
    dlopen(this.name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}
#endif
