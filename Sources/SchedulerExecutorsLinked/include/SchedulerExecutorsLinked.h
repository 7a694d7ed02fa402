// Installs SchedulerExecutors before main, in any program that is linked with it. There is nothing to import or to
// call.
