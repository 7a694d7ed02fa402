// A target whose work is done by hand.

internal import CScheduler
internal import ModelEngine
internal import Synchronization

/// Keeps a delivered job until a thread of the check performs it: the submitting thread, or another one.
final class HandCore: TargetCore, @unchecked Sendable {
  // Unchecked: the counts are changed by one thread at a time.
  private let delivered = Atomic<UInt>(0)
  /// How often the core's use was begun, and ended.
  private(set) var uses = 0, ends = 0

  init() {
    let target = UnsafeMutablePointer<csched_target>.allocate(capacity: 1)
    target.initialize(to: csched_target(type: handType, owner: nil, waits_for: nil))
    super.init(target)
  }

  deinit { target.deallocate() }

  override func use() { uses += 1 }
  override func endUse() { ends += 1 }

  fileprivate func deliver(_ job: UnsafeMutablePointer<csched_job>?) {
    let before = delivered.exchange(UInt(bitPattern: job), ordering: .releasing)
    expect(before == 0, "one at a time")
  }

  private func take() -> UnsafeMutablePointer<csched_job>? {
    UnsafeMutablePointer(bitPattern: delivered.exchange(0, ordering: .acquiring))
  }

  /// Performs delivered jobs, at most so many. Returns whether there was one.
  @discardableResult
  func perform(atMost count: Int = 10) -> Bool {
    for i in 0..<count {
      guard let job = take() else { return i > 0 }
      csched_target_perform(target, job)
    }
    return true
  }

  /// Drops the delivered job, as a core that ends does.
  func discard() { if let job = take() { csched_target_discard(job) } }
}

extension TargetCore {
  /// Submits `body` with what keeps the disposable that it returns.
  func submit(returning body: @escaping @Sendable () -> any Disposable) -> ReturningAction {
    let action = ReturningAction()
    submit({ action.settle(body()) }, of: action)
    return action
  }
}

/// Returns whether an object has been released; does not keep the object.
struct Trace {
  private let address: UnsafeMutableRawPointer
  init(_ object: AnyObject) { address = Unmanaged.passUnretained(object).toOpaque() }
  var isGone: Bool { model_is_freed(address) }
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

/// Where a task would go on that is resumed inside of a job. Tasks are not in the model.
enum PoolCore {
  struct Resuming { let target: UnsafeMutablePointer<csched_target> }

  static var resuming: Resuming? { misuse("PoolCore.resuming", "the model has no tasks") }
}
