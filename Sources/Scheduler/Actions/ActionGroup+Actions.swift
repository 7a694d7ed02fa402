// What is scheduled through a group.

extension ActionGroup {
  /// Schedules `action` on `scheduler`, as one that the group waits for until it has run or was dropped.
  ///
  /// - Returns: what cancels it; ``cancelAll()`` does, too.
  @discardableResult
  public func schedule(
    on scheduler: some ImmediateSchedulerType, _ action: @escaping @Sendable () -> Void
  ) -> any Cancelable {
    admit { member in
      scheduler.schedule {
        action()
        member.end()
      }
    }
  }

  /// A scheduler whose actions run on `scheduler`, as members of this group: what counts, waits for and cancels all that a part of a program has under
  /// way.
  ///
  /// ```swift
  /// let requests = ActionGroup()
  /// let client = Client(on: requests.scheduler(on: network))   // it schedules as on any other
  /// log("\(requests.pendingCount) under way")
  /// guard requests.wait(for: .seconds(5)) else { return requests.cancelAll() }
  /// ```
  ///
  /// 1. An action is in the group from its submission on until it has run, or was dropped or disposed; a delayed one while it waits, too; a
  ///    periodic one until it is disposed; a recursive one until no step follows.
  /// 2. ``cancelAll()`` disposes all of them that have not begun; a periodic one has no further tick.
  /// 3. ``Schedulers/current`` is `scheduler` inside.
  ///
  /// Schedulers themselves count nothing, because a count costs every action of all that share one two operations that all threads contend for, and
  /// because whose actions are meant is the asker's to say: a pool is everybody's.
  public func scheduler(on scheduler: any SchedulerType) -> GroupScheduler { GroupScheduler(on: scheduler, in: self) }

  /// Enters for what `submit` schedules, which is to hold the member until it has ended.
  func admit(_ submit: (Member) -> any Cancelable) -> any Cancelable {
    enter()
    let member = Member(of: self)
    let scheduled = submit(member)
    member.isCancelled(by: scheduled)
    return scheduled
  }

  /// Cancels all that was scheduled through the group and has not begun: none of that begins after this has returned. What has begun ends by
  /// itself, and what comes later is not concerned.
  public func cancelAll() { actions.exchange(CompositeDisposable()).dispose() }

  /// An action that has not ended. Its closure holds it, so that a drop ends it, too.
  final class Member: Sendable {
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
