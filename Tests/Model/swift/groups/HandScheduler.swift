// A scheduler whose work is done by hand, one action at a time.

internal import CScheduler

struct HandScheduler: ImmediateSchedulerType {
  let core = HandCore()

  @discardableResult
  func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable { core.submit(action).task }
}

/// A stand-in for the namespace, whose other members need all schedulers.
public enum Schedulers {}
