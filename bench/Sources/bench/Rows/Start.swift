import BenchKit
import CBench
import Dispatch
import Foundation
import NIOPosix
import Scheduler

// From nothing to a closure that has run, and to nothing again.

private func start(_ name: String, _ role: Contender.Role, _ body: @escaping @Sendable () -> Void) -> Contender {
  Contender(name, role, .operations(slices: 1, least: 100) { count in time { for _ in 0..<count { body() } } })
}

let startRows = [
  Row(
    "U1", "make a thread, run a closure on it, and end it",
    [
      start("ThreadScheduler", .ours) {
        let thread = try! ThreadScheduler(name: "start")
        thread.schedule {}
        thread.stop()
        thread.join()
      },
      start("NIO event loop group", .peer) {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        group.next().execute {}
        try! group.syncShutdownGracefully()
      },
      start("Foundation Thread", .peer) {
        let done = DispatchSemaphore(value: 0)
        Thread { done.signal() }.start()
        done.wait()
      },
      start("pthread", .limit) {
        var thread = pthread_t()
        pthread_create(&thread, nil, { _ in nil }, nil)
        pthread_join(thread, nil)
      },
    ], targets: [.best(1)]),
  Row(
    "U2", "make a serial queue, run a closure on it, and release it",
    [
      start("SerialScheduler", .ours) {
        let done = DispatchSemaphore(value: 0)
        SerialScheduler(name: "start").schedule { done.signal() }
        done.wait()
      },
      start("serial async", .dispatch) {
        let done = DispatchSemaphore(value: 0)
        DispatchQueue(label: "start").async { done.signal() }
        done.wait()
      },
    ], targets: [.best(1)]),
]
