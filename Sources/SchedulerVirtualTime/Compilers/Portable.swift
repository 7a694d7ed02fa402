#if !(compiler(>=6.3) && compiler(<6.4) && os(Linux)) || SCHEDULER_WITHOUT_SPI
  /// Used where the compiler or the system has no known interface to replace Swift's own executors.
  enum VirtualExecutors {
    static let areAvailable = false
    static func install() {}
    static func release(_ job: RoutedJob, after delay: Duration?) {}
  }
#endif
