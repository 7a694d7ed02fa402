internal import Scheduler

/// Called by CSchedulerVirtualTime before main.
@_cdecl("csched_testing_install_")
func installBeforeMain() {
  VirtualExecutors.install()
  SharedPool.replace { VirtualScope.current?.scheduler }
}
