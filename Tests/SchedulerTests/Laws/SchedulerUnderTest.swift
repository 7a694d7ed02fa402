import CTestSupport
import Foundation
import Scheduler
import Testing

/// One scheduler for the laws, and what may be asked of it.
struct SchedulerUnderTest: Sendable, CustomTestStringConvertible {
  let name: String
  /// Actions run one at a time, in order.
  var isSerial = true
  /// Actions wait in a queue: they do not run inside `schedule`.
  var isQueued = true
  /// It has a clock of its own.
  var isVirtual = false
  let make: @Sendable () throws -> any SchedulerType & AnyObject

  var testDescription: String { name }

  static let all: [SchedulerUnderTest] = [
    SchedulerUnderTest(name: "ImmediateScheduler", isQueued: false) { ImmediateScheduler.instance },
    SchedulerUnderTest(name: "ThreadScheduler") { try ThreadScheduler(name: "law") },
    SchedulerUnderTest(name: "SerialScheduler") { SerialScheduler(name: "law") },
    SchedulerUnderTest(name: "SerialScheduler, background") { SerialScheduler(name: "law", priority: .background) },
    SchedulerUnderTest(name: "SerialScheduler on a thread") {
      SerialScheduler(target: try ThreadScheduler(name: "law"))
    },
    SchedulerUnderTest(name: "SerialScheduler on a SerialScheduler") {
      SerialScheduler(target: SerialScheduler(name: "below"))
    },
    SchedulerUnderTest(name: "ConcurrentScheduler", isSerial: false) { ConcurrentScheduler(name: "law") },
    SchedulerUnderTest(name: "CustomScheduler on a Dispatch queue") {
      let queue = DispatchQueue(label: "law")
      return CustomScheduler { work in queue.async(execute: work) }
    },
    SchedulerUnderTest(name: "SerialScheduler on a concurrent CustomScheduler") {
      SerialScheduler(target: CustomScheduler { work in DispatchQueue.global().async(execute: work) })
    },
    SchedulerUnderTest(name: "MainScheduler.instance") {
      ctest_host_main_loop()
      return MainScheduler.instance
    },
    SchedulerUnderTest(name: "MainScheduler.asyncInstance") {
      ctest_host_main_loop()
      return MainScheduler.asyncInstance
    },
    SchedulerUnderTest(name: "SerialScheduler on MainScheduler") {
      ctest_host_main_loop()
      return SerialScheduler(target: MainScheduler.instance)
    },
    SchedulerUnderTest(name: "VirtualTimeScheduler, its clock moved by a thread", isVirtual: true) {
      // A recursion without an end is one drive.
      let scheduler = TestScheduler(initialClock: .now, turnLimit: .max)
      Thread.detachNewThread { [weak scheduler] in
        while let here = scheduler {
          here.advance(to: .now)
          usleep(200)
        }
      }
      return scheduler
    },
  ]

  static var queued: [SchedulerUnderTest] { all.filter(\.isQueued) }
  static var serial: [SchedulerUnderTest] { all.filter(\.isSerial) }
  static var queuedAndSerial: [SchedulerUnderTest] { all.filter { $0.isQueued && $0.isSerial } }
}

extension SchedulerType {
  /// Waits until what was scheduled before on a serial scheduler has run.
  func drain() {
    let gate = Gate()
    schedule { gate.open() }
    gate.wait()
  }
}

/// Something that shows its end, held by closures.
final class Witness: Sendable {
  private let ends: Counter
  init(_ ends: Counter) { self.ends = ends }
  deinit { ends.increment() }
  func touch() {}
}
