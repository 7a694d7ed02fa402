internal import Scheduler

/// Called by the constructor in virtual_time.c before main. Replaces Swift's executors. Schedulers without a target of
/// their own, created in virtual time, then run in it.
@_cdecl("csched_testing_install_")
func installBeforeMain() {
  VirtualExecutors.install()
  SharedPool.replace { VirtualScope.current }
}
