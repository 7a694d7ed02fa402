internal import CScheduler

/// Owns a limited target of the C core (limit.c), which runs at most `most` actions at a time on its base. While the
/// target has work, it retains this object.
final class LimitCore: TargetCore, @unchecked Sendable {
  // Unchecked, as its superclass is.
  /// The core that runs the actions.
  let base: TargetCore
  let most: Int  // the maximum number of actions that run at a time
  private let limit: OpaquePointer
  @exclusivity(unchecked) private var hasBound = false  // set before anything is submitted
  /// Made by the first use of `barrier`. Guarded by `lock`.
  @exclusivity(unchecked) private var barrierCore: BarrierCore?

  /// Creates a limit on `base`. If `most` is less than 1, or memory is lacking, stops the process with a message.
  init(name: String, on base: TargetCore, to most: Int) {
    var limit: OpaquePointer?
    if most < 1 {
      misuse("ConcurrentScheduler.init", of: name, "a limit of \(most) would run nothing. Give one of 1 or more.")
    }
    guard csched_limit_create(&limit, base.target, Int32(clamping: most)) == 0, let limit else {
      misuse("ConcurrentScheduler.init", of: name, "no memory for a limit. Make fewer, or release some.")
    }
    self.limit = limit
    self.base = base
    self.most = most
    super.init(csched_limit_target(limit), name: name, timeline: base.timeline)
    csched_limit_own(  // the limit retains this object while it has work
      limit, { _ = Unmanaged<LimitCore>.fromOpaque($0!).retain() },
      { Unmanaged<LimitCore>.fromOpaque($0!).release() },
      Unmanaged.passUnretained(self).toOpaque())
  }

  deinit { csched_limit_destroy(limit) }

  /// Bounds the number of actions that wait. Call this before anything is submitted. `blocks`: a submission waits for
  /// room; else it is refused.
  func setBound(_ waiting: Int, blocks: Bool) {
    hasBound = true
    csched_limit_bound(limit, waiting, blocks ? CSCHED_FULL_BLOCK : CSCHED_FULL_REFUSE)
  }

  /// The scheduler that submits barriers to this limited target.
  var barrier: BarrierScheduler {
    let core = lock.withLock {
      if let barrierCore { return barrierCore }
      let made = BarrierCore(csched_limit_barrier_target(limit), of: self)
      barrierCore = made
      return made
    }
    return core.scheduler as! BarrierScheduler  // outside the lock. `makeScheduler` below makes no other kind.
  }

  override var isBounded: Bool { hasBound }

  override func makeScheduler() -> any ImmediateSchedulerType & AnyObject {
    ConcurrentScheduler(name: name, core: self)
  }
}

/// The core of the barrier target, which is part of a C limited target. The `LimitCore` owns this core. Each user of
/// this core retains the `LimitCore`. While barriers are queued, the limited target retains it too, because barriers
/// are its work.
final class BarrierCore: TargetCore, @unchecked Sendable {
  // Unchecked, as its superclass is.
  fileprivate unowned(unsafe) let limit: LimitCore  // owns this core, and so outlives it

  fileprivate init(_ target: UnsafeMutablePointer<csched_target>, of limit: LimitCore) {
    self.limit = limit
    super.init(target, name: limit.name)
  }

  override var isBounded: Bool { limit.isBounded }

  // A use of this core, for example by a scheduler, is a reference to the `LimitCore`, which owns this core.
  override func use() { _ = Unmanaged.passUnretained(limit).retain() }
  override func endUse() { Unmanaged.passUnretained(limit).release() }
  override func makeScheduler() -> any ImmediateSchedulerType & AnyObject { BarrierScheduler(self) }
}

/// Runs barriers of a ``ConcurrentScheduler`` with a limit: see ``ConcurrentScheduler/barrier``.
final class BarrierScheduler: SchedulerTarget, @unchecked Sendable {
  // Unchecked, as its superclass is.
  private let limit: LimitCore  // retained, because its core, `BarrierCore`, does not retain it

  fileprivate init(_ core: BarrierCore) {
    limit = core.limit
    super.init(core: core)
  }
}
