internal import CScheduler

/// Owns a serial queue of the C core. The queue retains this object while work is queued or runs in it.
final class SerialCore: TargetCore, @unchecked Sendable {
  // Unchecked, as its superclass is.
  let serial: OpaquePointer
  /// The core on which the queue runs its work.
  let base: TargetCore
  /// The scheduler of `base`. Retained, because its release may stop the thread or pool of `base`.
  private let baseScheduler: AnyObject?

  /// Creates a queue on `base`. Retains the scheduler of `base`, if given. Without memory, stops the process with a
  /// message.
  init(name: String, on base: TargetCore, keeping scheduler: AnyObject? = nil) {
    var serial: OpaquePointer?
    guard csched_serial_create(&serial, base.target) == 0, let serial else {
      misuse("SerialScheduler.init", of: name, "no memory for a queue. Make fewer, or release some.")
    }
    self.serial = serial
    self.base = base
    baseScheduler = scheduler
    super.init(csched_serial_target(serial), name: name, isOnMain: base.isOnMain, timeline: base.timeline)
    if !name.isEmpty { name.withCString { csched_serial_set_name(serial, $0) } }  // dumps and reports show it
    csched_serial_own(  // the queue retains this object while it has work
      serial, { _ = Unmanaged<SerialCore>.fromOpaque($0!).retain() },
      { Unmanaged<SerialCore>.fromOpaque($0!).release() },
      Unmanaged.passUnretained(self).toOpaque())
    // `base` has closed, and the queue has no jobs left: late jobs may now run on the pool, and so does what queues on
    // this one have accepted
    csched_serial_on_closed_(
      serial,
      { Unmanaged<SerialCore>.fromOpaque($0!)._withUnsafeGuaranteedRef { $0.endExclusion() } },
      { Unmanaged<SerialCore>.fromOpaque($0!)._withUnsafeGuaranteedRef { $0.continuation } })
  }

  deinit { csched_serial_destroy(serial) }
  override var isExclusive: Bool { true }

  // The last exclusive core in the chain of bases. For a queue on a thread or on the main loop, it is the core of that
  // thread or loop.
  override var exclusiveRoot: TargetCore { base.isExclusive ? base.exclusiveRoot : self }

  // The target of accepted work of queues on this one, after `endExclusion`: the late queue (LateJobs.swift LJ2). Nil:
  // on the queue, within the work of its root.
  private var continuation: UnsafeMutablePointer<csched_target>? { base.isExclusive ? nil : lateQueue.target }

  // Whether this thread runs in isolation from all other work of the queue's exclusive root.
  override var isCallerIsolated: Bool {
    base.isExclusive ? exclusiveRoot.isCallerIsolated : csched_target_is_inside(target)
  }

  override func makeScheduler() -> any ImmediateSchedulerType & AnyObject { SerialScheduler(core: self) }
}
