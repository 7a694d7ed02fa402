internal import CScheduler

/// Runs its actions on the main thread.
///
/// ```swift
/// MainScheduler.instance.schedule { label.text = "ready" }   // on the main thread already, and nothing waits: at once
/// MainScheduler.asyncInstance.schedule { layout() }          // never at once
/// MainScheduler.run()                                        // a program without another main loop
/// ```
///
/// 1. ``instance`` runs an action at once when it is scheduled on the main thread and nothing is waiting or running there, by whichever
///    way it came: an action of either, delayed, periodic, of a queue on them, a C job; otherwise it is queued.
///    ``asyncInstance`` queues always.
/// 2. There is one order for both, and for all who submit: nothing overtakes what was queued before. A queue on them waits in
///    it as one action, which takes several of the queue's when its turn comes.
/// 3. The main thread must run them: by ``run()``, ``run(until:)`` or ``runUntilIdle()``; by Dispatch's or Foundation's main loop, after
///    `useDispatchMain()` of the module `SchedulerMainLoop`; in that of another library (``hostedDescriptor()``, ``runReady()``); or, in a program
///    whose main is `async`, by linking `SchedulerExecutorsLinked`.
/// 4. If the process ends and nothing has run the main loop since they were scheduled, a line on the standard error says how many actions never ran:
///    the queued ones, where a queue on the main scheduler counts as one; and, if the loop was never run, the delayed ones.
///    ``Schedulers/onDrop(_:)`` reports each as ``SchedulerError/stopped``. Their closures are not released.
/// 5. There is no such line if the process ends inside of a run, after a run that ``stop()`` has ended, after ``Schedulers/shutdown(_:)``, or while a
///    host runs the loop; nor if it ends by `_exit`, `abort` or a signal.
public final class MainScheduler: LoopScheduler, @unchecked Sendable {
  // Unchecked, as its superclass is.
  /// The one that runs at once when it can; else when the main thread runs the main loop.
  ///
  /// Something must run that loop, or the queued actions never run: in a program without another main loop, a call of ``MainScheduler/run()`` on the
  /// main thread. `Documentation/HowTo/EmbedInAnotherLoop.md` is for programs that have one.
  public static let instance: MainScheduler = MainScheduler(tag: nil)
  /// The one that never runs at once, but when the main thread runs the main loop: see ``instance``.
  public static let asyncInstance: MainScheduler = MainScheduler(
    tag: CurrentTag(madeBy: { _ in MainScheduler.asyncInstance }))

  /// What it counts instead of all that is on the main thread, to know whether it may run at once.
  private let own: OwnWork?

  private init(tag: CurrentTag?, own: OwnWork? = nil) {
    self.own = own
    super.init(core: MainCore.shared, tag: tag)
  }

  /// For the module with RxSwift's names: makes one that runs at once when nothing of its own waits or runs, whatever the others do.
  package convenience init(countsOwnWork: Void) {
    _ = MainScheduler.instance  // the first one made is the current one
    self.init(tag: nil, own: OwnWork())
  }

  // MARK: scheduling

  @discardableResult
  public override func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    let entry = own?.enter()
    guard runsAtOnce(entry) else {
      guard let entry else { return super.schedule(action) }
      return super.schedule { withExtendedLifetime(entry, action) }
    }
    withExtendedLifetime(entry) { core.run(action) }
    return NopDisposable()
  }

  package override func submit(_ work: @escaping @Sendable () -> Void, of returning: ReturningAction) {
    let entry = own?.enter()
    if runsAtOnce(entry) {
      withExtendedLifetime(entry) { core.run(work) }
    } else if let entry {
      super.submit({ withExtendedLifetime(entry, work) }, of: returning)
    } else {
      super.submit(work, of: returning)
    }
  }

  private func runsAtOnce(_ entry: OwnWork.Entry?) -> Bool {
    if let entry { return entry.isFirst && MainCore.isHere }
    return tag == nil && MainCore.isFree
  }

  // MARK: running

  /// Whether the caller runs on the main thread: the process's, or the one on which a host runs the main scheduler.
  public var isOnThread: Bool { MainCore.isHere }

  /// Runs actions until ``stop()``. On the main thread only; may be nested.
  public static func run() {
    MainCore.shared.requireMain("run")
    csched_loop_run(MainCore.shared.loop)
    MainCore.endIfClosed()
  }

  /// Runs actions until `instant`, or until ``stop()``. Returns whether it was stopped.
  @discardableResult
  public static func run(until instant: MonotonicTime) -> Bool {
    MainCore.shared.requireMain("run(until:)")
    let result = csched_loop_run_until(MainCore.shared.loop, instant.nanoseconds)
    if result == CSCHED_RUN_CLOSED { MainCore.endIfClosed() }
    return result == CSCHED_RUN_ENDED
  }

  /// Runs what is ready, and what that makes ready, without waiting. Returns how many actions ran.
  @discardableResult
  public static func runUntilIdle() -> Int {
    MainCore.shared.requireMain("runUntilIdle")
    var count = 0
    while case let more = csched_loop_run_ready(MainCore.shared.loop, 1_024), more > 0 { count += more }
    MainCore.endIfClosed()
    return count
  }

  /// Ends the innermost ``run()`` or ``run(until:)``, or the next one. Any thread.
  public static func stop() { csched_loop_end_run(MainCore.shared.loop) }

  // MARK: hosts

  /// For the module that hands the main scheduler to another main loop: has `host` call what runs the actions from now on, in the order
  /// in which it is given. Returns false, and does nothing, when there is a host already. Any thread.
  package static func enter(_ host: @escaping @Sendable (_ work: @escaping @Sendable () -> Void) -> Void) -> Bool {
    MainCore.shared.enter(host)
  }

  /// For that module: a descriptor that is readable when ``runDueInHost()`` is to be called. On the thread that is the main one there.
  package static func hostDescriptor() -> (descriptor: Int32, error: Int32) {
    MainCore.shared.inHost {
      var descriptor: Int32 = -1
      let error = csched_loop_fd($0, &descriptor)
      return (descriptor, error)
    }
  }

  /// For that module: runs the delayed actions that are due. On the thread that is the main one there.
  package static func runDueInHost() { MainCore.shared.runDue() }
}

/// How many actions of one scheduler wait or run.
private final class OwnWork: Sendable {
  private let count = Protected(0)

  /// One of them, until it goes.
  final class Entry: Sendable {
    private let work: OwnWork
    let isFirst: Bool

    fileprivate init(_ work: OwnWork) {
      self.work = work
      isFirst = work.count.withLock { count in
        count += 1
        return count == 1
      }
    }

    deinit { work.count.withLock { $0 -= 1 } }
  }

  func enter() -> Entry { Entry(self) }
}
