// The checks of Sources/Scheduler/Disposables.

let checks = singleChecks + serialChecks + compositeChecks + refCountChecks + onceChecks + lifetimeChecks
