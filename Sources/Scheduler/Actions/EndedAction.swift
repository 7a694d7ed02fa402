/// Handle for an action that has already completed. Disposing it disposes the disposable that the action returned.
final class EndedAction: DisposalNode {
  private let counted = CountedDisposable()
  private let lock = InlineLock()
  // Accessed under the lock, and in init and deinit.
  nonisolated(unsafe) private var returned: (any Disposable)?

  private init(_ returned: any Disposable) { self.returned = returned }

  /// Returns a handle for an action that has run and returned `returned`.
  static func leading(to returned: any Disposable) -> any Disposable {
    let kind = type(of: returned)
    if kind == NopDisposable.self { return NopDisposable() }
    return kind == EndedAction.self ? returned as! EndedAction : EndedAction(returned)
  }

  /// Returns the disposable that an `EndedAction` holds. Returns any other disposable itself.
  static func end(of disposable: (any Disposable)?) -> (any Disposable)? {
    guard let disposable, type(of: disposable) == EndedAction.self else { return disposable }
    let ended = disposable as! EndedAction
    return ended.lock.withLock { ended.returned }
  }

  deinit {
    guard returned != nil else { return }
    DisposalWalk.release { walk in
      if let returned = returned.take() { walk.push(returned) }
    }
  }

  /// Always true: the action has run.
  var isDisposed: Bool { true }

  func dispose() { DisposalWalk.dispose(self) }

  func detachChildren(into walk: inout DisposalWalk) {
    if let returned = lock.withLock({ returned.take() }) { walk.push(returned) }
  }
}
