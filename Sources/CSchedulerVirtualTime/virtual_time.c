#include <CSchedulerVirtualTime.h>

#include <stddef.h>
#include <stdio.h>

extern void csched_testing_install_(void); // in Swift: Sources/SchedulerVirtualTime/VirtualExecutors.swift

static _Thread_local void *scope;

void *csched_testing_scope_(void) { return scope; }

void csched_testing_set_scope_(void *new_scope) { scope = new_scope; }

void csched_testing_warn_(const char *text) { fputs(text, stderr); }

// Before main, because no thread may use Swift's executors while they are replaced.
__attribute__((constructor)) static void install(void) { csched_testing_install_(); }
