internal import CScheduler

extension VirtualTimeScheduler {
  // MARK: moving time

  /// Moves the clock forward by `interval`, and runs the actions that become due, in order. See ``advance(to:)``.
  ///
  /// The interval starts at the present, also inside an action. If it is not positive, only the actions that are
  /// already due run.
  ///
  /// - Parameter interval: how far, from the present.
  public func advance(by interval: Duration) {
    advance(to: timeline.time(after: interval))
  }

  /// Moves the clock to `time`, and runs the actions that become due until then, `time` included, in order.
  ///
  /// If an action schedules work for its own instant, or for a later one until `time`, that work runs within the same
  /// advance.
  ///
  /// - Parameter time: the new time. A time in the past means the present: the clock does not move, and due actions
  ///   run.
  public func advance(to time: Instant) {
    let tick = timeline.setGoal(time)  // 0 if `time` has passed
    drive(CSCHED_VIRTUAL_ADVANCE, tick, "advance")
    timeline.arrive(at: time, tick)  // does nothing if the clock is not there, for example after a `stop`
  }

  /// Runs the due actions in order, and actions that they schedule for the same instant. The clock does not move.
  public func advance() { advance(to: virtualTime) }

  /// Runs all actions, and moves the clock to the time of each. Returns when no other work remains than periodic
  /// actions that have ticked, and work at the end of time.
  ///
  /// Periodic actions tick while other work remains; after their first tick they do not prolong the run, because it
  /// would never end. Sleeping tasks are woken. They continue on their own threads, and the run does not wait for them.
  public func run() { run(includingPeriodic: false) }

  /// Runs as ``run()``. If `includingPeriodic` is true, the run also lasts until all periodic actions are disposed. If
  /// one is never disposed, the run reaches ``actionLimit``, which stops the process.
  ///
  /// - Parameter includingPeriodic: whether periodic actions prolong the run.
  public func run(includingPeriodic: Bool) {
    drive(includingPeriodic ? CSCHED_VIRTUAL_RUN_ALL : CSCHED_VIRTUAL_RUN, 0, "run")
  }

  /// Runs the next `count` actions, and moves the clock to the time of each. Runs fewer if there are no more, and none
  /// if `count` is not positive.
  ///
  /// Disposed actions do not count. A tick of a periodic action counts, and so does waking a task. Work at the end of
  /// time does not run.
  ///
  /// - Parameter count: how many actions to run.
  public func step(_ count: Int = 1) {
    if count > 0 { drive(CSCHED_VIRTUAL_STEP, csched_time(count), "step") }
  }

  /// Ends the `advance`, `run` or `step` in progress, and all calls that extended it, after the running action. Does
  /// nothing if none is in progress.
  ///
  /// The clock stays at that action, and the remaining actions stay scheduled. Later calls work as usual, also calls by
  /// the same action.
  public func stop() { csched_virtual_end_run(timeline.pointer) }

  /// Moves the clock to `time` and runs nothing. Actions that are then due run, late, in the next `advance`, `run` or
  /// `step`.
  ///
  /// - Parameter time: the new time. A time in the past does nothing.
  public func sleep(to time: Instant) {
    let tick = timeline.setGoal(time)
    csched_virtual_skip_to(timeline.pointer, tick)  // moves no clock back: a past tick changes nothing
    timeline.arrive(at: time, tick)
  }

  /// Moves the clock forward by `interval` and runs nothing: see ``sleep(to:)``.
  ///
  /// - Parameter interval: how far, from the present.
  public func sleep(by interval: Duration) {
    sleep(to: timeline.time(after: interval))
  }

  /// Closes the scheduler: drops all waiting work, and refuses work from now on. Thread: any.
  package func close() { csched_virtual_close(timeline.pointer) }

  /// Runs actions as `request` says. If a call is in progress, only extends that call. `amount`: the goal's tick
  /// (ADVANCE), the number of actions (STEP), or 0. More than `actionLimit` actions stop the process, with a message
  /// that names `function`.
  private func drive(_ request: csched_virtual_request, _ amount: csched_time, _ function: String) {
    var scope = csched_scope()  // the C function stores its context frame there
    if csched_virtual_drive_(timeline.pointer, request, amount, &scope) { return }  // false: the limit was exceeded
    misuse(
      "VirtualTimeScheduler.\(function)",
      """
      one call ran \(actionLimit) actions and found still more. Does one schedule itself again for ever? Dispose of it, advance to a \
      time instead of running all, lengthen the period, or raise actionLimit.
      """)
  }
}
