import CTestSupport
import Foundation
import Scheduler
import SchedulerDispatch
import SchedulerRx
import SchedulerTesting
import TestSupport
import Testing

/// One scheduler for the contracts, and its guarantees. A contract runs over ``all`` of them, unless it says
/// what it needs.
///
/// There are two lists: the test process has all kinds, and those of the main loop on a thread that takes the main
/// one's place. The process that ``MainProcessTests`` starts has those that run on the main thread itself.
struct SchedulerUnderTest: Sendable, CustomTestStringConvertible {
  /// A scheduler, and which one is current in its actions.
  typealias Made = (scheduler: any SchedulerType, current: any AnyObject & Sendable)

  let name: String
  /// Actions run one at a time, in order.
  var isSerial = true
  /// Actions wait in a queue: they do not run inside `schedule`.
  var isQueued = true
  /// They wait there too when an action of the same scheduler schedules them.
  var isQueuedInside = true
  /// A delayed action has its caller wait.
  var delaysItsCaller = false
  /// It has a clock of its own, which a thread moves; and a period of zero has one tick, because such a tick moves no
  /// time.
  var isVirtual = false
  /// Actions run on the main thread, or on the one that has its place.
  var isMain = false
  let makeBoth: @Sendable () throws -> Made

  var testDescription: String { name }

  func make() throws -> any SchedulerType { try makeBoth().scheduler }

  /// The shortest period that repeats.
  var shortestPeriod: Duration { isVirtual ? .microseconds(10) : .zero }

  /// Lets `span` of the scheduler's time pass in one of its actions.
  func pass(_ span: Duration, on scheduler: any SchedulerType) {
    switch isVirtual ? Schedulers.current ?? scheduler : scheduler {
    case let scheduler as TestScheduler: scheduler.sleep(by: span)
    case let scheduler as HistoricalScheduler: scheduler.sleep(by: span)
    case let scheduler as SerialScheduler where isVirtual:
      Self.clocks.read()[scheduler.name]!.scheduler!.sleep(by: span)
    default:
      let end = MonotonicTime.now.advanced(by: span)
      while MonotonicTime.now < end { usleep(1_000) }  // a signal of another test ends a sleep
    }
  }
}

/// A reference that keeps nothing.
private struct Weak: @unchecked Sendable {
  weak var scheduler: TestScheduler?
}

// MARK: the kinds

extension SchedulerUnderTest {
  static let all = isMainProcess ? onMain : usual

  static var queued: [SchedulerUnderTest] { all.filter(\.isQueued) }
  static var serial: [SchedulerUnderTest] { all.filter(\.isSerial) }
  static var queuedAndSerial: [SchedulerUnderTest] { all.filter { $0.isQueued && $0.isSerial } }
  /// Those that wait for descriptors, signals, processes and files, too.
  static var loops: [SchedulerUnderTest] { all.filter { loopNames.contains($0.name) } }
  private static let loopNames: Set = [thread.name, "MainScheduler.instance", "MainScheduler.asyncInstance"]

