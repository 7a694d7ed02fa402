internal import CScheduler

extension Schedulers {
  /// Has `handler` called for each action that is dropped from now on, on any scheduler of this module, until what is returned is disposed.
  ///
  /// ```swift
  /// let reports = Schedulers.onDrop { scheduler, reason in log("an action was dropped: \(reason)") }
  /// ```
  ///
  /// 1. ``SchedulerError`` says what counts. Each drop is told once to each of the handlers, in the order in which they were added, on the thread that
  ///    drops, or submits; outside of all locks of ours, when the scheduler has let go of the action's closure.
  /// 2. The scheduler is the one that the action was scheduled on, below what wraps it; `nil` when it has been let go.
  /// 3. A handler may schedule. What that makes the scheduler drop on the same thread is told to the other handlers, not to this one.
  /// 4. What ``ThreadScheduler/trySchedule(_:)`` says by an error is not told here.
  /// 5. Once disposed, a handler is not called any more; a call on another thread that has begun goes on.
  /// 6. Without a handler a drop costs a look at one word more, a submission too, and a run nothing.
  ///
  /// - Parameter handler: told of each drop: the scheduler, if it has an identity, and the reason.
  public static func onDrop(
    _ handler:
      @escaping @Sendable (_ scheduler: (any ImmediateSchedulerType & AnyObject)?, _ reason: SchedulerError) -> Void
  ) -> any Disposable { DropObservers.add(handler) }
}

extension ImmediateSchedulerType {
  /// Schedules `action`, and calls `onDrop` instead, once, if it is dropped: see ``SchedulerError`` for what counts.
  ///
  /// ```swift
  /// database.schedule { write(entry) } onDrop: { _ in journal.keep(entry) }
  /// ```
  ///
  /// It is called on the thread that drops, outside of all locks of ours; what is returned says that it is disposed by then. Of `action` and
  /// `onDrop` at most one is called: none after a disposal that came before. On every scheduler, of your own too, where it is told by the end of the
  /// closure.
  ///
  /// What a handler makes the scheduler drop on the same thread is told after the handler has returned. Do not wait for it inside of the handler.
  ///
  /// - Parameters:
  ///   - action: what to run. It is released, with its captures, when it has run, is disposed, or is dropped.
  ///   - onDrop: called in its place, with the reason, when it never runs.
  @discardableResult
  public func schedule(
    _ action: @escaping @Sendable () -> Void, onDrop: @escaping @Sendable (SchedulerError) -> Void
  ) -> any Disposable {
    return schedule(action, isTold: true, onDrop: onDrop)
  }

  /// The same. `isTold`: `onDrop` tells the one who schedules, so that a debug build does not print a refusal.
  func schedule(
    _ action: @escaping @Sendable () -> Void, isTold: Bool, onDrop: @escaping @Sendable (SchedulerError) -> Void
  ) -> any Disposable {
    told(onDrop) { told in
      isTold ? withoutRefusalLine { schedule { told.run(action) } } : schedule { told.run(action) }
    }
  }

  fileprivate func told(
    _ onDrop: @escaping @Sendable (SchedulerError) -> Void, _ submit: (FatedAction) -> any Disposable
  ) -> any Disposable {
    let fate = ActionFate(onDrop: onDrop)
    var action: FatedAction? = FatedAction(fate)
    let token = submit(action!)
    if isKnownUniquelyReferenced(&action) {  // it was refused, unless it has run
      let isOutermost = csched_swift_discards_enter_()
      action = nil
      if isOutermost { csched_swift_discards_leave_() }
    } else {
      fate.endSubmission()
      action = nil
    }
    return FatedDisposable(token, fate)
  }
}

extension SchedulerType {
  /// Schedules `action` for `delay` from now, and calls `onDrop` instead, once, if it is dropped: see ``ImmediateSchedulerType/schedule(_:onDrop:)``.
  ///
  /// - Parameters:
  ///   - delay: how long from now. Zero or less is a plain submission; more than the clock can hold never comes.
  ///   - action: what to run. It is released, with its captures, when it has run, is disposed, or is dropped.
  ///   - onDrop: called in its place, with the reason, when it never runs.
  @discardableResult
  public func schedule(
    after delay: Duration, _ action: @escaping @Sendable () -> Void,
    onDrop: @escaping @Sendable (SchedulerError) -> Void
  ) -> any Disposable {
    return told(onDrop) { told in withoutRefusalLine { schedule(after: delay) { told.run(action) } } }
  }
}
