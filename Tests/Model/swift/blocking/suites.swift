// The checks of Sources/Scheduler/Blocking.

let checks = sinkChecks + lockChecks
