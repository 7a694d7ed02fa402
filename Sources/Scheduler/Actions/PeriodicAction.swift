// States: those of the job (job.c), and of its end (ActionEnd.swift) · `disposed`: final.
// Obligations
//   Z1  After the disposal no tick begins, also none that its own run has submitted meanwhile.
//   Z2  When it is over, its work and captures are gone, and the scheduler is let go, once.
//   Z3  Whoever sees it disposed sees what was before that disposal.
//   Z4  Whoever submits it holds it for as long as it looks at it afterwards: another thread may cancel it and let go of it at once.
//   Z5  Who disposes and waits returns after the tick in progress; by whichever thread, it is over then.
// Orderings
//   dispose: its store, fence, its cancel · run: its submission, fence, its look at `disposed`: one of the two sees the other
//   the store of `disposed` releases, pairs with `isDisposed`
// Checked by: "periodic actions are disposed by other threads while they tick", "a tick that is due at once does not begin after dispose",
//   "disposeAndWait waits for the tick in progress, and none follows".
// Models: swift/actions/periodic.swift.

internal import CScheduler
internal import Synchronization

/// A closure that runs again and again, on one timer of the core that is submitted anew by its own run.
///
/// Dispose against the timer's own submission: the one writes `disposed` and then cancels, the other submits and then looks at
/// `disposed`, each with a full fence in between. So one of the two cancels what was submitted; or, where another thread has begun to run
/// that by then, this run sees that it is disposed.
final class PeriodicAction: Cancelable, JobOwner, @unchecked Sendable {
  // Unchecked, because the compiler does not see that `work` and `due` belong to whoever moved the job's state on: its runner or
  // its canceller.
  private let counted = CountedDisposable()
  private let storage = TimerStorage()
  private let disposed = Atomic(false)
  private let report = DropReport()
  private let ending = ActionEnd()
  private let timing: PeriodicTiming
  private let core: TargetCore
  private let tag: TargetCore?
  @exclusivity(unchecked) private var work: HeldClosure?
  @exclusivity(unchecked) private var due: csched_time
  /// In virtual time, `run` goes on for the first tick, and for no other one.
  @exclusivity(unchecked) private var tolerance: csched_time

  init(
    _ timing: PeriodicTiming, inside tag: TargetCore?, on core: TargetCore, _ work: @escaping @Sendable () -> Void
  ) {
    self.tag = tag
    self.timing = timing
    self.core = core
    self.work = HeldClosure(work)
    due = core.timeline?.instant(after: timing.startAfter).tick ?? timing.startAfter.deadline
    tolerance = csched_time(max(0, timing.tolerance.saturatedNanoseconds))
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
    let isAccepted = report.during {
      csched_target_submit_at(core.target, storage.timer, due, tolerance)
    } tell: {
      DropObservers.tell(tag ?? core, .refused)
    }
    if !isAccepted { core.noteRefusal() }
    return isAccepted
  }

  func run() {
    let work = work.take()!
    let begun = core.timeline?.tick ?? csched_now()
    // Another thread may have submitted this tick while it was disposed, and not have come to cancel it.
    if !disposed.load(ordering: .relaxed) {  // Z1: a disposal that this comes after has happened before
      ending.within { if let tag { tag.run(work.call) } else { work.call() } }
    }
    // racy read: the job's state decides who may touch `work`
    guard !disposed.load(ordering: .relaxed), let next = next(begunAt: begun) else {
      self.work = consume work
      finish()
      return
    }
    self.work = consume work
    due = next
    // Held until the end: as soon as it is submitted, another thread may cancel it, and let go of it (Z4).
    let held = Unmanaged.passRetained(self)
    defer { held.release() }
    guard submit() else { return }  // refused, and dropped
    atomicMemoryFence(ordering: .sequentiallyConsistent)  // Z1: pairs with dispose's
    if disposed.load(ordering: .relaxed) { csched_timer_cancel(storage.timer) }  // Z1: ordered by the fence
  }

  private func next(begunAt begun: csched_time) -> csched_time? {
    if let timeline = core.timeline {
      tolerance = .max
      return timeline.next(timing, after: due, begunAt: begun)
    }
    let now = csched_now(), step = UInt64(max(0, timing.period.saturatedNanoseconds))
    guard let next = timing.next(after: due, begunAt: begun, endedAt: now, step: step) else { return nil }
    // What is due is delivered at once; where that may run it at once, too, tick inside tick, a timer brings it.
    return core.mayRunInside ? max(next, csched_time_after(now, 20_000)) : next
  }

  func drop() {
    finish()
    report.drop(disposed: disposed) { DropObservers.tell(tag ?? core, .stopped) }
  }

  /// Becomes over.
  private func finish() {
    ending.within { work = nil }
    ending.end()  // Z5
  }

  func letGo() {
    core.letGo()
    ending.endIfForgotten()
  }

  var isDisposed: Bool {
    disposed.load(ordering: .acquiring) || ending.isOver  // Z3: acquire; pairs with dispose
  }

  func dispose() {
    disposed.store(true, ordering: .releasing)  // Z3: release; pairs with isDisposed
    atomicMemoryFence(ordering: .sequentiallyConsistent)  // Z1: pairs with run's
    csched_timer_cancel(storage.timer)
  }

  func disposeAndWait() {
    dispose()
    ending.wait()  // Z5: the tick in progress, or whoever submits it, ends it
  }
}

private let periodicJobType = JobType(
  csched_job_type(
    run: { JobType.on($0, PeriodicAction.self) { $0.run() } },
    drop: { JobType.on($0, PeriodicAction.self) { $0.drop() } },
    release: { JobType.release($0, PeriodicAction.self) }))
