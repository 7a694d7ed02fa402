// The checks of contexts and groups.

let checks = contextChecks + groupChecks
