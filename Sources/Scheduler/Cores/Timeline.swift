internal import CScheduler

/// A virtual clock of the C core, in ticks. A ``VirtualTimeScheduler`` and its queues share it. The subclass
/// ``InstantTimeline`` overrides the conversions of times to ticks; here each time is the present tick.
class Timeline: @unchecked Sendable {
  // Unchecked, because of `pointer`, which any thread may use.
  let pointer: OpaquePointer
  /// The tasks that sleep in this virtual time.
  final let sleepers = Sleepers()

  /// Creates a clock at `start`. If one drive runs more than `actionLimit` due actions (0: 2^21), it counts as endless,
  /// and the process stops.
  init(start: csched_time, actionLimit: Int) {
    var pointer: OpaquePointer?
    guard csched_virtual_create(&pointer, start, actionLimit) == 0, let pointer else {
      misuse("VirtualTimeScheduler.init", "no memory for its clock. Make fewer, or release some.")
    }
    self.pointer = pointer
  }

  deinit { csched_virtual_destroy(pointer) }

  /// An instant: its tick, and a closure to call when the clock reaches the tick, before the action runs.
  typealias Instant = (tick: csched_time, arrive: (@Sendable () -> Void)?)

  /// The clock's current tick.
  final var tick: csched_time { csched_virtual_now(pointer) }

  /// The clock's current time, as schedulers report it.
  var now: MonotonicTime { .now }

  /// Returns the instant that is `delay` after the clock's current time.
  func instant(after delay: Duration) -> Instant { (tick, nil) }
  /// Returns the instant at which the clock's time is `instant`.
  func instant(at instant: MonotonicTime) -> Instant { (tick, nil) }

  /// Returns the number of ticks in `period`, counted from `tick`. 0 means that the period does not advance the clock.
  func ticks(in period: Duration, from tick: csched_time) -> UInt64 { 0 }

  /// Returns the repetition's next tick, after the one that was due at `due` and started at `begun`; nil if there is
  /// none.
  final func next(_ repetition: ActionTiming.Repetition, after due: csched_time, begunAt begun: csched_time)
    -> csched_time?
  {
    let now = tick
    // fixedDelay counts the period from the end of the run, which is now. The other paces count it from `due`.
    let step = ticks(in: repetition.period, from: repetition.pace == .fixedDelay ? now : due)
    // step 0: the ticks would never end; `.max`: the clock is at its end
    return step == 0 || now == .max ? nil : repetition.next(after: due, begunAt: begun, endedAt: now, step: step)
  }
}
