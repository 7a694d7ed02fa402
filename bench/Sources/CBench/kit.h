// What the files of this target share.
#ifndef CBENCH_KIT_H
#define CBENCH_KIT_H

#include "CBench.h"

#include <stdlib.h>

static inline double since(csched_time start) { return (double)(csched_now() - start); }

static inline void do_nothing(csched_job *job) { (void)job; }

/// Memory that has been written to, so that no timing has its page faults.
void *touched(size_t size);

/// Of the list of this kind, number `index`.
const void *contender(cbench_kind kind, int index);

extern const peer_library dispatch_library;

/// Where the system has them: NULL, or the library.
const peer_library *nsync_library(void);
const peer_library *uv_library(void);
const peer_library *event_library(void);
const peer_library *glib_library(void);

/// Does: writes the functions called `names` of the first of `libraries` that opens to `places`; all lists end with
/// NULL.
/// Returns: whether all are there.
bool find_functions(const char *const libraries[], const char *const names[], void **const places[]);

#endif
