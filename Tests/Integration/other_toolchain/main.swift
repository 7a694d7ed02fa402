// What a program says that was compiled by a toolchain for which SchedulerExecutors is not available (Tools/examples
// compiles it so).
do { try GlobalExecutors.install() } catch { print(error) }
precondition(
  !GlobalExecutors.isAvailable && !GlobalExecutors.isInstalled && GlobalExecutors.jobs == GlobalExecutors.Jobs())
await Task { await Task.yield() }.value
