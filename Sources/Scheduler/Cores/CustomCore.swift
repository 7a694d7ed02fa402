internal import CScheduler

/// The core of a ``CustomScheduler``: passes each job to the user's closure `enqueue`.
final class CustomCore: TargetCore, @unchecked Sendable {
  // Unchecked, as its superclass is.
  /// The user's closure. It must call `work` once, on any thread; if it releases `work` without a call, the job is
  /// dropped.
  let enqueue: @Sendable (_ work: @escaping @Sendable () -> Void) -> Void
  private let counted = CountedClosure()  // counts `enqueue` for `Diagnostics`
  private let pool = Protected<PoolCore?>(nil)  // set by the first delayed action in a process: see `timerPool`

  init(name: String, enqueue: @escaping @Sendable (_ work: @escaping @Sendable () -> Void) -> Void) {
    self.enqueue = enqueue
    let target = UnsafeMutablePointer<csched_target>.allocate(capacity: 1)
    // super.init sets `owner` to this core
    target.initialize(to: csched_target(type: customType, owner: nil, waits_for: nil))
    super.init(target, name: name)
  }

  deinit { target.deallocate() }
  override func makeScheduler() -> any ImmediateSchedulerType & AnyObject { CustomScheduler(core: self, name: name) }
  override var mayRunInSubmission: Bool { true }  // `enqueue` may call `work` before it returns

  /// The pool whose timers serve delayed actions. This core retains it, because a cancellation of a delayed action
  /// needs the pool. An orphaned one is never freed.
  fileprivate var timerPool: PoolCore {
    pool.withLock { pool in
      if let pool, !pool.isOrphaned { return pool }
      // any priority: all cores of a pool share its timers. Not the shared pool, whose threads may all be blocked.
      let found = PoolCore.waiting() ?? PoolCore.shared(.high)
      pool = found
      return found
    }
  }

  /// Passes the job to the user's closure.
  fileprivate func deliver(_ job: UnsafeMutablePointer<csched_job>) {
    let delivery = Delivery(job, to: self)
    enqueue { delivery.perform() }
  }

  /// Returns the core that owns `target`.
  fileprivate static func owner(_ target: UnsafeMutablePointer<csched_target>?) -> CustomCore {
    Unmanaged<CustomCore>.fromOpaque(target!.pointee.owner).takeUnretainedValue()
  }
}

/// A job between its submission and its run. The user's closure must call `perform` once. If it never does, `deinit`
/// drops the job.
private final class Delivery: @unchecked Sendable {
  // Unchecked: `lock` guards `job`, so that a second call of `perform` is detected on any thread.
  private let lock = InlineLock()
  @exclusivity(unchecked) private var job: UnsafeMutablePointer<csched_job>?  // nil after `perform`
  private let core: CustomCore

  init(_ job: UnsafeMutablePointer<csched_job>, to core: CustomCore) {
    self.job = job
    self.core = core
  }

  deinit { if let job { csched_target_discard(job) } }  // the job must run or be dropped, or its memory would leak

  /// Runs the job on this thread. A second call stops the process with a message.
  func perform() {
    guard let job = lock.withLock({ job.take() }) else {  // `take` sets nil: only one call gets the job
      misuse("CustomScheduler.init", of: core.name, "its closure called a piece of work twice. Call each once.")
    }
    csched_target_perform(core.target, job)
  }
}

/// The C core's functions of a custom target, which never changes.
private nonisolated(unsafe) let customType: UnsafePointer<csched_target_type> = {
  var type = csched_target_type()
  type.deliver = { target, job in
    CustomCore.owner(target).deliver(job!)
    return 0  // accepted: a custom target never refuses
  }
  // Sets the timer in the pool. At the deadline the pool submits the timer's job to this target.
  type.deliver_at = { target, timer, deadline, tolerance in
    let base = CustomCore.owner(target).timerPool.target
    return base.pointee.type.pointee.deliver_at(base, timer, deadline, tolerance)  // 0, or the pool's refusal
  }
  return constantTable(type)
}()
