// libbsd's headers, by name: intrusive lists and red-black trees. They are macros only: nothing of libbsd is linked.
// On Darwin the system's own headers serve. A missing package stops the compiler here, with one line that says what to
// do.
#ifndef CBSD_SHIM_H
#define CBSD_SHIM_H

#if defined(__APPLE__)
#include <sys/queue.h>
#include <sys/tree.h>
#elif __has_include(<bsd/sys/tree.h>)
#include <bsd/sys/queue.h>
#include <bsd/sys/tree.h>
#else
#include "libbsd's headers are missing: install libbsd-dev (Debian, Ubuntu, Alpine), libbsd-devel (Fedora) or libbsd (Arch)"
#endif

#endif
