// libbsd's headers, by name: intrusive lists, red-black trees, bounded string copies.
// On Darwin the system's own headers serve. A missing package stops the compiler here, with one line that says what to do.
#ifndef CBSD_SHIM_H
#define CBSD_SHIM_H

#if defined(__APPLE__)
#include <string.h>
#include <sys/queue.h>
#include <sys/tree.h>
#elif __has_include(<bsd/sys/tree.h>)
#include <bsd/string.h>
#include <bsd/sys/queue.h>
#include <bsd/sys/tree.h>
#else
#include "libbsd is missing: apt-get install libbsd-dev"
#endif

#endif
