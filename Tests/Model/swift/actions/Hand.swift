// A target whose work is done by hand.

internal import CScheduler

/// Keeps what is delivered until a thread of the check performs it: the thread that submits, or one that is started later.
final class HandCore: TargetCore, @unchecked Sendable {
  // Unchecked: one thread at a time.
  private var delivered: UnsafeMutablePointer<csched_job>?
  /// How often it was taken into use, and let go of.
  private(set) var uses = 0, ends = 0

  init() {
    let target = UnsafeMutablePointer<csched_target>.allocate(capacity: 1)
    target.initialize(to: csched_target(type: handType, owner: nil, waits_for: nil))
    super.init(target)
  }

  deinit { target.deallocate() }

  override func use() { uses += 1 }
  override func letGo() { ends += 1 }

  fileprivate func deliver(_ job: UnsafeMutablePointer<csched_job>?) {
    expect(delivered == nil, "one at a time")
    delivered = job
  }

  private func take() -> UnsafeMutablePointer<csched_job>? {
    defer { delivered = nil }
    return delivered
  }

  /// Performs what has been delivered, so many times at the most.
  func perform(atMost count: Int = 10) {
    for _ in 0..<count {
      guard let job = take() else { return }
      csched_target_perform(target, job)
    }
  }

  /// Drops what has been delivered, as one that ends does.
  func discard() { if let job = take() { csched_target_discard(job) } }
}

/// A place that shows, by what it keeps, how long an action has been there.
final class KeptPlace: TargetCore, @unchecked Sendable {
  // Unchecked: it never changes.
  private let kept: Capture

  @inline(never)
  init(_ gone: Note) {
    kept = Capture(gone)
    let target = UnsafeMutablePointer<csched_target>.allocate(capacity: 1)
    target.initialize(to: csched_target(type: handType, owner: nil, waits_for: nil))
    super.init(target)
  }

  deinit { target.deallocate() }
}

private nonisolated(unsafe) let handType: UnsafePointer<csched_target_type> = {
  let memory = UnsafeMutablePointer<csched_target_type>.allocate(capacity: 1)
  var type = csched_target_type()
  type.deliver = { target, job in
    Unmanaged<HandCore>.fromOpaque(target!.pointee.owner)._withUnsafeGuaranteedRef { $0.deliver(job) }
    return 0
  }
  type.deliver_at = { target, timer, _, _ in
    let job = UnsafeMutableRawPointer(timer!).assumingMemoryBound(to: csched_job.self)
    Unmanaged<HandCore>.fromOpaque(target!.pointee.owner)._withUnsafeGuaranteedRef { $0.deliver(job) }
    return 0
  }
  memory.initialize(to: type)
  return UnsafePointer(memory)
}()
