internal import Dispatch
public import Scheduler

extension MainScheduler {
  /// Has Dispatch's main queue run the main scheduler from now on: for programs that sit in `dispatchMain()`, `RunLoop.main.run()`, or a
  /// toolkit's loop that drains the main queue.
  ///
  /// 1. One order for both: what a thread schedules here and what it submits to the main queue run in the order of its calls. (Not so
  ///    with what runs at once, with delayed actions, and with those of a `SerialScheduler` whose target is the main scheduler: they may
  ///    run together with earlier ones of that queue.)
  /// 2. Nothing polls: the main queue wakes up when there is something to do, and not otherwise.
  /// 3. Call it on any thread; calls after the first do nothing.
  ///
  /// Stops the process, as soon as the main queue runs, if the system has no descriptor to give.
  public static func useDispatchMain() {
    guard MainScheduler.enter({ work in DispatchQueue.main.async(execute: work) }) else { return }
    DispatchQueue.main.async { source = watched() }
  }

  /// Watches the main scheduler's descriptor. Unsafe, because the protocol is not Sendable; nobody uses it again.
  private nonisolated(unsafe) static var source: (any DispatchSourceRead)?

  private static func watched() -> any DispatchSourceRead {
    let (descriptor, error) = MainScheduler.hostDescriptor()
    if error != 0 {
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
