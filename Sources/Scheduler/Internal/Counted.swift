internal import CScheduler

/// Counters of live objects, for `Diagnostics`.
/// The types `CountedDisposable` and `CountedClosure` below have no size. A field of such a type counts its owner from
/// `init` to `deinit`.
package enum Counted {
  /// Whether objects are counted. Constant while the process runs, so that each increment has its decrement.
  @inline(__always) static var isOn: Bool {
    #if DEBUG
      true
    #else
      csched_is_counting_()
    #endif
  }

  /// Adds `change` to the number of jobs: submitted actions and jobs of tasks, until the C core releases them.
  @inline(__always) static func jobs(_ change: Int) { count(CSCHED_COUNTED_JOBS_, change) }

  /// Adds `change` to the number of user closures that objects hold.
  @inline(__always) static func closures(_ change: Int) { count(CSCHED_COUNTED_CLOSURES_, change) }

  /// Adds `change` to the number of disposables.
  @inline(__always) package static func disposables(_ change: Int) { count(CSCHED_COUNTED_DISPOSABLES_, change) }

  /// Adds `change` to the counter of `kind`, if objects are counted.
  @inline(__always) private static func count(_ kind: csched_counted_, _ change: Int) {
    if isOn { csched_count_(kind, Int64(change)) }
  }
}

/// Counts a disposable: a field of each disposable class.
package struct CountedDisposable: ~Copyable {
  @inline(__always) package init() { Counted.disposables(1) }
  @inline(__always) deinit { Counted.disposables(-1) }
}

/// Counts a user closure: a field of each object that holds one for its whole lifetime.
struct CountedClosure: ~Copyable {
  @inline(__always) init() { Counted.closures(1) }
  @inline(__always) deinit { Counted.closures(-1) }
}

/// A user closure that is counted as long as this value exists.
struct HeldClosure: ~Copyable {
  let call: @Sendable () -> Void
  private let counted = CountedClosure()

  @inline(__always) init(_ call: @escaping @Sendable () -> Void) { self.call = call }
}
