// What a cross compiler's C library may lack, and libbsd supplies on the machine itself. Weak, for those that have it.

#include <stddef.h>
#include <string.h>

__attribute__((weak)) size_t strlcpy(char *to, const char *from, size_t size) {
  size_t length = strlen(from), kept = length < size ? length : size - 1;
  if (size == 0) return length;
  memcpy(to, from, kept);
  to[kept] = 0;
  return length;
}
