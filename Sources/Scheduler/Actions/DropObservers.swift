// Notifies the registered observers of each dropped action.
//
// States of `present`: whether there is an observer; changed under the lock of `all`.
// Invariants
//   DR1  An action that is dropped after an observer was added is reported to it.
// Orderings
//   present: relaxed; a thread that sees the addition by other means sees the word
// Checked by: "each drop is reported once, with its scheduler and the reason", "a stop that races submissions tells of each that does not run, once".
// Models: swift/actions/actions.swift. Not modelled: DR1.

internal import CScheduler
internal import Synchronization

/// The observers of drops.
enum DropObservers {
  typealias Handler =
    @Sendable (_ scheduler: (any ImmediateSchedulerType & AnyObject)?, _ reason: SchedulerError) -> Void

  private static let all = Protected<[DropObserver]>([])
  private static let present = Atomic(false)

  /// Whether there are observers.
  @inline(__always) static var areThere: Bool { present.load(ordering: .relaxed) }  // DR1: every observer

  static func add(_ handler: @escaping Handler) -> any Disposable {
    let observer = DropObserver(handler)
    change { $0.append(observer) }
    return observer
  }

  fileprivate static func remove(_ observer: DropObserver) { change { $0 = $0.filter { $0 !== observer } } }

  private static func change(_ body: (inout [DropObserver]) -> Void) {
    let before = all.withLock { observers in
      let before = observers
      body(&observers)
      present.store(!observers.isEmpty, ordering: .relaxed)  // DR1: every observer
      return before
    }
    _ = consume before  // released outside the lock
  }

  /// Notifies all observers of a drop of an action of `core`.
  static func tell(_ core: TargetCore, _ reason: SchedulerError) {
    let observers = all.read()
    if observers.isEmpty { return }
    let scheduler = core.livingScheduler
    for observer in observers { observer.tell(scheduler, reason) }
  }
}

/// An observer. A thread that is inside the handler does not call it again, because that could recurse without end.
private final class DropObserver: Disposable {
  private struct State {
    var handler: DropObservers.Handler?
    var inside: [UInt] = []
  }

  private let counted = CountedDisposable()
  private let state: Protected<State>

  init(_ handler: @escaping DropObservers.Handler) {
    state = Protected(State(handler: handler))
    Counted.closures(1)
  }

  deinit { if state.read({ $0.handler != nil }) { Counted.closures(-1) } }

  func tell(_ scheduler: (any ImmediateSchedulerType & AnyObject)?, _ reason: SchedulerError) {
    let thread = csched_swift_thread_()
    let handler = state.withLock { state -> DropObservers.Handler? in
      guard let handler = state.handler, !state.inside.contains(thread) else { return nil }
      state.inside.append(thread)
      return handler
    }
    guard let handler else { return }
    let outer = csched_swift_discards_begin_()
    handler(scheduler, reason)
    csched_swift_discards_end_(outer)  // before the thread counts as left: the handler does not observe its own drops
    state.withLock { $0.inside.removeAll { $0 == thread } }
  }

  var isDisposed: Bool { state.read { $0.handler == nil } }

  func dispose() {
    guard let handler = state.withLock({ $0.handler.take() }) else { return }
    DropObservers.remove(self)
    _ = consume handler
    Counted.closures(-1)
  }
}
