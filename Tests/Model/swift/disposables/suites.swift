// The checks of the rest of Sources/Scheduler/Disposables.

let checks = compositeChecks + onceChecks + lifetimeChecks
