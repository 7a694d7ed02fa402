internal import CScheduler

extension VirtualTimeScheduler {
  // MARK: moving time

  /// Moves the clock on by `interval`, and runs on the way all that becomes due, in order. See ``advance(to:)``.
  ///
  /// The interval is counted from the present, inside of an action too. One that is not positive runs what is due already.
  ///
  /// - Parameter interval: how far, from the present.
  public func advance(by interval: Duration) {
    advance(to: timeline.time(after: interval))
  }

  /// Moves the clock to `time`, and runs on the way all that becomes due until then, `time` included, in order.
  ///
  /// What an action schedules for its own instant, or for a later one until `time`, runs within the same advance. A `time` in the
  /// past is taken for the present: the clock does not move, and what is due runs.
  ///
  /// - Parameter time: where to. The past is taken for the present.
  public func advance(to time: Instant) {
    let tick = timeline.head(for: time)
    drive(CSCHED_VIRTUAL_ADVANCE, tick, "advance")
    timeline.arrive(at: time, tick)
  }

  /// Runs what is due, in order, and all that this schedules for the same instant. The clock stays.
  public func advance() { advance(to: virtualTime) }

  /// Runs all, and moves the clock to each, until nothing is left but what waits at the end of time, and periodic actions that have had
  /// their first tick.
  ///
  /// Periodic actions have their ticks meanwhile, but do not keep it going, because they would do so for ever. Tasks that sleep are
  /// woken; what they do then happens on their own threads, and is not waited for.
  public func run() { run(includingPeriodic: false) }

  /// The same; `includingPeriodic` it goes on for periodic actions, too. Those that are never disposed take it to ``actionLimit``, which stops
  /// the process.
  ///
  /// - Parameter includingPeriodic: whether periodic actions keep it going.
  public func run(includingPeriodic: Bool) {
    drive(includingPeriodic ? CSCHED_VIRTUAL_RUN_ALL : CSCHED_VIRTUAL_RUN, 0, "run")
  }

  /// Runs the next `count` actions, and moves the clock to each: fewer if there are no more, none if `count` is not positive.
  ///
  /// Only what really runs counts, not what was disposed. A tick of a periodic action counts, and so does waking a task. What waits
  /// at the end of time does not come.
  ///
  /// - Parameter count: how many actions to run.
  public func step(_ count: Int = 1) {
    if count > 0 { drive(CSCHED_VIRTUAL_STEP, csched_time(count), "step") }
  }

  /// Ends what is being driven, after the action that is running: by an outer call, and by those that have been made inside of it.
  ///
  /// The clock stays at that action; what has not run stays where it is. When nothing is being driven this does nothing. Calls that
  /// are made afterwards count, those by the same action too.
  public func stop() { csched_virtual_end_run(timeline.pointer) }

  /// Moves the clock to `time` and runs nothing: what has become due runs, late, at the next advance, run or step. A `time` in the
  /// past does nothing.
  ///
  /// - Parameter time: where to. The past does nothing.
  public func sleep(to time: Instant) {
    let tick = timeline.head(for: time)
    csched_virtual_skip_to(timeline.pointer, tick)
    timeline.arrive(at: time, tick)
  }

  /// Moves the clock on by `interval` and runs nothing: see ``sleep(to:)``.
  ///
  /// - Parameter interval: how far, from the present.
  public func sleep(by interval: Duration) {
    sleep(to: timeline.time(after: interval))
  }

  /// Does what is asked for, unless somebody drives already: that one will then do this too.
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
