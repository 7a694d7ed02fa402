internal import CScheduler

/// What is counted while it lives: see `Diagnostics`.
///
/// The tokens below have no size: an object that has one as a field is counted from its making to its end, by no code of its own.
package enum Counted {
  /// Whether anything is counted. It never changes, so whatever was counted up is counted down.
  @inline(__always) static var isOn: Bool {
    #if DEBUG
      true
    #else
      csched_is_counting_()
    #endif
  }

  /// Adds `change` to the actions that wait or run.
  @inline(__always) static func jobs(_ change: Int) { count(CSCHED_COUNTED_JOBS_, change) }

  /// Adds `change` to the closures that are held.
  @inline(__always) static func closures(_ change: Int) { count(CSCHED_COUNTED_CLOSURES_, change) }

  /// Adds `change` to the disposables.
  @inline(__always) package static func disposables(_ change: Int) { count(CSCHED_COUNTED_DISPOSABLES_, change) }

  @inline(__always) private static func count(_ kind: csched_counted_, _ change: Int) {
    if isOn { csched_count_(kind, Int64(change)) }
  }
}

/// A field of each class of disposables.
package struct CountedDisposable: ~Copyable {
  @inline(__always) package init() { Counted.disposables(1) }
  @inline(__always) deinit { Counted.disposables(-1) }
}

/// A field of what holds a closure of the user's for as long as it lives.
struct CountedClosure: ~Copyable {
  @inline(__always) init() { Counted.closures(1) }
  @inline(__always) deinit { Counted.closures(-1) }
}

/// A closure of the user's, counted for as long as it is held.
struct HeldClosure: ~Copyable {
  let call: @Sendable () -> Void
  private let counted = CountedClosure()

  @inline(__always) init(_ call: @escaping @Sendable () -> Void) { self.call = call }
}
