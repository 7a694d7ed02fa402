/// To what an action is submitted, and inside of which tag it runs: one word.
///
/// A tag is owned. The core is not: what waits in it is dropped before it ends, and only a drop asks for it. To own it would cost
/// each action a count that all threads contend for. While a drop is put off, the C core keeps it: `unowned`.
struct ActionOrigin: ~Copyable {
  /// The address, and 1 for a tag, 2 for one whose refusal is not told.
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

  /// The core, where it is not owned. A drop that is put off must keep it.
  var unowned: UnsafeMutableRawPointer? { isTagged ? nil : reference?.toOpaque() }

  private var reference: Unmanaged<TargetCore>? {
    UnsafeRawPointer(bitPattern: bits & ~3).map { Unmanaged.fromOpaque($0) }
  }

  /// Whether there is a tag.
  @inline(__always)
  var isTagged: Bool { bits & 1 != 0 }

  /// Calls `body` inside of the tag.
  func run<Result>(_ body: () -> Result) -> Result { reference!._withUnsafeGuaranteedRef { $0.run(body) } }

  /// Tells those who ask of a drop; not where it belongs to no scheduler.
  func tell(_ reason: SchedulerError) {
    if bits & 2 != 0, reason == .refused { return }
    if let core = reference?.takeUnretainedValue() { DropObservers.tell(core, reason) }
  }
}
