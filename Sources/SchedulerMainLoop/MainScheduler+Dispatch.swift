internal import Dispatch
public import Scheduler

extension MainScheduler {
  /// Has Dispatch's main queue run the main scheduler from now on: for programs that sit in `dispatchMain()`, `RunLoop.main.run()`, or a
  /// toolkit's loop that drains the main queue.
  ///
  /// Nothing polls: the main queue wakes up when there is something to do, and not otherwise. Call it once, on the main thread; calls after
  /// the first do nothing.
  ///
  /// Stops the process if the system has no descriptor to give.
  public static func useDispatchMain() { _ = host }

  /// The source that watches the main scheduler's descriptor. Unsafe, because the protocol is not Sendable; nobody uses it again.
  private nonisolated(unsafe) static let host: any DispatchSourceRead = {
    let descriptor = MainScheduler.hostDescriptor()
    if descriptor < 0 {
      misuse(
        "MainScheduler.useDispatchMain",
        "the system has no descriptor to give: error \(-descriptor). Raise the limit of open files, or close some.")
    }
    let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: .main)
    source.setEventHandler { MainScheduler.runInHost() }
    source.activate()
    MainScheduler.runInHost()  // what was queued before
    return source
  }()
}
