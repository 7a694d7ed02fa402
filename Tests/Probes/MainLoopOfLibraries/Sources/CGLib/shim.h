#include <glib-unix.h>
