internal import Dispatch
public import Scheduler

extension MainScheduler {
  /// Makes Dispatch's main queue run the main scheduler from now on. For programs that wait in `dispatchMain()`,
  /// `RunLoop.main.run()` or a toolkit's loop that drains the main queue.
  ///
  /// 1. The main queue and this scheduler share one order: what a thread submits to them runs in the order of its
  ///    calls. Exceptions are actions that run at once, delayed actions, and actions of a `SerialScheduler` that
  ///    targets the main scheduler: they may run in one batch with earlier actions of that `SerialScheduler`.
  /// 2. Nothing polls: the main queue wakes only when there is work.
  /// 3. Call it on any thread; calls after the first do nothing.
  ///
  /// Stops the process, as soon as the main queue runs, if the system has no free descriptor.
  public static func useDispatchMain() {
    // Registers the main queue as the host of the main loop: each batch of actions is a block of that queue. False: the
    // loop has a host or runs.
    guard MainScheduler.enter({ work in DispatchQueue.main.async(execute: work) }) else { return }
    DispatchQueue.main.async { source = makeSource() }  // on the main queue, as `hostDescriptor` requires
  }

  /// Keeps the Dispatch source alive. Unsafe, because its type is not Sendable; one block writes it, and no code reads
  /// it.
  private nonisolated(unsafe) static var source: (any DispatchSourceRead)?

  /// Starts and returns a Dispatch source that runs due delayed actions when the main scheduler's descriptor is
  /// readable. Requires: the main queue.
  private static func makeSource() -> any DispatchSourceRead {
    let (descriptor, error) = MainScheduler.hostDescriptor()
    if error != 0 {  // an errno value
      misuse(
        "MainScheduler.useDispatchMain",
        "the system has no descriptor to give: error \(error). Raise the limit of open files, or close some.")
    }
    let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: .main)
    source.setEventHandler { MainScheduler.runDueInHost() }
    source.activate()
    return source
  }
}
