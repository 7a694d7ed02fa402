internal import CScheduler

/// A virtual clock of the core, in ticks: what a ``VirtualTimeScheduler`` and the queues on it share.
class Timeline: @unchecked Sendable {
  // Unchecked, because a pointer is not Sendable; what it points to may be used from any thread.
  let pointer: OpaquePointer
  /// The tasks that are asleep here.
  final let sleepers = Sleepers()

  init(start: csched_time, actionLimit: Int) {
    var pointer: OpaquePointer?
    guard csched_virtual_create(&pointer, start, actionLimit) == 0, let pointer else {
      misuse("VirtualTimeScheduler.init", "no memory for its clock. Make fewer, or let go of some.")
    }
    self.pointer = pointer
  }

  deinit { csched_virtual_destroy(pointer) }

  /// An instant: its tick, and what is to be called first there.
  typealias Instant = (tick: csched_time, arrive: (@Sendable () -> Void)?)

  final var tick: csched_time { csched_virtual_now(pointer) }

  /// The present as real time.
  var now: MonotonicTime { .now }

  func instant(after delay: Duration) -> Instant { (tick, nil) }

  func instant(at instant: MonotonicTime) -> Instant { (tick, nil) }

  /// How many ticks `period` takes from `tick` on; 0: it does not move time on.
  func ticks(in period: Duration, from tick: csched_time) -> UInt64 { 0 }

  /// The tick after the one that was due at `due`; `nil` when there is none.
  final func next(_ repetition: ActionTiming.Repetition, after due: csched_time, begunAt begun: csched_time)
    -> csched_time?
  {
    let now = tick
    let step = ticks(in: repetition.period, from: repetition.pace == .fixedDelay ? now : due)
    return step == 0 || now == .max ? nil : repetition.next(after: due, begunAt: begun, endedAt: now, step: step)
  }
}
