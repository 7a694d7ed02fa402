#if !(compiler(>=6.3) && compiler(<6.4) && os(Linux)) || SCHEDULER_WITHOUT_SPI
  /// The stand-in where Swift's own executors cannot be replaced (see Swift6.3.swift): `withVirtualTime` then throws
  /// `.unavailable`.
  enum VirtualExecutors {
    static let areAvailable = false
    static func install() {}
    static func enqueueOnSwiftExecutor(_ job: RoutedJob, after delay: Duration?) {}
  }
#endif
