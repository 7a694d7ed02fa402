/// Runs work, at once or later.
///
/// 1. Work that one thread submits to a serial scheduler runs in the order of submission.
/// 2. Effects that happened before the submission are visible to the work.
/// 3. Once `dispose` has returned, work that had not started never starts, and its closure and captures are released.
/// 4. Work that has started runs to its end. If the work returns a disposable after `dispose`, that disposable is
///    disposed too.
/// 5. Releasing the returned disposable does not cancel the work.
///
/// The names and signatures are RxSwift's.
public protocol ImmediateSchedulerType: Sendable {
  /// Schedules `action`.
  ///
  /// - Parameter action: the work to run. It is released, with its captures, when it has run, is disposed, or is
  ///   dropped.
  @discardableResult
  func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable
}

extension ImmediateSchedulerType {
  /// This scheduler, if it is a ``SchedulerTarget``; otherwise nil. A bit cast, because a dynamic cast would allocate,
  /// and take a quarter of the time of a submission. Unmanaged, because weak references make a retain of a scheduler
  /// slow. Requires: the caller retains the scheduler.
  @inline(__always)
  package var target: Unmanaged<SchedulerTarget>? {
    Self.self is SchedulerTarget.Type ? unsafeBitCast(self, to: Unmanaged<SchedulerTarget>.self) : nil
  }
}

/// A scheduler that drops its waiting actions when it is released: a virtual-time scheduler. Its waiting actions must
/// not retain it.
protocol DropsWhenReleased: ImmediateSchedulerType, AnyObject {}
