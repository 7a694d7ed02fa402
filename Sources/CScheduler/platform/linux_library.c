#if defined(__linux__) // The port to Linux, the library as a file that is loaded.
#define _GNU_SOURCE
#include "platform.h"

#include <dlfcn.h>
#include <link.h>

// A library that was loaded by dlopen stays, whoever closes it: threads, their data's destructors and the handlers of fork lead here.
// By name it is found without a look at the file. The functions are weak: a program that is linked statically has none of them.
extern __typeof__(dlopen) dlopen __attribute__((weak));
extern __typeof__(dladdr1) dladdr1 __attribute__((weak));

__attribute__((constructor)) static void stay_loaded(void) {
  static const char here;
  struct link_map *map = NULL;
  Dl_info info;
  if (dlopen == NULL || dladdr1 == NULL || dladdr1(&here, &info, (void **)&map, RTLD_DL_LINKMAP) == 0) return;
  if (map != NULL && map->l_name[0] != 0)
    dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE); // else the program
}
#endif
