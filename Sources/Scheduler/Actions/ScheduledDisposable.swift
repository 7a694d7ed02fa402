// States of `disposed`, obligations, orderings: as in AnonymousDisposable (A1 to A3), with a disposable for the closure; the winner
// moves it into the action that it schedules.
// Checked by: "a scheduled disposable disposed by many threads schedules once, and disposes there".
// Models: swift/disposables/once.swift, where others have the same flag.

internal import Synchronization

/// Disposes another disposable on a given scheduler.
///
/// ```swift
/// let player = ScheduledDisposable(scheduler: MainScheduler.instance, disposable: view)
/// player.dispose()  // from any thread; the view is disposed on the main thread
/// ```
///
/// 1. The first ``dispose()`` schedules one action, which disposes the inner one; ``dispose()`` does not wait for it. On a scheduler
///    that runs it at once the inner one has been disposed when ``dispose()`` returns.
/// 2. ``isDisposed`` is true from that ``dispose()`` on, before the action is scheduled.
/// 3. The inner one is never disposed anywhere else. If the scheduler drops the action, because it was stopped, the inner one is
///    released undisposed: what belongs to a thread is not touched from another.
/// 4. The inner one is released when the action is over, or dropped.
///
/// The name is RxSwift's.
public final class ScheduledDisposable: DisposalNode {
  private let counted = CountedDisposable()
  private let disposed = Atomic(false)
  // Touched by the thread that won `disposed`, and by init and deinit, alone.
  nonisolated(unsafe) private var inner: (any Disposable)?
  // Changed by deinit alone.
  nonisolated(unsafe) private var held: (any ImmediateSchedulerType)?

  /// Creates one that disposes `disposable` on `scheduler`.
  ///
  /// - Parameters:
  ///   - scheduler: where `disposable` is disposed.
  ///   - disposable: what to dispose there.
  public init(scheduler: any ImmediateSchedulerType, disposable: any Disposable) {
    held = scheduler
    inner = disposable
  }

  deinit {
    DisposalWalk.outsideOfRelease { held = nil }  // a scheduler's deinit may run user code
    guard inner != nil else { return }
    DisposalWalk.release { walk in
      if let inner = inner.take() { walk.push(inner) }
    }
  }

  /// Where the inner one is disposed.
  public var scheduler: any ImmediateSchedulerType { held! }

  /// Tells whether it has been disposed; the inner one may still wait for its turn.
  public var isDisposed: Bool {
    disposed.load(ordering: .acquiring)  // A3: acquire; pairs with detachChildren
  }

  /// Schedules the disposal of the inner one.
  public func dispose() {
    DisposalWalk.dispose(self)
  }

  package func detachChildren(into walk: inout DisposalWalk) {
    guard !disposed.exchange(true, ordering: .releasing), let inner = inner.take() else { return }  // A1, A3: release
    if Self.isHere(scheduler) {
      walk.push(inner)
    } else {
      scheduler.schedule { DisposalWalk.disposeChild(inner) }
    }
  }

  /// Tells whether an action of `scheduler` would run at once and change nothing: then no action is needed, and no stack.
  private static func isHere(_ scheduler: any ImmediateSchedulerType) -> Bool {
    switch scheduler {
    case let immediate as ImmediateScheduler: Schedulers.current === immediate
    case is SubscriptionScheduler: Schedulers.hasCurrent
    default: false
    }
  }
}

extension Disposable {
  /// Returns a disposable that disposes this one on `scheduler`.
  public func disposed(on scheduler: any ImmediateSchedulerType) -> ScheduledDisposable {
    ScheduledDisposable(scheduler: scheduler, disposable: self)
  }
}
