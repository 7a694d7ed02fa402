// The main scheduler in the main loop of GLib, or of libuv: what other threads schedule runs on the main thread, in
// order, and delayed actions, too; the library's own timers run beside it; and it ends by MainScheduler.stop().
import Foundation
import Scheduler

let library = CommandLine.arguments[1], actions = 20_000

/// The checks of each action.
@Sendable func onMain(_ scheduler: MainScheduler, _ body: @MainActor () -> Void) {
  precondition(Thread.isMainThread && Schedulers.current === scheduler)
  precondition(MainScheduler.instance.isIsolatingCurrentContext() == true)
  MainActor.assumeIsolated(body)
}

let schedulers = [MainScheduler.instance, MainScheduler.asyncInstance]
MainScheduler.asyncInstance.schedule { onMain(.asyncInstance) { seen.last = 0 } }  // before there is a host

Thread.detachNewThread {
  for n in 1...actions {
    let scheduler = schedulers[n % 2]
    scheduler.schedule {
      onMain(scheduler) {
        precondition(seen.last == n - 1, "out of order")
        seen.last = n
      }
    }
    if n % 1_000 == 0 { usleep(500) }  // so that the library sleeps now and then
  }
  let start = MonotonicTime.now
  for delay in [30, 10, 20] {
    MainScheduler.instance.schedule(after: .milliseconds(delay)) {
      precondition(start.duration(to: .now) >= .milliseconds(delay), "early")
      onMain(.instance) { seen.delayed.append(delay) }
    }
  }
  MainScheduler.instance.schedule(after: .milliseconds(60)) {
    onMain(.instance) { MainScheduler.instance.schedule { MainScheduler.stop() } }
  }
}

switch library {
case "GLib": try runInGLib()
default: try runInLibuv()
}

precondition(seen.last == actions && seen.delayed == [10, 20, 30], "\(seen)")
precondition(seen.ticksOfLibrary > 0, "the library's own work continues")
print("the main scheduler in \(library): \(actions) actions in order, in \(seen.rounds) rounds; delayed ones, too")
