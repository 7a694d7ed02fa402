// The main scheduler in a program that runs the main loop of another library: nothing polls, no job is lost, and there
// is one order for submissions to both.
import Foundation
import Scheduler
import SchedulerDispatch

let host = CommandLine.arguments[1]
// Dispatch runs its main queue on another thread, once the main one has gone.
let staysOnMain = host.hasPrefix("RunLoop.main.run()")

MainScheduler.instance.schedule { precondition(Thread.isMainThread) }  // before there is a host
MainScheduler.asyncInstance.schedule {}  // waits for it
if host.hasSuffix("another thread") {
  let done = DispatchGroup()
  for _ in 0..<4 {  // the first of them counts
    done.enter()
    Thread.detachNewThread {
      MainScheduler.useDispatchMain()
      done.leave()
    }
  }
  done.wait()
} else {
  MainScheduler.useDispatchMain()
}
MainScheduler.useDispatchMain()  // once more does nothing

/// Voluntary context switches of the main thread, which are its sleeps.
func sleeps() -> Int {
  let status = (try? String(contentsOfFile: "/proc/self/task/\(getpid())/status", encoding: .utf8)) ?? ""
  let line = status.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches") } ?? ""
  return Int(line.filter(\.isNumber)) ?? 0
}

let count = Protected(0), jobs = 20_000
Thread.detachNewThread {
  checkOrder()
  checkStop()
  for n in 0..<jobs {
    MainScheduler.instance.schedule {
      precondition(Thread.isMainThread || !staysOnMain)
      precondition(Schedulers.current === MainScheduler.instance)
      count.withLock {
        precondition($0 == n, "out of order")
        $0 += 1
      }
    }
  }
  let all = DispatchSemaphore(value: 0)
  MainScheduler.instance.schedule { all.signal() }
  all.wait()
  MainScheduler.instance.schedule(after: .milliseconds(10)) {
    precondition(count.withLock { $0 } == jobs)
    // Then silence: the host does not wake up.
    Thread.detachNewThread {
      usleep(50_000)
      let before = sleeps()
      usleep(300_000)
      precondition(sleeps() - before <= 1, "the main thread woke up \(sleeps() - before) times for nothing")
      MainScheduler.instance.schedule {
        print("the main scheduler in \(host): \(jobs) actions in order, then silence")
        exit(0)
      }
    }
  }
}
if staysOnMain { RunLoop.main.run() } else { dispatchMain() }
