#if Combine
  import CTestSupport
  import Dispatch
  import OpenCombine
  import SchedulerCombine
  import SchedulerRx
  import SchedulerTesting
  import TestSupport
  import Testing

  /// One kind of scheduler for the operators' tests, and how a test gets on with it.
  struct Kind: Sendable, CustomTestStringConvertible {
    let name: String
    /// Delayed actions have their caller wait, or run at once.
    var isInline = false
    let make: @Sendable () throws -> Made
    var testDescription: String { name }

    struct Made: Sendable {
      let scheduler: any ImmediateSchedulerType
      /// Lets virtual time continue.
      var drive: @Sendable () -> Void = {}

      var view: CombineScheduler { scheduler.combine }

      /// Looks until `condition` holds, while time continues.
      func until(_ condition: () -> Bool) -> Bool {
        eventually {
          drive()
          return condition()
        }
      }
    }

    static let all: [Kind] =
      [
        Kind(name: "ImmediateScheduler", isInline: true) {
          Made(scheduler: SchedulerCombine.ImmediateScheduler.instance)
        },
        Kind(name: "CurrentThreadScheduler", isInline: true) { Made(scheduler: CurrentThreadScheduler.instance) },
        Kind(name: "CollapsedTimeScheduler", isInline: true) { Made(scheduler: CollapsedTimeScheduler()) },
        Kind(name: "SubscriptionScheduler") { Made(scheduler: SubscriptionScheduler()) },
      ] + timed

    /// Those on which time goes by in the background.
    static let timed: [Kind] = [
      Kind(name: "ThreadScheduler") { Made(scheduler: try ThreadScheduler(name: "kind")) },
      Kind(name: "SerialScheduler") { Made(scheduler: SerialScheduler(name: "kind")) },
      Kind(name: "SerialScheduler on a thread") {
        Made(scheduler: SerialScheduler(target: try ThreadScheduler(name: "kind")))
      },
      Kind(name: "ConcurrentScheduler") { Made(scheduler: ConcurrentScheduler(name: "kind")) },
      Kind(name: "CustomScheduler, side by side") {
        Made(scheduler: CustomScheduler { work in DispatchQueue.global().async(execute: work) })
      },
      Kind(name: "MainScheduler") {
        ctest_host_main_loop()
        return Made(scheduler: SchedulerCombine.MainScheduler.instance)
      },
      Kind(name: "MainScheduler.asyncInstance") {
        ctest_host_main_loop()
        return Made(scheduler: SchedulerCombine.MainScheduler.asyncInstance)
      },
      Kind(name: "a wrapper") { Made(scheduler: SerialScheduler(name: "kind").wrapping { $0() }) },
      Kind(name: "RecordingScheduler") { Made(scheduler: RecordingScheduler(SerialScheduler(name: "kind"))) },
      Kind(name: "TestScheduler") {
        let scheduler = TestScheduler()
        return Made(scheduler: scheduler) { scheduler.advance(by: .milliseconds(1)) }
      },
      Kind(name: "HistoricalScheduler") {
        let scheduler = HistoricalScheduler()
        return Made(scheduler: scheduler) { scheduler.advance(by: .milliseconds(1)) }
      },
      Kind(name: "SerialScheduler in virtual time") {
        let scheduler = TestScheduler()
        return Made(scheduler: SerialScheduler(target: scheduler)) { scheduler.advance(by: .milliseconds(1)) }
      },
    ]
  }
#endif
