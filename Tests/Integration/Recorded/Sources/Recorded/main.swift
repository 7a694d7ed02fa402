import Scheduler

import var Glibc.SIGTRAP
import func Glibc.pause
import func Glibc.raise

/// Closures that Tests/Integration/gdb/test lists: finished ones, a running one, and one that waits for its time. Then
/// a trap stops the program.
final class Orders: Sendable {
  let count = Protected(0)

  func place(on scheduler: some SchedulerType, _ done: CountingSemaphore) {
    for _ in 0..<3 { scheduler.schedule { self.count.write { $0 += 1 } } }
    scheduler.schedule { done.signal() }
  }

  func keepBusy(_ scheduler: some SchedulerType, _ begun: CountingSemaphore) {
    scheduler.schedule {
      begun.signal()
      while pause() != 0 {}
    }
    scheduler.schedule(after: .seconds(3_600)) { self.count.write { $0 = 0 } }
  }
}

let orders = Orders()
let done = CountingSemaphore()
let quick = try ThreadScheduler(name: "quick")
orders.place(on: quick, done)
done.wait()
let busy = try ThreadScheduler(name: "busy")
orders.keepBusy(busy, done)
done.wait()
raise(SIGTRAP)
