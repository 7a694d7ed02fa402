// The checks of the actions of Sources/Scheduler/Schedulers.

let checks = actionChecks + periodicChecks + endChecks
