/// Runs work, at once or when its turn comes.
///
/// 1. Work that one thread submits to a serial scheduler runs in that order.
/// 2. What happened before the submission is visible to the work.
/// 3. Once `dispose` has returned, work that had not begun never begins, and its closure and captures are released.
/// 4. Work that has begun runs to its end; the disposable that it returns is then disposed too.
/// 5. Dropping the returned disposable cancels nothing.
///
/// The names and shapes are RxSwift's.
public protocol ImmediateSchedulerType: Sendable {
  /// Schedules `action`.
  ///
  /// - Parameter action: what to run. It is released, with its captures, when it has run, is disposed, or is dropped.
  @discardableResult
  func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable
}

extension ImmediateSchedulerType {
  /// This scheduler, if it is a target. A cast of a value of any type would allocate, and cost a quarter of a submission.
  /// Unmanaged, as a scheduler is referred to weakly, so that a retain of it is a slow one. The caller holds it.
  @inline(__always)
  package var target: Unmanaged<SchedulerTarget>? {
    Self.self is SchedulerTarget.Type ? unsafeBitCast(self, to: Unmanaged<SchedulerTarget>.self) : nil
  }
}
