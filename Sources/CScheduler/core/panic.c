#include "panic.h"

#include "../platform/platform.h"

#include <stdarg.h>
#include <stdio.h>

void csched_panic_(const char *function, const char *format, ...) {
  char text[512];
  enum { ROOM = sizeof text - 1 }; // for the line's end
  int length = snprintf(text, ROOM, "Scheduler: %s: ", function);
  va_list arguments;
  va_start(arguments, format);
  int more = vsnprintf(text + length, (size_t)(ROOM - length), format, arguments);
  va_end(arguments);
  length = more < 0 ? length : length + more;
  if (length > ROOM - 1) length = ROOM - 1;
  text[length] = '\n';
  text[length + 1] = 0;
  csched_os_abort_(text);
}
