internal import CScheduler

/// Owns one of the core's limited targets, which keeps it for as long as there is work in it.
final class LimitCore: TargetCore, @unchecked Sendable {
  // Unchecked, as its superclass is.
  /// The target that runs the actions.
  let base: TargetCore
  private let limit: OpaquePointer

  init(name: String, on base: TargetCore, to most: Int) {
    var limit: OpaquePointer?
    if most < 1 {
      misuse("ConcurrentScheduler.init", of: name, "a limit of \(most) would run nothing. Give one of 1 or more.")
    }
    guard csched_limit_create(&limit, base.target, Int32(clamping: most)) == 0, let limit else {
      misuse("ConcurrentScheduler.init", of: name, "no memory for a limit. Make fewer, or let go of some.")
    }
    self.limit = limit
    self.base = base
    super.init(csched_limit_target(limit), name: name)
    csched_limit_own(
      limit, { _ = Unmanaged<LimitCore>.fromOpaque($0!).retain() },
      { Unmanaged<LimitCore>.fromOpaque($0!).release() },
      Unmanaged.passUnretained(self).toOpaque())
  }

  deinit { csched_limit_destroy(limit) }

  override func makeScheduler() -> any ImmediateSchedulerType & AnyObject {
    ConcurrentScheduler(name: name, core: self)
  }
}
