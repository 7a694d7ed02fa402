internal import CScheduler
internal import Synchronization

/// A closure that runs again and again, on one timer of the core that is submitted anew by its own run.
///
/// Dispose against the timer's own submission: the one writes `disposed` and then cancels, the other submits and then looks at
/// `disposed`, each with a full fence in between. So one of the two cancels what was submitted.
final class PeriodicAction: Cancelable, JobOwner, @unchecked Sendable {
  // Unchecked, because the compiler does not see that `work` and `due` belong to whoever moved the job's state on: its runner or
  // its canceller.
  private let counted = CountedDisposable()
  private let storage = TimerStorage()
  private let disposed = Atomic(false)
  private let timing: PeriodicTiming
  private let core: TargetCore
  private let place: TargetCore?
  @exclusivity(unchecked) private var work: HeldClosure?
  @exclusivity(unchecked) private var due: csched_time

  init(
    _ timing: PeriodicTiming, inside place: TargetCore?, on core: TargetCore, _ work: @escaping @Sendable () -> Void
  ) {
    self.place = place
    self.timing = timing
    self.core = core
    self.work = HeldClosure(work)
    due = timing.startAfter.deadline
    periodicJobType.attach(storage.timer, to: self)
  }

  /// Submits the first tick, with a reference that the last one's release gives back.
  func start() {
    Counted.jobs(1)
    _ = Unmanaged.passRetained(self)
    core.use()
    if !submit() { dispose() }
  }

  private func submit() -> Bool {
    csched_target_submit_at(core.target, storage.timer, due, csched_time(max(0, timing.leeway.saturatedNanoseconds)))
      == 0
  }

  func run() {
    let work = work.take()!
    if let place { place.run(work.call) } else { work.call() }
    guard !disposed.load(ordering: .acquiring), let next = timing.next(after: due, endedAt: csched_now()) else {
      return
    }
    self.work = consume work
    due = next
    guard submit() else { return }  // refused, and dropped
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    if disposed.load(ordering: .relaxed) { csched_timer_cancel(storage.timer) }  // hint: the fence orders it
  }

  func drop() { work = nil }

  func letGo() { core.letGo() }

  var isDisposed: Bool { disposed.load(ordering: .acquiring) }

  func dispose() {
    disposed.store(true, ordering: .releasing)
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    csched_timer_cancel(storage.timer)
  }
}

private let periodicJobType = JobType(
  csched_job_type(
    run: { JobType.on($0, PeriodicAction.self) { $0.run() } },
    drop: { JobType.on($0, PeriodicAction.self) { $0.drop() } },
    release: { JobType.release($0, PeriodicAction.self) }))
