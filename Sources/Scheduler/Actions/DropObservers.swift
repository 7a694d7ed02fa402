// Notifies the registered observers of each dropped action.
//
// States of `present`: whether there is an observer; changed under the lock of `all`.
// Invariants
//   DR1  An observer is notified of each action that is dropped after the observer was added.
// Orderings
//   present: relaxed; if other synchronisation orders the addition before the drop, the dropping thread also sees `present` set
// Checked by: "each drop is reported once, with its scheduler and the reason", "a stop that races submissions tells of each that does not run, once".
// Models: swift/actions/actions.swift. Not modelled: DR1.

internal import CScheduler
internal import Synchronization

enum DropObservers {
  typealias Handler =
    @Sendable (_ scheduler: (any ImmediateSchedulerType & AnyObject)?, _ reason: SchedulerError) -> Void

  private static let all = Protected<[DropObserver]>([])
  private static let present = Atomic(false)

  /// Whether there are observers.
  // DR1: true if an observer was added before the drop
  @inline(__always) static var areThere: Bool { present.load(ordering: .relaxed) }

  static func add(_ handler: @escaping Handler) -> any Disposable {
    let observer = DropObserver(handler)
    change { $0.append(observer) }
    return observer
  }

  fileprivate static func remove(_ observer: DropObserver) { change { $0 = $0.filter { $0 !== observer } } }

  /// Changes the list of observers and `present`. Releases the old list outside the lock.
  private static func change(_ body: (inout [DropObserver]) -> Void) {
    let before = all.withLock { observers in
      let before = observers
      body(&observers)
      present.store(!observers.isEmpty, ordering: .relaxed)  // DR1: true from the first addition on
      return before
    }
    _ = consume before  // outside the lock
  }

  /// Notifies all observers that an action of `core` was dropped.
  static func tell(_ core: TargetCore, _ reason: SchedulerError) {
    let observers = all.read()
    if observers.isEmpty { return }
    let scheduler = core.livingScheduler  // nil if the scheduler has been released
    for observer in observers { observer.tell(scheduler, reason) }
  }
}

/// One observer. Drops that its handler causes on the same thread do not call the handler again, because that could recurse without end.
private final class DropObserver: Disposable {
  private struct State {
    var handler: DropObservers.Handler?  // nil after the disposal
    var inside: [UInt] = []  // the threads that are inside the handler
  }

  private let counted = CountedDisposable()  // for the diagnostic count of disposables
  private let state: Protected<State>

  init(_ handler: @escaping DropObservers.Handler) {
    state = Protected(State(handler: handler))
    Counted.closures(1)  // for the diagnostic count
  }

  deinit { if state.read({ $0.handler != nil }) { Counted.closures(-1) } }

  func tell(_ scheduler: (any ImmediateSchedulerType & AnyObject)?, _ reason: SchedulerError) {
    let thread = csched_swift_thread_()
    let handler = state.withLock { state -> DropObservers.Handler? in
      guard let handler = state.handler, !state.inside.contains(thread) else { return nil }  // nil: do not call
      state.inside.append(thread)
      return handler
    }
    guard let handler else { return }
    let outer = csched_swift_discards_begin_()
    handler(scheduler, reason)
    // performs deferred drops while this thread is in `inside`, so the handler is not called for them
    csched_swift_discards_end_(outer)
    state.withLock { $0.inside.removeAll { $0 == thread } }
  }

  var isDisposed: Bool { state.read { $0.handler == nil } }

  func dispose() {
    guard let handler = state.withLock({ $0.handler.take() }) else { return }
    DropObservers.remove(self)
    _ = consume handler
    Counted.closures(-1)  // for the diagnostic count
  }
}
