internal import CScheduler

/// The core of a ``CustomScheduler``: passes each job to the user's closure `enqueue`, which must run it.
final class CustomCore: TargetCore, @unchecked Sendable {
  // Unchecked, as its superclass is.
  let enqueue: @Sendable (_ work: @escaping @Sendable () -> Void) -> Void
  private let counted = CountedClosure()  // counts `enqueue`
  private let pool = Protected<PoolCore?>(nil)  // made by `timekeeper`

  init(name: String, enqueue: @escaping @Sendable (_ work: @escaping @Sendable () -> Void) -> Void) {
    self.enqueue = enqueue
    let target = UnsafeMutablePointer<csched_target>.allocate(capacity: 1)
    target.initialize(to: csched_target(type: customType, owner: nil, waits_for: nil))
    super.init(target, name: name)
  }

  deinit { target.deallocate() }

  override func makeScheduler() -> any ImmediateSchedulerType & AnyObject { CustomScheduler(core: self, name: name) }

  override var mayRunInside: Bool { true }

  /// The pool whose timers serve delayed actions. This core retains it, because a cancellation of a delayed action needs the pool.
  fileprivate var timekeeper: PoolCore {
    pool.withLock { pool in
      let found = pool ?? PoolCore.shared(.high)
      pool = found
      return found
    }
  }

  /// Passes the job to the user's closure.
  fileprivate func deliver(_ job: UnsafeMutablePointer<csched_job>) {
    let delivery = Delivery(job, to: self)
    enqueue { delivery.perform() }
  }

  fileprivate static func of(_ target: UnsafeMutablePointer<csched_target>?) -> CustomCore {
    Unmanaged<CustomCore>.fromOpaque(target!.pointee.owner).takeUnretainedValue()
  }
}

/// A job between its submission and its run: the user's closure must call `perform` once. If it never does, `deinit` drops the job.
private final class Delivery: @unchecked Sendable {
  // Unchecked: `lock` guards `job`, so that a second call of `perform` is detected on any thread.
  private let lock = InlineLock()
  @exclusivity(unchecked) private var job: UnsafeMutablePointer<csched_job>?
  private let core: CustomCore

  init(_ job: UnsafeMutablePointer<csched_job>, to core: CustomCore) {
    self.job = job
    self.core = core
  }

  deinit { if let job { csched_target_discard(job) } }

  func perform() {
    guard let job = lock.withLock({ job.take() }) else {
      misuse("CustomScheduler.init", of: core.name, "its closure called a piece of work twice. Call each once.")
    }
    csched_target_perform(core.target, job)
  }
}

private nonisolated(unsafe) let customType: UnsafePointer<csched_target_type> = {
  var type = csched_target_type()
  type.deliver = { target, job in
    CustomCore.of(target).deliver(job!)
    return 0  // never refused
  }
  // The pool's timer submits to this target at the deadline.
  type.deliver_at = { target, timer, deadline, tolerance in
    let base = CustomCore.of(target).timekeeper.target
    return base.pointee.type.pointee.deliver_at(base, timer, deadline, tolerance)
  }
  return constantTable(type)
}()
