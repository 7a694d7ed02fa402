/// The target core that an action was submitted to, and the scheduler marker (`tag`) that it runs inside, in one word.
///
/// The marker is owned. The core is not: it drops its queued actions before it ends, and only a drop reads it. Owning it would cost each
/// action a count that all threads contend for. While a drop is deferred, the C core retains `unowned`.
struct ActionOrigin: ~Copyable {
  /// The address; bit 0: it is a scheduler marker; bit 1: a refusal is not reported.
  private let bits: UInt

  init(_ core: TargetCore?, tag: TargetCore?, tellsOfRefusal: Bool = true) {
    let flag: UInt = tellsOfRefusal ? 0 : 2
    if let tag {
      bits = UInt(bitPattern: Unmanaged.passRetained(tag).toOpaque()) | 1 | flag
    } else {
      bits = core.map { UInt(bitPattern: Unmanaged.passUnretained($0).toOpaque()) | flag } ?? 0
    }
  }

  deinit { if isTagged { reference!.release() } }

  /// The core, if it is not owned. A deferred drop must retain it.
  var unowned: UnsafeMutableRawPointer? { isTagged ? nil : reference?.toOpaque() }

  private var reference: Unmanaged<TargetCore>? {
    UnsafeRawPointer(bitPattern: bits & ~3).map { Unmanaged.fromOpaque($0) }
  }

  /// Whether the address is a scheduler marker.
  @inline(__always)
  var isTagged: Bool { bits & 1 != 0 }

  /// Calls `body` inside the scheduler marker.
  func run<Result>(_ body: () -> Result) -> Result { reference!._withUnsafeGuaranteedRef { $0.run(body) } }

  /// Reports a drop to the observers. Does nothing if the action belongs to no scheduler.
  func tell(_ reason: SchedulerError) {
    if bits & 2 != 0, reason == .refused { return }
    if let core = reference?.takeUnretainedValue() { DropObservers.tell(core, reason) }
  }
}
