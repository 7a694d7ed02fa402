#if compiler(>=6.3) && compiler(<6.4) && os(Linux) && !SCHEDULER_WITHOUT_SPI  // as Swift6.3.swift
  internal import CSchedulerExecutors
  internal import Dispatch
  internal import Scheduler

  /// Lets the main loop and Dispatch's main queue run each other's work. While the program runs the main loop, that
  /// runs the blocks of the queue. While it does not, the queue runs the loop's work: the program waits in
  /// `RunLoop.main.run()` or `dispatchMain()`, as the runner of an XCTest does.
  ///
  /// In that time a Dispatch source of the main queue waits for the loop's descriptor. It is made when a block of the
  /// queue first runs outside of the loop, so a program that only runs the main loop has no source. In a child of fork,
  /// where Dispatch does not work, no source is made or changed.
  enum MainQueue {
    private static let queue = DispatchQueue.main
    private static let key = DispatchSpecificKey<Bool>()

    /// Whether the caller is a block of the main queue, on whatever thread that runs. Then no other thread runs the
    /// main loop.
    static var isCurrent: Bool { DispatchQueue.getSpecific(key: key) == true }

    /// Makes both run each other's work from now on. Call it once, on the main thread.
    static func serve() {
      queue.setSpecific(key: key, value: true)
      serveInLoop()
      GlobalJobs.observeMainRuns { isRunning in if csched_executors_may_dispatch_() { runs(isRunning) } }
      awaitHost()
    }

    /// Makes the main loop run the blocks of the queue. On the loop's thread.
    private static func serveInLoop() {
      let error = csched_executors_serve_main_queue_()
      if error != 0 { fail(error) }
    }

    // Unsafe: each is accessed by blocks of the main queue, and by the main thread in `runs`. The main queue runs its
    // blocks on the main thread, until `dispatchMain` ends that.
    private nonisolated(unsafe) static var source: (any DispatchSourceRead)?
    private nonisolated(unsafe) static var isAwaitingHost = false  // a block that calls `begin` is in the main queue

    /// Called before the program's outermost run of the main loop (true), and after it (false).
    private static func runs(_ isRunning: Bool) {
      guard let source else {
        if !isRunning { awaitHost() }
        return
      }
      if isRunning {
        source.suspend()
        serveInLoop()
      } else {
        csched_executors_leave_main_queue_()
        source.resume()
      }
    }

    /// Submits a block to the main queue: if it runs outside of the main loop, another library runs the queue, and so
    /// also the loop's work from then on.
    private static func awaitHost() {
      if isAwaitingHost { return }
      isAwaitingHost = true
      // not `DispatchQueue.main.async`, whose closures belong to the main actor
      queue.async {
        isAwaitingHost = false
        if csched_executors_may_dispatch_(), !GlobalJobs.isRunningMain, !GlobalJobs.isHosted { begin() }
      }
    }

    /// Makes the source, and runs what waits. On the main queue.
    private static func begin() {
      let (descriptor, error) = MainScheduler.hostDescriptor()
      if error != 0 { fail(error) }
      // else the loop would wake for each block of the queue
      MainScheduler.attached { csched_executors_leave_main_queue_() }
      let made = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
      made.setEventHandler {
        // hosted: `useDispatchMain` was called meanwhile, which has its own source
        if GlobalJobs.isHosted { made.cancel() } else if !GlobalJobs.isRunningMain { MainScheduler.runReadyInHost() }
      }
      source = made
      made.activate()
      MainScheduler.runReadyInHost()
    }

    /// Stops the process.
    private static func fail(_ error: CInt) -> Never {
      misuse(
        "GlobalExecutors.install",
        "the system has no descriptor for Dispatch's main queue: error \(error). Raise the limit of open files, or close some."
      )
    }
  }
#endif
