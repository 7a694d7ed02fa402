internal import CScheduler

/// A target to be inside of, that nothing is delivered to: for schedulers that run their actions on the caller's stack, or on somebody
/// else's threads.
final class StandingCore: TargetCore, @unchecked Sendable {
  // Unchecked, as its superclass is.
  typealias Maker = @Sendable (StandingCore) -> any ImmediateSchedulerType & AnyObject
  private let make: Maker?

  /// Makes one whose scheduler `make` makes anew, should it be gone; without `make`, one whose scheduler outlives its actions.
  init(madeBy make: Maker? = nil) {
    self.make = make
    let target = UnsafeMutablePointer<csched_target>.allocate(capacity: 1)
    target.initialize(to: csched_target(type: undelivered, owner: nil, waits_for: nil))
    super.init(target)
  }

  deinit { target.deallocate() }

  override func makeScheduler() -> any ImmediateSchedulerType & AnyObject { make?(self) ?? super.makeScheduler() }
}

/// A table without functions.
private nonisolated(unsafe) let undelivered = constantTable(csched_target_type())