  private static let usual: [SchedulerUnderTest] =
    [
      SchedulerUnderTest(name: "ImmediateScheduler", isQueued: false, delaysItsCaller: true) {
        (ImmediateScheduler.instance, ImmediateScheduler.instance)
      },
      SchedulerUnderTest(name: "CurrentThreadScheduler", isQueued: false, delaysItsCaller: true) {
        (Trampoline(), CurrentThreadScheduler.instance)
      },
      thread,
      SchedulerUnderTest("SerialScheduler") { SerialScheduler(name: "contract") },
      SchedulerUnderTest("SerialScheduler, background") { SerialScheduler(name: "contract", priority: .background) },
      SchedulerUnderTest("SerialScheduler on a thread") {
        SerialScheduler(target: try ThreadScheduler(name: "contract"))
      },
      SchedulerUnderTest("SerialScheduler on a SerialScheduler") {
        SerialScheduler(target: SerialScheduler(name: "below"))
      },
      concurrent,
      SchedulerUnderTest("ConcurrentScheduler with a limit", isSerial: false) { ConcurrentScheduler(limit: 3) },
      SchedulerUnderTest("ConcurrentScheduler with a limit of one") { ConcurrentScheduler(limit: 1) },
      SchedulerUnderTest("ConcurrentScheduler with a bound", isSerial: false) {
        ConcurrentScheduler(limit: 2, waiting: 1_000_000, whenFull: .block)
      },
      SchedulerUnderTest("SerialScheduler on a ConcurrentScheduler with a limit") {
        SerialScheduler(target: ConcurrentScheduler(limit: 1))
      },
      SchedulerUnderTest("BarrierScheduler") { ConcurrentScheduler(limit: 3).barrier },
      SchedulerUnderTest("SerialScheduler on a BarrierScheduler") {
        SerialScheduler(target: ConcurrentScheduler(limit: 3).barrier)
      },
      SchedulerUnderTest("CustomScheduler on a Dispatch queue") {
        let queue = DispatchQueue(label: "contract")
        return DispatchQueueScheduler(queue, isSerial: true).scheduler
      },
      SchedulerUnderTest("CustomScheduler on a thread") {
        let thread = try ThreadScheduler(name: "own")
        return CustomScheduler { work in thread.schedule(work) }
      },
      // Its delayed actions run on another thread, beside those of its callers.
      SchedulerUnderTest("CustomScheduler, inline", isSerial: false, isQueued: false) {
        CustomScheduler { work in work() }
      },
      SchedulerUnderTest("SerialScheduler on an inline CustomScheduler", isQueued: false) {
        SerialScheduler(target: CustomScheduler { work in work() })
      },
      SchedulerUnderTest("SerialScheduler on a concurrent CustomScheduler") {
        SerialScheduler(target: CustomScheduler { work in DispatchQueue.global().async(execute: work) })
      },
      SchedulerUnderTest(name: "SubscriptionScheduler", isQueuedInside: false) {
        let scheduler = SubscriptionScheduler(), current = Log<any AnyObject & Sendable>()
        scheduler.schedule { if let found = Schedulers.current { current.add(found) } }
        _ = eventually { !current.entries.isEmpty }
        return (scheduler, try #require(current.entries.first { $0 is SerialScheduler }))
      },
      virtual,
      SchedulerUnderTest("HistoricalScheduler, its clock moved by a thread", isVirtual: true) {
        let origin = HistoricalDate.epoch.advanced(by: MonotonicTime(nanoseconds: 0).duration(to: .now))
        return moved(
          HistoricalScheduler(
            initialClock: origin, origin: .epoch, end: .distantFuture, actionLimit: .max))
      },
      SchedulerUnderTest("SerialScheduler on a VirtualTimeScheduler", isVirtual: true) { onClock { $0 } },
      SchedulerUnderTest("SerialScheduler on a SerialScheduler on a VirtualTimeScheduler", isVirtual: true) {
        onClock { SerialScheduler(target: $0) }
      },
    ] + onMain
    + [thread, concurrent].flatMap { base in
      [
        base.wrapped("a wrapper") { $0.wrapping { $0() } }, base.wrapped("RecordingScheduler", by: record),
        base.wrapped("a group") { ActionGroup().scheduler(on: $0) },
      ]
    } + [virtual.wrapped("a wrapper") { $0.wrapping { $0() } }]

  private static let thread = SchedulerUnderTest("ThreadScheduler") { try ThreadScheduler(name: "contract") }
  private static let concurrent = SchedulerUnderTest("ConcurrentScheduler", isSerial: false) {
    ConcurrentScheduler(name: "contract")
  }
  // A recursion without an end is one drive.
  private static let virtual = SchedulerUnderTest("VirtualTimeScheduler, its clock moved by a thread", isVirtual: true)
  { moved(TestScheduler(initialClock: .now, actionLimit: .max)) }

  private static let onMain: [SchedulerUnderTest] = [
    SchedulerUnderTest("MainScheduler.instance", isMain: true) { main },
    SchedulerUnderTest("MainScheduler.asyncInstance", isMain: true) {
      _ = main
      return MainScheduler.asyncInstance
    },
    SchedulerUnderTest("SerialScheduler on MainScheduler", isMain: true) { SerialScheduler(target: main) },
    SchedulerUnderTest("MainScheduler.asyncInstance", isMain: true) {
      _ = main
      return MainScheduler.asyncInstance
    }.wrapped("a wrapper") { $0.wrapping { $0() } },
  ]

  // MARK: how they are made

  private init(
    _ name: String, isSerial: Bool = true, isQueued: Bool = true, isVirtual: Bool = false, isMain: Bool = false,
    make: @escaping @Sendable () throws -> any SchedulerType & AnyObject
  ) {
    self.init(name: name, isSerial: isSerial, isQueued: isQueued, isVirtual: isVirtual, isMain: isMain) {
      let scheduler = try make()
      return (scheduler, scheduler)
    }
  }

  /// The same, handed through `wrap`; what is current stays.
  private func wrapped(
    _ kind: String, by wrap: @escaping @Sendable (any SchedulerType) -> any SchedulerType
  ) -> SchedulerUnderTest {
    SchedulerUnderTest(
      name: "\(kind) of \(name)", isSerial: isSerial, isQueued: isQueued, isQueuedInside: isQueuedInside,
      isVirtual: isVirtual, isMain: isMain
    ) { [makeBoth] in
      let made = try makeBoth()
      return (wrap(made.scheduler), made.current)
    }
  }

  @Sendable private static func record(_ base: any SchedulerType) -> any SchedulerType {
    func open(_ base: some SchedulerType) -> any SchedulerType { RecordingScheduler(base) }
    return open(base)
  }

  /// Has a thread move the clock of `scheduler` to the present, again and again, for as long as the scheduler is there.
  private static func moved<Instant>(
    _ scheduler: VirtualTimeScheduler<Instant>
  ) -> VirtualTimeScheduler<Instant> {
    Thread.detachNewThread { [weak scheduler] in
      while let here = scheduler {
        here.advance(by: here.now.duration(to: .now))
        usleep(200)
      }
    }
    return scheduler
  }

  /// Of the queues on one, by their names.
  private static let clocks = Protected<[String: Weak]>([:])

  private static func onClock(_ base: (SchedulerTarget) -> SchedulerTarget) -> SerialScheduler {
    let clock = moved(TestScheduler(initialClock: .now, actionLimit: .max))
    let name = clocks.withLock {
      $0["\($0.count)"] = Weak(scheduler: clock)
      return "\($0.count - 1)"
    }
    return SerialScheduler(name: name, target: base(clock))
  }

  /// The process in which the main thread runs the main loop.
  static let isMainProcess = ctest_is_main_process()

  private static var main: MainScheduler {
    if !isMainProcess { ctest_host_main_loop() }
    return MainScheduler.instance
  }
}

/// The current thread's scheduler with time: a delayed action has its thread sleep before.
private final class Trampoline: SchedulerType {
  var now: MonotonicTime { .now }

  func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    CurrentThreadScheduler.instance.schedule(action)
  }

  func schedule(_ timing: ActionTiming, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    timing.schedule(on: self, action) { delay, _, action in
      let end = MonotonicTime.now.advanced(by: delay)
      while case let left = MonotonicTime.now.duration(to: end), left > .zero {
        usleep(UInt32(min(left / .microseconds(1) + 1, 1e5)))
      }
      return schedule(action)
    }
  }
}

extension SchedulerType {
  /// Waits until the earlier actions of a serial scheduler have run.
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
