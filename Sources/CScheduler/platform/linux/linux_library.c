#if defined(__linux__) // The port to Linux, the library as a file that is loaded.
#define _GNU_SOURCE
#include "../platform.h"

#include <dlfcn.h>
#include <link.h>

// A library that was loaded by dlopen stays, whoever closes it: threads, their data's destructors and the handlers of fork lead here.
// By name it is found without a look at the file. The function is weak: a program that is linked statically may have none.
extern __typeof__(dlopen) dlopen __attribute__((weak));

typedef struct library {
  const char *name;
  bool is_library; // the first one is the program, which stays
} library;

static int look_at(struct dl_phdr_info *info, size_t size, void *context) {
  library *this = context;
  uintptr_t here = (uintptr_t)&look_at - info->dlpi_addr;
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
  if (dlopen != NULL && dl_iterate_phdr(look_at, &this) != 0 && this.name != NULL)
    dlopen(this.name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}
#endif
