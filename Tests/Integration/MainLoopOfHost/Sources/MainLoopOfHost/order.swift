import Foundation
import Scheduler
import SchedulerRx

/// What several threads submit to the main queue and to the main scheduler, in turns and at random, runs in each
/// thread's order.
func checkOrder() {
  let threads = 3, count = 2_000, over = DispatchGroup(), last = Protected([Int](repeating: -1, count: threads))
  // Due actions in between, of which none runs another's.
  let ticks = MainScheduler.asyncInstance.schedule(.every(.microseconds(200), after: .zero)) {}
  let queue = SerialScheduler(target: MainScheduler.instance), onQueue = Protected(-1)
  for thread in 0..<threads {
    over.enter()
    Thread.detachNewThread {
      for n in 0..<count {
        let note: @Sendable () -> Void = {
          last.withLock {
            precondition($0[thread] == n - 1, "thread \(thread): \(n) after \($0[thread])")
            $0[thread] = n
          }
        }
        switch thread == 0 ? n % 5 : Int.random(in: 0..<5) {
        case 0, 3: DispatchQueue.main.async(execute: note)
        case 1: MainScheduler.instance.schedule(note)
        case 2: MainScheduler.asyncInstance.schedule(note)
        default:
          MainScheduler.instance.schedule(n) { _ in
            note()
            return Disposables.create()
          }
        }
        if n % 50 == 0 {
          queue.schedule {
            onQueue.withLock { precondition($0 <= n || thread != 0, "the queue's own order") }
            if thread == 0 { onQueue.write(n) }
          }
        }
        if n % 7 == thread { usleep(UInt32.random(in: 0..<100)) }
      }
      over.leave()
    }
  }
  over.wait()
  let done = DispatchSemaphore(value: 0)
  MainScheduler.asyncInstance.schedule { queue.schedule { done.signal() } }
  precondition(done.wait(timeout: .now() + 10) == .success)
  precondition(last.read() == [Int](repeating: count - 1, count: threads), "\(last.read())")
  precondition(onQueue.read() == (count - 1) / 50 * 50, "\(onQueue.read())")
  ticks.dispose()

  // Something that was disposed leaves the order as it is; a wait inside of an action takes what waits, and nothing of
  // the main queue's.
  let log = Protected<[String]>([]), add: @Sendable (String) -> Void = { text in log.withLock { $0.append(text) } }
  let hold = DispatchSemaphore(value: 0), served = DispatchSemaphore(value: 0)
  DispatchQueue.main.async { hold.wait() }
  MainScheduler.instance.schedule { add("disposed") }.dispose()
  MainScheduler.instance.schedule {
    add("before")
    let lock = RunLoopLock(timeout: .seconds(10))
    MainScheduler.instance.schedule { lock.stop() }
    precondition((try? lock.run()) != nil)
    add("after")
  }
  DispatchQueue.main.async { add("main queue") }
  MainScheduler.instance.schedule { add("served") }
  DispatchQueue.main.async { served.signal() }
  hold.signal()
  precondition(served.wait(timeout: .now() + 10) == .success)
  precondition(log.read() == ["before", "served", "after", "main queue"], "\(log.read())")
}

/// A stop while nothing of ours runs the main scheduler is taken, and ends nothing later; one in a run inside of an
/// action ends that.
func checkStop() {
  let done = DispatchSemaphore(value: 0)
  MainScheduler.stop()
  usleep(20_000)
  MainScheduler.asyncInstance.schedule {
    let start = MonotonicTime.now
    precondition(!MainScheduler.run(until: start.advanced(by: .milliseconds(5))), "the first one was taken")
    MainScheduler.asyncInstance.schedule(after: .milliseconds(1)) { MainScheduler.stop() }
    precondition(MainScheduler.run(until: start.advanced(by: .seconds(10))))
    done.signal()
  }
  precondition(done.wait(timeout: .now() + 10) == .success)
}
