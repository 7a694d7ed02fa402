// The checks of Sources/Scheduler/Blocking, and of the actions of Sources/Scheduler/Schedulers.

let checks = actionChecks + periodicChecks + sinkChecks + lockChecks
