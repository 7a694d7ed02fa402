/// A scheduler that drops its waiting actions when it is released. Waiting actions must not retain it.
protocol EndsByItself: ImmediateSchedulerType, AnyObject {}
