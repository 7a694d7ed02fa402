#include <SchedulerExecutorsLinked.h>

#include <stdbool.h>
#include <stdio.h>

extern bool csched_executors_install_linked_(void); // in Swift: Sources/SchedulerExecutors/GlobalExecutors.swift

// Runs before main. Does: installs the executors, or prints that this build has none.
__attribute__((constructor)) static void install(void) {
  if (!csched_executors_install_linked_())
    fputs("Scheduler: SchedulerExecutorsLinked: not available here, and Swift's own executors stay. It needs Swift 6.3 "
          "on Linux.\n",
          stderr);
}
