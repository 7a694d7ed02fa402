// Messages about misuse: composed on the stack, without allocation or lock.
#include "panic.h"

#include "../platform/platform.h"

#include <stdarg.h>
#include <stdio.h>

enum { SIZE = 512 }; // most bytes of a message, including the final zero

const char *(*csched_panic_swift_name_)(const char *function);

// Does: writes "Scheduler: <function>: <message>" and a newline to `text`, with the function's name in Swift before
// that in C. A long message is cut.
static void compose_message(char text[SIZE], const char *function, const char *format, va_list arguments) {
  enum { ROOM = SIZE - 1 }; // for snprintf: leaves one byte for the newline
  const char *swift = csched_panic_swift_name_ != NULL ? csched_panic_swift_name_(function) : NULL;
  int length =
      snprintf(text, ROOM, "Scheduler: %s%s%s: ", swift != NULL ? swift : "", swift != NULL ? ", " : "", function);
  int more = vsnprintf(text + length, (size_t)(ROOM - length), format, arguments);
  length = more < 0 ? length : length + more; // `more` counts also what was cut; negative: an invalid format
  if (length > ROOM - 1) length = ROOM - 1;   // cut: snprintf has written one byte less than ROOM
  text[length] = '\n';
  text[length + 1] = 0;
}

void csched_say_(const char *function, const char *format, ...) {
  char text[SIZE];
  va_list arguments;
  va_start(arguments, format);
  compose_message(text, function, format, arguments);
  va_end(arguments);
  csched_os_say_(text);
}

void (*csched_panic_say_)(const char *message) = csched_os_say_;

void csched_panic_(const char *function, const char *format, ...) {
  char text[SIZE];
  va_list arguments;
  csched_os_disable_cancellation_(); // for good: a cancelled thread would end here, and the process go on
  va_start(arguments, format);
  compose_message(text, function, format, arguments);
  va_end(arguments);
  csched_panic_say_(text);
  csched_os_abort_(""); // "": the message is written already
}
