// The checks of the actions of Sources/Scheduler/Actions.

let checks = actionChecks + periodicChecks + endChecks
