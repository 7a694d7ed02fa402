// Stand-ins for jobs of tasks and for the pool, in the checks of Sources/Scheduler/Concurrency.

internal import CScheduler

/// A job of a task. A lost job is found as a leak, a second run as a use after free.
package struct UnownedJob: @unchecked Sendable {
  // Unchecked: only the thread that runs the job uses it.
  /// As the runtime lays it out: an object's header, two words for an executor, and the rest.
  private struct Layout {
    let header: (UInt, UInt)
    let words: (UInt, UInt)
    let body: () -> Void
  }
  private let memory: UnsafeMutablePointer<Layout>

  init(_ body: @escaping () -> Void) {
    memory = .allocate(capacity: 1)
    memory.initialize(to: Layout(header: (0, 0), words: (0, 0), body: body))
  }

  init(_ job: consuming ExecutorJob) {
    _ = consume job
    misuse("UnownedJob", "the model has no tasks")
  }

  private func run() {
    let body = memory.move().body
    memory.deallocate()
    body()
  }

  func runSynchronously(on executor: UnownedSerialExecutor) { run() }
  func runSynchronously(on executor: UnownedTaskExecutor) { run() }
}

extension ExecutorJob {
  init(_ job: UnownedJob) { self.init(unsafeBitCast(job, to: _Concurrency.UnownedJob.self)) }
}

/// A pool whose work is done by hand, and that can be shut down; then the next one is the shared one.
final class PoolCore: TargetCore, @unchecked Sendable {
  // Unchecked: what changes is behind a lock, or is set before the run.
  nonisolated(unsafe) static var first: PoolCore?
  let priority = SchedulerPriority.default
  private let next: PoolCore?
  private let waiting = Protected((jobs: [UnsafeMutablePointer<csched_job>](), isClosed: false))

  init(next: PoolCore? = nil) {
    self.next = next
    let target = UnsafeMutablePointer<csched_target>.allocate(capacity: 1)
    target.initialize(to: csched_target(type: poolType, owner: nil, waits_for: nil))
    super.init(target)
  }

  deinit { target.deallocate() }

  override func makeScheduler() -> any ImmediateSchedulerType & AnyObject { ConcurrentScheduler(core: self) }

  override var isShared: Bool { true }

  func sibling(_ priority: SchedulerPriority) -> PoolCore { .shared(priority) }

  static func prepare() throws(SchedulerError) {}

  static func shared(_ priority: SchedulerPriority) -> PoolCore {
    var pool = first!
    while let next = pool.next, pool.waiting.withLock({ $0.isClosed }) { pool = next }
    return pool
  }

  static var resuming: PoolCore? { shared(.default) }
  static func waiting(_ priority: SchedulerPriority = .default) -> PoolCore? { shared(priority) }

  fileprivate func deliver(_ job: UnsafeMutablePointer<csched_job>) -> Int32 {
    let isTaken = waiting.withLock { waiting in
      if !waiting.isClosed { waiting.jobs.append(job) }
      return !waiting.isClosed
    }
    if isTaken { return 0 }
    csched_target_discard(job)
    return ECANCELED
  }

  private func take() -> UnsafeMutablePointer<csched_job>? {
    waiting.withLock { $0.jobs.isEmpty ? nil : $0.jobs.removeFirst() }
  }

  /// Performs delivered jobs, at most `count`.
  func perform(atMost count: Int = 20) {
    for _ in 0..<count {
      guard let job = take() else { return }
      csched_target_perform(target, job)
    }
  }

  /// Refuses later jobs, and drops the present ones.
  func shutDown() {
    waiting.withLock { $0.isClosed = true }
    while let job = take() { csched_target_discard(job) }
  }
}

/// There is none.
package final class WorkerPool: Sendable {}

private let ECANCELED: Int32 = 125

private nonisolated(unsafe) let poolType: UnsafePointer<csched_target_type> = {
  var type = csched_target_type()
  type.deliver = { target, job in
    Unmanaged<PoolCore>.fromOpaque(target!.pointee.owner)._withUnsafeGuaranteedRef { $0.deliver(job!) }
  }
  return constantTable(type)
}()
