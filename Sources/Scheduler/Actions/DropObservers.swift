// Notifies the handlers of `Schedulers.onDrop` of each dropped action.
//
// States of `present`: whether `all` contains an observer; changed under the lock of `all`.
// Invariants
//   DR1  An observer is notified of each action that is dropped after the observer was added.
// Orderings
//   present: relaxed; if other synchronisation orders the addition before the drop, the dropping thread also sees
//   `present` set
// Models: swift/actions/actions.swift. Not modelled: DR1.

internal import CScheduler
internal import Synchronization

enum DropObservers {
  typealias Handler =
    @Sendable (_ scheduler: (any ImmediateSchedulerType & AnyObject)?, _ reason: SchedulerError) -> Void

  private static let all = Protected<[DropObserver]>([]).heldInForks()
  private static let present = Atomic(false)  // whether `all` is not empty

  /// Whether there are observers. False spares a drop all further work.
  // DR1: relaxed is enough: synchronisation that orders the addition before the drop also makes `true` visible here
  @inline(__always) static var areRegistered: Bool { present.load(ordering: .relaxed) }

  /// Adds an observer. Returns the disposable that removes it.
  static func add(_ handler: @escaping Handler) -> any Disposable {
    let observer = DropObserver(handler)
    change { $0.append(observer) }
    return observer
  }

  fileprivate static func remove(_ observer: DropObserver) { change { $0 = $0.filter { $0 !== observer } } }

  /// Changes the list of observers and `present`. Releases the old list outside the lock.
  private static func change(_ body: (inout [DropObserver]) -> Void) {
    let oldList = all.withLock { observers in
      let oldList = observers
      body(&observers)
      // DR1: under the lock, so that two changes leave it in agreement with the list
      present.store(!observers.isEmpty, ordering: .relaxed)
      return oldList
    }
    _ = consume oldList  // may free an observer and user captures, so outside the lock
  }

  /// Notifies all observers that an action of `core` was dropped.
  static func notify(_ core: TargetCore, _ reason: SchedulerError) {
    let observers = all.read()
    if observers.isEmpty { return }
    let scheduler = core.livingScheduler  // nil if the scheduler has been released
    for observer in observers { observer.notify(scheduler, reason) }
  }
}

/// One observer: a handler of `Schedulers.onDrop`. If the handler causes drops on the same thread, they do not call it
/// again: that could recurse without end.
private final class DropObserver: Disposable {
  private struct State {
    var handler: DropObservers.Handler?  // nil after the disposal
    var threadsInside: [UInt] = []  // the threads that call or release the handler
  }

  private let counted = CountedDisposable()  // for the diagnostic count of disposables
  private let state: Protected<State>
  // signalled when a thread has left `threadsInside` after the disposal
  private let threadLeft = UnfairLock.Condition()

  init(_ handler: @escaping DropObservers.Handler) {
    state = Protected(State(handler: handler))
    Counted.closures(1)  // for the diagnostic count
  }

  deinit { if state.read({ $0.handler != nil }) { Counted.closures(-1) } }

  /// Calls the handler, unless the observer is disposed or this thread is already inside the handler.
  func notify(_ scheduler: (any ImmediateSchedulerType & AnyObject)?, _ reason: SchedulerError) {
    let thread = csched_swift_thread_number_()
    guard enterAndCall(scheduler, reason, thread) else { return }
    leave(thread)
  }

  /// Calls the handler. Returns whether it did; then the caller calls `leave`. Not inlined, so that its reference to
  /// the handler is gone before that.
  @inline(never)
  private func enterAndCall(
    _ scheduler: (any ImmediateSchedulerType & AnyObject)?, _ reason: SchedulerError, _ thread: UInt
  ) -> Bool {
    let handler = state.withLock { state -> DropObservers.Handler? in
      guard let handler = state.handler, !state.threadsInside.contains(thread) else { return nil }
      state.threadsInside.append(thread)
      return handler
    }
    guard let handler else { return false }
    let outer = csched_swift_discards_begin_()  // defers the drops that the handler causes
    handler(scheduler, reason)
    // performs the deferred drops. This thread is still in `threadsInside`, so the handler is not called for them.
    csched_swift_discards_end_(outer)
    return true
  }

  private func leave(_ thread: UInt) {
    let isAwaited = state.withLock { state in
      state.threadsInside.remove(at: state.threadsInside.lastIndex(of: thread)!)
      return state.handler == nil
    }
    if isAwaited { threadLeft.broadcast() }
  }

  var isDisposed: Bool { state.read { $0.handler == nil } }

  func dispose() {
    let thread = csched_swift_thread_number_()
    guard release(thread) else { return }
    leave(thread)
  }

  /// Releases the handler, with its captures. Returns false if it was released before; otherwise the caller calls
  /// `leave`.
  @inline(never)
  private func release(_ thread: UInt) -> Bool {
    let handler = state.withLock { state in
      if state.handler != nil { state.threadsInside.append(thread) }
      return state.handler.take()
    }
    guard handler != nil else { return false }
    DropObservers.remove(self)
    Counted.closures(-1)  // for the diagnostic count
    return true
  }

  func disposeAndWait() {
    dispose()
    let thread = csched_swift_thread_number_()
    csched_pool_blocking_begin()  // if this is a pool thread, the pool replaces it during the wait
    state.withLock(on: threadLeft, when: { $0.threadsInside.isEmpty || $0.threadsInside.contains(thread) }) { _ in }
    csched_pool_blocking_end()
  }
}
