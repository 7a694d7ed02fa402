extension VirtualTimeScheduler {
  // MARK: moving time

  /// Moves the clock on by `interval`, and runs on the way all that becomes due, in order. See ``advance(to:)``.
  ///
  /// The interval is counted from the present, inside of an action too. One that is not positive runs what is due already.
  public func advance(by interval: VirtualTimeInterval) {
    advance(to: converter.offsetVirtualTime(virtualTime, offset: interval))
  }

  /// Moves the clock to `time`, and runs on the way all that becomes due until then, `time` included, in order.
  ///
  /// What an action schedules for its own instant, or for a later one until `time`, runs within the same advance. A `time` in the
  /// past is taken for the present: the clock does not move, and what is due runs.
  public func advance(to time: VirtualTime) { drive(.advance(time)) }

  /// Runs what is due, in order, and all that this schedules for the same instant. The clock stays.
  public func advance() { advance(to: virtualTime) }

  /// Runs all, and moves the clock to each, until nothing is left but periodic actions and what waits at the end of time.
  ///
  /// Periodic actions have their turns meanwhile, but do not keep it going, because they would do so for ever. Tasks that sleep are
  /// woken; what they do then happens on their own threads, and is not waited for.
  public func run() { drive(.run) }

  /// Runs the next `count` actions, and moves the clock to each: fewer if there are no more, none if `count` is not positive.
  ///
  /// Only what really runs counts, not what was disposed. A turn of a periodic action counts, and so does waking a task. What waits
  /// at the end of time does not come.
  public func step(_ count: Int = 1) {
    if count > 0 { drive(.step(count)) }
  }

  /// Runs one after the other all that is there, as ``run()`` does, of which it is another name.
  public func stepAll() { run() }

  /// Ends what is being driven, after the action that is running: by an outer call, and by those that have been made inside of it.
  ///
  /// The clock stays at that action; what has not run stays where it is. When nothing is being driven this does nothing. Calls that
  /// are made afterwards count, those by the same action too.
  public func stop() { queue.stop() }

  /// Moves the clock to `time` and runs nothing: what has become due runs, late, at the next advance, run or step. A `time` in the
  /// past does nothing.
  public func sleep(to time: VirtualTime) { queue.raiseClock(to: time) }

  /// Moves the clock on by `interval` and runs nothing: see ``sleep(to:)``.
  public func sleep(by interval: VirtualTimeInterval) {
    sleep(to: converter.offsetVirtualTime(virtualTime, offset: interval))
  }

  // MARK: the loop

  /// Does what `request` says, unless somebody drives already: that one will then do this too.
  // Specialised for the usual converter, or each comparison in the heap would go through the runtime.
  @_specialize(where Converter == MonotonicTimeConverter)
  private func drive(_ request: VirtualDrive<VirtualTime>.Request) {
    guard queue.beginDriving(request) else { return }
    var drive = VirtualDrive<VirtualTime>()
    var turns = 0
    while true {
      let (requests, isStopped) = queue.takeRequests()
      if isStopped { drive = VirtualDrive() }
      for request in requests { drive.add(request, isEarlier: { converter.isEarlier($0, than: $1) }) }
      if let (action, awaited) = queue.first(), isReached(action.time, by: drive, awaited: awaited) {
        var work = queue.takeFirst(action)
        if work == nil { continue }
        turns += 1
        if turns > turnLimit { stopForExcess(request) }
        drive.countTurn()
        queue.raiseClock(to: action.time)
        core.run {  // which is current until the captures are gone, too
          perform(action, work.take()!)
          action.leave()
        }
      } else {
        if let target = drive.target { queue.raiseClock(to: target) }
        drive = VirtualDrive()
        if queue.endDriving() { return }
      }
    }
  }

  /// Whether `drive` goes as far as `time`, the earliest at which something waits.
  private func isReached(_ time: VirtualTime, by drive: VirtualDrive<VirtualTime>, awaited: Int) -> Bool {
    if let target = drive.target, !converter.isEarlier(target, than: time) { return true }
    guard drive.target != nil || drive.steps > 0 || (drive.runsAll && awaited > 0) else { return false }
    if !converter.isEarlier(virtualTime, than: time) { return true }
    guard drive.steps > 0 || (drive.runsAll && awaited > 0) else { return false }
    guard let end = converter.endOfVirtualTime else { return true }
    return converter.isEarlier(time, than: end)
  }

  /// Runs `action`.
  private func perform(_ action: VirtualAction<Converter>, _ work: consuming VirtualAction<Converter>.Work) {
    switch consume work {
    case .once(let body), .waking(let body):
      body()
      action.settle(nil)
    case .disposing(let body):
      let returned = body()
      action.settle(type(of: returned) == NopDisposable.self ? nil : returned)
    case .periodic(let body, let period):
      body()
      let now = virtualTime, next = converter.offsetVirtualTime(now, offset: period)
      if converter.isEarlier(now, than: next) {
        action.time = next
        queue.submit(action)
      } else {
        action.finish()
      }
    }
  }

  private func stopForExcess(_ request: VirtualDrive<VirtualTime>.Request) -> Never {
    let function =
      switch request {
      case .advance: "advance"
      case .run: "run"
      case .step: "step"
      }
    misuse(
      "VirtualTimeScheduler.\(function)",
      """
      one call ran \(turnLimit) actions and found still more. Does one schedule itself again for ever? Dispose of it, advance to a \
      time instead of running all, lengthen the period, or raise turnLimit.
      """)
  }
}
