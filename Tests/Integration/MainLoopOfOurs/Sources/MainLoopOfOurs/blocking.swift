// Waiting on the main thread, which serves the main scheduler meanwhile.
import Foundation
import Scheduler

/// A run that `body` is performed in, and how it ended.
func wait(_ timeout: Duration? = .seconds(10), _ body: @escaping @Sendable (RunLoopLock) -> Void) -> String {
  let lock = RunLoopLock(timeout: timeout)
  lock.dispatch { body(lock) }
  do { try lock.run() } catch { return "timeout" }
  return "stopped"
}

func checkBlocking() throws {
  // Queued and delayed actions run while it waits, in and outside of an action.
  let inside: @Sendable () -> Void = {
    later.schedule { log.add("served") }
    let ended = wait { lock in main.schedule(after: .milliseconds(5)) { lock.stop() } }
    check(ended == "stopped" && log.take() == ["served"], "served while waiting")
  }
  inside()
  main.schedule(inside)
  later.schedule(inside)
  MainScheduler.runUntilIdle()

  // The main scheduler's stop is for its run, not for the wait inside of that.
  later.schedule {
    MainScheduler.stop()
    log.add(wait { lock in main.schedule(after: .milliseconds(10)) { lock.stop() } })
  }
  MainScheduler.run()
  check(log.take() == ["stopped"], "the wait has not ended by the stop, the run has")

  // Three deep, the outer one ends first.
  let ended = wait { outer in
    log.add(
      wait { middle in
        log.add(
          wait { inner in
            Thread.detachNewThread {
              for lock in [outer, middle, inner] {
                lock.stop()
                usleep(2_000)
              }
            }
          })
      })
  }
  check(ended == "stopped" && log.take() == ["stopped", "stopped"], "nested")
  check(wait(.milliseconds(5)) { _ in } == "timeout", "timeout")

  // Sources and async functions.
  let source = BlockingObservable(timeout: .seconds(10)) { next, end in
    main.schedule(after: .milliseconds(5)) { if next("from the main thread \(Thread.isMainThread)") { end(nil) } }
  }
  check(try source.toArray() == ["from the main thread true"], "a source")
  let value = try runAndWait(timeout: .seconds(10)) {
    try await Task.sleep(for: .milliseconds(2))
    return Thread.isMainThread
  }
  check(!value, "an async function")
  do {
    try runAndWait { @MainActor in log.add("never") }
    check(false, "the main actor cannot run here")
  } catch { check(error as? SchedulerError == .deadlock && log.take() == [], "refused") }
}
