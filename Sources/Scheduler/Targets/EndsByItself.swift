/// A scheduler that drops what waits when it is let go: what waits in it must not keep it.
protocol EndsByItself: ImmediateSchedulerType, AnyObject {}
