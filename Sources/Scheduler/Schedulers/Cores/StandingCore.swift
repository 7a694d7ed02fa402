internal import CScheduler

/// The core of a scheduler that runs its actions on the caller's stack: a target to be inside of, that nothing is delivered to.
final class StandingCore: TargetCore, @unchecked Sendable {
  // Unchecked, as its superclass is.

  /// Makes one that is never freed: for schedulers that everybody shares.
  init() {
    let target = UnsafeMutablePointer<csched_target>.allocate(capacity: 1)
    target.initialize(to: csched_target(type: undelivered, owner: nil))
    super.init(target)
  }
}

/// A table without functions.
private nonisolated(unsafe) let undelivered: UnsafePointer<csched_target_type> = {
  let memory = UnsafeMutablePointer<csched_target_type>.allocate(capacity: 1)
  memory.initialize(to: csched_target_type())
  return UnsafePointer(memory)
}()
