#if !(compiler(>=6.3) && compiler(<6.4) && os(Linux)) || SCHEDULER_WITHOUT_SPI
  /// Stands for the `Executors` of Swift6.3.swift where the compiler or the system has no known interface to replace
  /// Swift's own executors.
  enum Executors {
    static let areAvailable = false
    static let noTaskWasMade = false  // not read, because `areAvailable` is false
    static func install() {}
  }
#endif
