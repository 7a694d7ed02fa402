/// What stands for an action that ran before its disposable could be handed out: it is over, and leads to what the action returned.
final class EndedAction: DisposalNode {
  private let counted = CountedDisposable()
  private let lock = InlineLock()
  // Under the lock, and in init and deinit.
  nonisolated(unsafe) private var returned: (any Disposable)?

  private init(_ returned: any Disposable) { self.returned = returned }

  /// Returns what stands for an action that has run and returned `returned`.
  static func leading(to returned: any Disposable) -> any Disposable {
    let kind = type(of: returned)
    if kind == NopDisposable.self { return NopDisposable() }
    return kind == EndedAction.self ? returned as! EndedAction : EndedAction(returned)
  }

  /// Returns what `disposable` leads to, if it is one of these; otherwise itself.
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

  /// True: the action has run.
  var isDisposed: Bool { true }

  func dispose() { DisposalWalk.dispose(self) }

  func detachChildren(into walk: inout DisposalWalk) {
    if let returned = lock.withLock({ returned.take() }) { walk.push(returned) }
  }
}
