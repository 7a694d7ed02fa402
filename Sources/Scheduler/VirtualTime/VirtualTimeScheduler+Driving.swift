internal import CScheduler

extension VirtualTimeScheduler {
  // MARK: moving time

  /// Moves the clock forward by `interval`, and runs the actions that become due, in order. See ``advance(to:)``.
  ///
  /// The interval starts at the present, also inside an action. If it is not positive, only the actions that are already due run.
  ///
  /// - Parameter interval: the distance from the present.
  public func advance(by interval: Duration) {
    advance(to: timeline.time(after: interval))
  }

  /// Moves the clock to `time`, and runs the actions that become due until then, `time` included, in order.
  ///
  /// If an action schedules work for its own instant, or for a later one until `time`, that work runs within the same advance.
  ///
  /// - Parameter time: the new time. A time in the past means the present: the clock does not move, and due actions run.
  public func advance(to time: Instant) {
    let tick = timeline.head(for: time)
    drive(CSCHED_VIRTUAL_ADVANCE, tick, "advance")
    timeline.arrive(at: time, tick)
  }

  /// Runs the due actions in order, and actions that they schedule for the same instant. The clock does not move.
  public func advance() { advance(to: virtualTime) }

  /// Runs all actions, and moves the clock to each. Returns when only work at the end of time and periodic actions that have ticked once remain.
  ///
  /// Periodic actions tick meanwhile, but only their first ticks keep the run going: otherwise it would never end. Sleeping tasks are woken. They
  /// continue on their own threads, and the run does not wait for them.
  public func run() { run(includingPeriodic: false) }

  /// Runs as ``run()``. With `includingPeriodic`, periodic actions keep the run going too. Periodic actions that are never disposed reach
  /// ``actionLimit``, which stops the process.
  ///
  /// - Parameter includingPeriodic: whether periodic actions keep the run going.
  public func run(includingPeriodic: Bool) {
    drive(includingPeriodic ? CSCHED_VIRTUAL_RUN_ALL : CSCHED_VIRTUAL_RUN, 0, "run")
  }

  /// Runs the next `count` actions, and moves the clock to each. Runs fewer if there are no more, and none if `count` is not positive.
  ///
  /// Disposed actions do not count. A tick of a periodic action counts, and so does waking a task. Work at the end of time does not run.
  ///
  /// - Parameter count: how many actions to run.
  public func step(_ count: Int = 1) {
    if count > 0 { drive(CSCHED_VIRTUAL_STEP, csched_time(count), "step") }
  }

  /// Ends the current `advance`, `run` or `step` after the running action, including calls made inside it. Does nothing if none is in progress.
  ///
  /// The clock stays at that action, and the remaining actions stay scheduled. Later calls work as usual, also calls by the same action.
  public func stop() { csched_virtual_end_run(timeline.pointer) }

  /// Moves the clock to `time` and runs nothing. Actions that have become due run, late, at the next advance, run or step.
  ///
  /// - Parameter time: the new time. A time in the past does nothing.
  public func sleep(to time: Instant) {
    let tick = timeline.head(for: time)
    csched_virtual_skip_to(timeline.pointer, tick)
    timeline.arrive(at: time, tick)
  }

  /// Moves the clock forward by `interval` and runs nothing: see ``sleep(to:)``.
  ///
  /// - Parameter interval: the distance from the present.
  public func sleep(by interval: Duration) {
    sleep(to: timeline.time(after: interval))
  }

  /// Drops all waiting work, and refuses work from now on.
  package func close() { csched_virtual_close(timeline.pointer) }

  /// Makes `request`, or adds it to the call in progress. `amount`: a tick, or a number of steps. More than `actionLimit` actions stop the process.
  private func drive(_ request: csched_virtual_request, _ amount: csched_time, _ function: String) {
    var scope = csched_scope()
    if csched_virtual_drive_(timeline.pointer, request, amount, &scope) { return }
    misuse(
      "VirtualTimeScheduler.\(function)",
      """
      one call ran \(actionLimit) actions and found still more. Does one schedule itself again for ever? Dispose of it, advance to a \
      time instead of running all, lengthen the period, or raise actionLimit.
      """)
  }
}
