// What is scheduled through a group.

extension ActionGroup {
  /// Schedules `action` on `scheduler`, as one that the group waits for until it has run or was dropped.
  ///
  /// - Parameters:
  ///   - scheduler: where it runs.
  ///   - action: what to run. It is released, with its captures, when it has run, is disposed, or is dropped.
  /// - Returns: what cancels it; ``cancelAll()`` does, too.
  @discardableResult
  public func schedule(
    on scheduler: some ImmediateSchedulerType, _ action: @escaping @Sendable () -> Void
  ) -> any Disposable {
    admit(action) { scheduler.schedule($0) }
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
  public func scheduler(on scheduler: any SchedulerType) -> any SchedulerType {
    ForwardingScheduler(to: scheduler) { [self] action, repeats, submit in
      guard repeats else { return admit(action, submit) }
      return admit(ActionMember(of: self, action)) { member in submit { member.tick() } }
    }
  }

  /// Makes `action` a member, which what `submit` schedules holds until it has ended.
  func admit(_ action: @escaping @Sendable () -> Void, _ submit: (@escaping @Sendable () -> Void) -> any Disposable)
    -> any Disposable
  {
    admit(ActionMember(of: self, action)) { member in submit { member.run() } }
  }

  /// Has `submit` schedule what holds the member until it has ended.
  func admit<Member: GroupMember>(_ member: Member, _ submit: (Member) -> any Disposable) -> any Disposable {
    let scheduled = submit(member)
    members.append(member, cancelledBy: scheduled)
    return scheduled
  }

  /// Cancels all that was scheduled through the group and has not begun: none of that begins after this has returned. What has begun ends by
  /// itself, and what comes later is not concerned.
  public func cancelAll() { members.cancelAll() }
}
