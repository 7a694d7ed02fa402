extension ActionGroup {
  /// Schedules `action` on `scheduler` as a member of this group. The member leaves the group when it has run or was
  /// dropped.
  ///
  /// - Parameters:
  ///   - scheduler: where it runs.
  ///   - action: what to run. It is released, with its captures, when it has run, is disposed, or is dropped.
  /// - Returns: a disposable that cancels the action; ``cancelAll()`` cancels it too.
  @discardableResult
  public func schedule(
    on scheduler: some ImmediateSchedulerType, _ action: @escaping @Sendable () -> Void
  ) -> any Disposable {
    admit(action) { scheduler.schedule($0) }
  }

  /// Schedules `action` as a member, as ``schedule(on:_:)-(_,()->Void)`` does. If it is dropped, calls `onDrop` once
  /// instead.
  ///
  /// - Parameters:
  ///   - scheduler: where it runs.
  ///   - action: what to run.
  ///   - onDrop: called with the reason if `action` never runs, and is not disposed. A cancellation of the group is no
  ///     drop.
  @discardableResult
  public func schedule(
    on scheduler: some ImmediateSchedulerType, _ action: @escaping @Sendable () -> Void,
    onDrop: @escaping @Sendable (SchedulerError) -> Void
  ) -> any Disposable { MemberScheduler(group: self, base: scheduler).schedule(action, onDrop: onDrop) }

  /// Schedules `action` as a member, with a context that ``cancelAll()`` disposes while the action runs.
  ///
  /// - Parameters:
  ///   - scheduler: where it runs.
  ///   - action: what to run. It checks the context to see whether it should end.
  /// - Returns: a disposable that disposes the context: see ``ImmediateSchedulerType/schedule(_:)-(_)``.
  @discardableResult
  public func schedule(
    on scheduler: some ImmediateSchedulerType, _ action: @escaping @Sendable (ActionContext) -> Void
  ) -> any Disposable { MemberScheduler(group: self, base: scheduler).schedule(action) }

  /// Schedules `action` as a member, with a context. If it is dropped, calls `onDrop` once instead.
  ///
  /// - Parameters:
  ///   - scheduler: where it runs.
  ///   - action: what to run. It checks the context to see whether it should end.
  ///   - onDrop: called with the reason if `action` never runs, and is not disposed. A cancellation of the group is no
  ///     drop.
  @discardableResult
  public func schedule(
    on scheduler: some ImmediateSchedulerType, _ action: @escaping @Sendable (ActionContext) -> Void,
    onDrop: @escaping @Sendable (SchedulerError) -> Void
  ) -> any Disposable { MemberScheduler(group: self, base: scheduler).schedule(action, onDrop: onDrop) }

  /// Returns a scheduler whose actions run on `scheduler` as members of this group, so that you can count them, wait
  /// for them and cancel them.
  ///
  /// ```swift
  /// let requests = ActionGroup()
  /// let client = Client(on: requests.scheduler(on: network))   // the client need not know of the group
  /// log("\(requests.pendingCount) under way")
  /// guard requests.wait(for: .seconds(5)) else { return requests.cancelAll() }
  /// ```
  ///
  /// 1. An action is a member from its submission until it has run or was dropped or disposed. A delayed action is a
  ///    member while it waits, a periodic action until it is disposed, and a recursive action until it has no further
  ///    step.
  /// 2. ``cancelAll()`` disposes all members that have not started, ends periodic actions, and cancels the contexts of
  ///    running members.
  /// 3. ``Schedulers/current`` is `scheduler` inside the actions.
  ///
  /// Schedulers themselves do not count their actions. A count costs each action two operations on a word that all
  /// threads contend for, and a shared scheduler such as a pool runs actions of many callers.
  public func scheduler(on scheduler: any SchedulerType) -> any SchedulerType {
    // called for each submission; `repeats`: the action is periodic; `submit` schedules a closure on `scheduler`
    ForwardingScheduler(to: scheduler) { [self] action, repeats, submit in
      guard repeats else { return admit(action, submit) }
      // `tick` does not end the member: a periodic action stays a member until it is disposed or dropped
      return admit(ActionMember(of: self, action)) { member in submit { member.tick() } }
    }
  }

  /// Makes `action` a member, and calls `submit` to schedule a closure that runs it and that retains the member.
  /// Returns what `submit` returned.
  func admit(_ action: @escaping @Sendable () -> Void, _ submit: (@escaping @Sendable () -> Void) -> any Disposable)
    -> any Disposable
  {
    admit(ActionMember(of: self, action)) { member in submit { member.run() } }
  }

  /// Calls `submit`, which schedules a closure that retains `member`. Then lists the member for `cancelAll`, unless it
  /// has ended already.
  func admit<Member: GroupMember>(_ member: Member, _ submit: (Member) -> any Disposable) -> any Disposable {
    let (base, scheduled) = ListedMembers.noting { submit(member) }
    member.base = base
    members.append(member, cancelledBy: scheduled)
    return scheduled
  }

  /// Cancels all members, as a disposal of each of them does.
  ///
  /// 1. Members that have not started are released; none of them starts after this returns. They are disposed, not
  ///    dropped: no `onDrop` is called.
  /// 2. Running members continue to their end. ``ActionContext/isCancelled`` is true in those with a context, and their
  ///    ``ActionContext/onDispose(_:)`` handlers are called before this returns, on this thread.
  /// 3. A task that awaits `perform`, `sleep` or `ticks` of a ``scheduler(on:)`` of the group, whose action has not
  ///    started, gets a `CancellationError`.
  /// 4. Actions that are scheduled later are not cancelled.
  public func cancelAll() { members.cancelAll() }
}

/// Schedules the members of `group` on `base`, for the forms that wrap `schedule(_:)`.
private struct MemberScheduler<Base: ImmediateSchedulerType>: ImmediateSchedulerType {
  let group: ActionGroup
  let base: Base

  func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable { group.schedule(on: base, action) }
}
