// Disposes another disposable on a scheduler.
//
// States of `disposed`, invariants, orderings: as in AnonymousDisposable (A1 to A3), with the inner disposable in place
// of the closure. The thread that sets `disposed` owns the inner disposable, and moves it into the action that it
// schedules.
// Models: swift/disposables/once.swift, which models the same flag.

internal import Synchronization

/// Disposes another disposable on a given scheduler.
///
/// ```swift
/// let player = ScheduledDisposable(scheduler: MainScheduler.instance, disposable: view)
/// player.dispose()  // from any thread; the view is disposed on the main thread
/// ```
///
/// 1. The first ``dispose()`` schedules one action, which disposes the inner disposable; ``dispose()`` does not wait
///    for the action. On a scheduler that runs the action at once, the inner disposable has been disposed when
///    ``dispose()`` returns.
/// 2. ``isDisposed`` is true from the first ``dispose()`` on, before the action is scheduled.
/// 3. The inner disposable is never disposed anywhere else. If the scheduler drops the action, because it was stopped,
///    the inner disposable is released without disposal: an object that belongs to a thread is not accessed on another
///    thread.
/// 4. The inner disposable is released when the action is over or dropped.
///
/// The name is RxSwift's.
public final class ScheduledDisposable: DisposalNode {
  private let counted = CountedDisposable()  // for the diagnostic count of disposables
  private let disposed = Atomic(false)
  // Unsafe: only init, the thread that set `disposed`, and deinit access it. Nil after the disposal.
  nonisolated(unsafe) private var inner: (any Disposable)?
  // The scheduler. Optional, so that deinit, which alone changes it, can release the scheduler in `outsideOfRelease`.
  nonisolated(unsafe) private var heldScheduler: (any ImmediateSchedulerType)?

  /// Creates a disposable that disposes `disposable` on `scheduler`.
  ///
  /// - Parameters:
  ///   - scheduler: where `disposable` is disposed.
  ///   - disposable: the inner disposable.
  public init(scheduler: any ImmediateSchedulerType, disposable: any Disposable) {
    heldScheduler = scheduler
    inner = disposable
  }

  deinit {
    DisposalWalk.outsideOfRelease { heldScheduler = nil }  // a scheduler's deinit may run user code
    guard inner != nil else { return }  // nil: disposed
    DisposalWalk.release { walk in  // frees a chain of any length without recursion
      if let inner = inner.take() { walk.push(inner) }
    }
  }

  /// The scheduler that the inner disposable is disposed on.
  public var scheduler: any ImmediateSchedulerType { heldScheduler! }

  /// Whether this has been disposed. The disposal of the inner disposable may still be pending.
  public var isDisposed: Bool {
    // A3: acquire; if true, the caller sees everything before the exchange in detachChildren
    disposed.load(ordering: .acquiring)
  }

  /// Schedules the disposal of the inner disposable.
  public func dispose() {
    DisposalWalk.dispose(self)
  }

  package func detachChildren(into walk: inout DisposalWalk) {
    // A1: only the first call continues, so `inner` is moved out once; A3: release; carries the writes before it to
    // `isDisposed`
    guard !disposed.exchange(true, ordering: .releasing), let inner = inner.take() else { return }
    if Self.runsInline(scheduler) {
      walk.push(inner)
    } else {
      scheduler.schedule { DisposalWalk.disposeChild(inner) }  // rule 3: a drop only releases `inner`
    }
  }

  /// Returns whether `scheduler` would run an action inside `schedule`, without a change of the current scheduler. If
  /// so, the caller's DisposalWalk disposes `inner` itself: a chain of such disposables then does not recurse.
  private static func runsInline(_ scheduler: any ImmediateSchedulerType) -> Bool {
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
