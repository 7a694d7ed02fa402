// What is scheduled through a group.

extension ActionGroup {
  /// Schedules `action` on `scheduler`, as one that the group waits for until it has run or was dropped.
  ///
  /// - Returns: what cancels it; ``cancelAll()`` does, too.
  @discardableResult
  public func schedule(
    on scheduler: some ImmediateSchedulerType, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable {
    enter()
    let member = Member(of: self)
    let scheduled = scheduler.schedule {
      action()
      member.end()
    }
    member.isCancelled(by: scheduled)
    return scheduled
  }

  /// Cancels all that was scheduled through the group and has not begun: none of that begins after this has returned. What has begun ends by
  /// itself, and what comes later is not concerned.
  public func cancelAll() { actions.exchange(CompositeDisposable()).dispose() }

  /// An action that has not ended. Its closure holds it, so that a drop ends it, too.
  private final class Member: Sendable {
    private struct State {
      var hasEnded = false
      var key: DisposeKey?
    }

    private let group: ActionGroup
    private let actions: CompositeDisposable
    private let state = Protected(State())

    init(of group: ActionGroup) {
      self.group = group
      actions = group.actions.read()
    }

    deinit { end() }

    /// Lets ``cancelAll()`` cancel it, unless it has ended.
    func isCancelled(by scheduled: any Disposable) {
      let key = actions.insert(scheduled)
      let hasEnded = state.withLock { state in
        state.key = key
        return state.hasEnded
      }
      if hasEnded, let key { actions.take(for: key) }
    }

    /// Leaves the group, the first time.
    func end() {
      let before = state.withLock { state in
        defer { state.hasEnded = true }
        return state
      }
      guard !before.hasEnded else { return }
      if let key = before.key { actions.take(for: key) }
      group.leave()
    }
  }
}
