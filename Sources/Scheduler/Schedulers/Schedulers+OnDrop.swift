internal import CScheduler

extension Schedulers {
  /// Calls `handler` for each action that is dropped from now on, on any scheduler of this module, until the returned
  /// disposable is disposed.
  ///
  /// ```swift
  /// let reports = Schedulers.onDrop { scheduler, reason in log("an action was dropped: \(reason)") }
  /// ```
  ///
  /// 1. ``SchedulerError`` lists what counts as a drop. Each handler receives each drop once; handlers are called in
  ///    the order in which they were added. They run on the thread that drops or submits, outside all locks of this
  ///    library, after the release of the action's closure.
  /// 2. The scheduler argument is the one on which the action was scheduled, without wrappers. It is `nil` if the
  ///    scheduler has been released.
  /// 3. A handler may schedule. If that drops an action on the same thread, the other handlers receive this second
  ///    drop; this handler does not.
  /// 4. An error that ``ThreadScheduler/trySchedule(_:)`` throws is not reported here.
  /// 5. A disposed handler is not called again. A call that has started on another thread continues.
  /// 6. Without handlers, each drop and each submission only check one additional word. A run has no additional cost.
  ///
  /// - Parameter handler: receives the scheduler, if it has an identity, and the reason.
  public static func onDrop(
    _ handler:
      @escaping @Sendable (_ scheduler: (any ImmediateSchedulerType & AnyObject)?, _ reason: SchedulerError) -> Void
  ) -> any Disposable { DropObservers.add(handler) }
}

extension ImmediateSchedulerType {
  /// Schedules `action`. If the action is dropped, calls `onDrop` once instead: see ``SchedulerError`` for what counts.
  ///
  /// ```swift
  /// database.schedule { write(entry) } onDrop: { _ in journal.keep(entry) }
  /// ```
  ///
  /// `onDrop` is called on the thread that drops, outside all locks of this library. The returned disposable reports
  /// that it is disposed by then.
  /// At most one of `action` and `onDrop` is called, and neither after an earlier disposal. This works on every
  /// scheduler, your own included.
  /// On your own scheduler, the release of the closure without a run counts as a drop.
  ///
  /// If a handler causes drops on the same thread, they are reported after the handler has returned. Do not wait for
  /// them inside the handler.
  ///
  /// - Parameters:
  ///   - action: the work to run. It is released, with its captures, when it has run, is disposed, or is dropped.
  ///   - onDrop: called with the reason if `action` never runs.
  @discardableResult
  public func schedule(
    _ action: @escaping @Sendable () -> Void, onDrop: @escaping @Sendable (SchedulerError) -> Void
  ) -> any Disposable {
    return schedule(action, callerReportsRefusal: true, onDrop: onDrop)
  }

  /// As `schedule(_:onDrop:)`. With `callerReportsRefusal`, `onDrop` reports a refusal to the caller, so a debug build
  /// does not print it.
  func schedule(
    _ action: @escaping @Sendable () -> Void, callerReportsRefusal: Bool,
    onDrop: @escaping @Sendable (SchedulerError) -> Void
  ) -> any Disposable {
    reporting(onDrop) { reported in
      callerReportsRefusal
        ? withoutRefusalLine { schedule { reported.run(action) } } : schedule { reported.run(action) }
    }
  }

  /// Calls `submit` to schedule an action that reports its drop. `submit` receives an object that runs the action. If
  /// the object is released without a run or a disposal, `onDrop` is called. Returns a disposable that cancels the
  /// action.
  fileprivate func reporting(
    _ onDrop: @escaping @Sendable (SchedulerError) -> Void, _ submit: (ReportingAction) -> any Disposable
  ) -> any Disposable {
    let outcome = ActionOutcome(onDrop: onDrop)
    var action: ReportingAction? = ReportingAction(outcome)
    let (members, token) = ListedMembers.noting { submit(action!) }
    // True if the scheduler has released its references to the object already: the action was refused, was cancelled by
    // its group, or has run.
    if isKnownUniquelyReferenced(&action) {
      if members.areCancelled { _ = outcome.claimDisposal() }
      // Between these two calls, drops that `onDrop` causes on this thread are deferred, as inside a drop of the C
      // core.
      let isOutermost = csched_swift_discards_begin_if_outermost_()
      action = nil  // calls `onDrop` if the action was refused
      if isOutermost { csched_swift_discards_end_outermost_() }
    } else {
      outcome.endSubmission(of: members)  // from now on a drop counts as a stop, not as a refusal
      action = nil  // from now on only the scheduler retains the object, so its release means: run, or dropped
    }
    return ReportingDisposable(token, outcome)
  }
}

extension SchedulerType {
  /// Schedules `action` for `delay` from now. If it is dropped, calls `onDrop` once instead: see
  /// ``ImmediateSchedulerType/schedule(_:onDrop:)-(()->Void,_)``.
  ///
  /// - Parameters:
  ///   - delay: the time from now. Zero or less is a plain submission. With more than the clock can hold, the action
  ///     never runs.
  ///   - action: the work to run. It is released, with its captures, when it has run, is disposed, or is dropped.
  ///   - onDrop: called with the reason if `action` never runs.
  @discardableResult
  public func schedule(
    after delay: Duration, _ action: @escaping @Sendable () -> Void,
    onDrop: @escaping @Sendable (SchedulerError) -> Void
  ) -> any Disposable {
    return reporting(onDrop) { reported in withoutRefusalLine { schedule(after: delay) { reported.run(action) } } }
  }
}
