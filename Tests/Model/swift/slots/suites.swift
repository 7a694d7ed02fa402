// The checks of those of Sources/Scheduler/Disposables that hold one other.

let checks = singleChecks + serialChecks + refCountChecks
