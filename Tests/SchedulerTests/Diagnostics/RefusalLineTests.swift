import Foundation
import Scheduler
import SchedulerRx
import SchedulerTesting
import TestSupport
import Testing

/// What a refusal prints: one line for each scheduler, of work of which no caller learns; nothing where the caller gets
/// an error, or stopped the scheduler itself. In processes of their own, for the sake of their standard error.
@Suite(.nothingIsLeft) struct RefusalLineTests {
  // In release builds no refusal is printed.
  #if DEBUG
    private static let linesOfOne = 1
  #else
    private static let linesOfOne = 0
  #endif

  // MARK: stopped schedulers

  typealias Make = @Sendable () throws -> any SchedulerType

  private static func thread() throws -> ThreadScheduler {
    let thread = try ThreadScheduler(name: "stopped")
    thread.stop()
    thread.join()
    return thread
  }

  private static func pool() throws -> ConcurrentScheduler {
    let pool = try WorkerPool(name: "stopped", workers: 1), scheduler = pool.scheduler()
    pool.stop()
    synchronously { pool.join() }
    return scheduler
  }

  /// After the shutdown `made` is on a pool, or on a main loop, that accepts no more work.
  private static func afterShutdown<Made>(_ made: Made) -> Made {
    Schedulers.shutdown(.dropOutstanding)
    return made
  }

  /// Each makes another one at each call, but for the main scheduler.
  static let kinds: [(name: String, make: Make)] = [
    ("ThreadScheduler", { try thread() }),
    ("SerialScheduler on a thread", { SerialScheduler(target: try thread()) }),
    ("SerialScheduler on a SerialScheduler", { SerialScheduler(target: SerialScheduler(target: try thread())) }),
    ("ConcurrentScheduler of a WorkerPool", { try pool() }),
    ("SerialScheduler on a WorkerPool", { SerialScheduler(target: try pool()) }),
    ("ConcurrentScheduler", { afterShutdown(ConcurrentScheduler()) }),
    ("ConcurrentScheduler with a limit", { afterShutdown(ConcurrentScheduler(limit: 2)) }),
    ("BarrierScheduler", { afterShutdown(ConcurrentScheduler(limit: 2).barrier) }),
    ("SerialScheduler", { afterShutdown(SerialScheduler()) }),
    ("SerialScheduler on MainScheduler", { SerialScheduler(target: afterShutdown(MainScheduler.instance)) }),
    ("a wrapper", { try thread().wrapping { $0() } }),
    ("RecordingScheduler", { RecordingScheduler(try thread()) }),
    ("a group", { ActionGroup().scheduler(on: try thread()) }),
    ("a scheduler of another module", { Foreign(base: try thread()) }),
    ("MainScheduler", { afterShutdown(MainScheduler.asyncInstance) }),
  ]

  // MARK: calls

  /// Calls whose caller gets a refusal, as an error or by a handler. Each returns whether it did.
  private static let reported: [(name: String, call: @Sendable (any SchedulerType) async throws -> Bool)] = [
    ("perform", { scheduler in await isRefused { try await scheduler.perform {} } }),
    ("sleep(for:)", { scheduler in await isRefused { try await scheduler.sleep(for: .seconds(3_600)) } }),
    (
      "sleep(until:)",
      { scheduler in
        await isRefused { try await scheduler.sleep(until: scheduler.now.advanced(by: .seconds(3_600))) }
      }
    ),
    (
      "Task.sleep(for:clock:)",
      { scheduler in await isRefused { try await Task.sleep(for: .seconds(3_600), clock: scheduler.clock) } }
    ),
    ("ticks", { scheduler in await isRefused { for try await _ in scheduler.ticks(every: .seconds(3_600)) {} } }),
    ("schedule(_:onDrop:)", { scheduler in isDropped { onDrop in scheduler.schedule({}, onDrop: onDrop) } }),
    (
      "schedule(after:_:onDrop:)",
      { scheduler in isDropped { onDrop in scheduler.schedule(after: .seconds(3_600), {}, onDrop: onDrop) } }
    ),
    (
      "ResultGroup",
      { scheduler in
        func open(_ scheduler: some SchedulerType) async -> Bool {
          let results = ResultGroup<Int>()
          results.schedule(on: scheduler) { 1 }
          return await isRefused { _ = try await results.next()?.get() }
        }
        return await open(scheduler)
      }
    ),
    (
      "trySync",
      { scheduler in
        guard let queue = scheduler as? SerialScheduler else { return true }
        return synchronously { (try? queue.trySync {}) == nil }
      }
    ),
  ]

  /// Calls that only a thread has.
  private static let reportedByThread: [(name: String, call: @Sendable (ThreadScheduler) async throws -> Bool)] = [
    ("trySchedule", { thread in await isRefused { try thread.trySchedule {} } }),
    ("confine", { thread in await isRefused { try await thread.confine { 1 }.perform { _ in } } }),
    ("signals", { thread in await isRefused { for try await _ in thread.signals(OwnSignal.refusals) {} } }),
    ("changes", { thread in await isRefused { for try await _ in thread.changes(ofFileAt: "/") {} } }),
    ("exits", { thread in await isRefused { for try await _ in thread.exits(of: getpid()) {} } }),
    ("readable", { thread in await isRefused { for try await _ in thread.readable(0) {} } }),
    ("writable", { thread in await isRefused { for try await _ in thread.writable(1) {} } }),
    ("onReadable", { thread in isEnded { thread.onReadable(0, {}, onDrop: $0) } }),
    ("onWritable", { thread in isEnded { thread.onWritable(1, {}, onDrop: $0) } }),
    ("onSignal", { thread in isEnded { thread.onSignal(OwnSignal.refusals, { _ in }, onDrop: $0) } }),
    ("onExit", { thread in isEnded { thread.onExit(of: getpid(), { _ in }, onDrop: $0) } }),
    ("onChange", { thread in isEnded { thread.onChange(ofFileAt: "/", { _ in }, onDrop: $0) } }),
    ("onBeforeSleep", { thread in isEnded { thread.onBeforeSleep({}, onDrop: $0) } }),
  ]

  private static func isRefused(_ body: () async throws -> Void) async -> Bool {
    do { try await body() } catch { return error as? SchedulerError == .stopped }
    return false
  }

  private static func isDropped(_ submit: (@escaping @Sendable (SchedulerError) -> Void) -> any Disposable) -> Bool {
    let drops = Log<SchedulerError>()
    _ = submit { drops.add($0) }
    return drops.entries == [.refused]
  }

  private static func isEnded(_ begin: (@escaping @Sendable (SchedulerError) -> Void) -> any Disposable) -> Bool {
    let drops = Log<Bool>()
    _ = begin { drops.add($0 == .stopped) }
    return drops.entries == [true]
  }

  /// Calls whose drop only `Schedulers.onDrop` reports.
  private static let unreported: [(name: String, call: @Sendable (any SchedulerType) -> Void)] = [
    ("schedule", { $0.schedule {} }),
    ("schedule(_:action:)", { $0.schedule(1) { _ in Disposables.create() } }),
    ("schedule(after:)", { $0.schedule(after: .seconds(3_600)) {} }),
    ("schedule(_:after:action:)", { $0.schedule(1, after: .seconds(3_600)) { _ in Disposables.create() } }),
    ("schedule(.at())", { $0.schedule(.at(.now.advanced(by: .seconds(3_600)))) {} }),
    ("schedule(after:repeating:)", { $0.schedule(.every(.seconds(3_600), after: .zero)) {} }),
    ("schedulePeriodic", { $0.schedule(.every(.seconds(3_600))) {} }),
    ("scheduleRecursive", { $0.scheduleRecursive { again in again() } }),
    ("schedule with a context", { $0.schedule { (context: ActionContext) in _ = context.isCancelled } }),
    (
      "ActionGroup",
      { scheduler in
        func open(_ scheduler: some SchedulerType) { ActionGroup().schedule(on: scheduler) {} }
        open(scheduler)
      }
    ),
    (
      "ActionGroup.notify",
      { scheduler in
        func open(_ scheduler: some SchedulerType) { ActionGroup().notify(on: scheduler) {} }
        open(scheduler)
      }
    ),
    ("disposed(on:)", { Disposables.create {}.disposed(on: $0).dispose() }),
    ("MergingEvent", { MergingEvent(on: $0, .sum) { _ in }.merge(1) }),
  ]

  private static let unreportedByThread: [(name: String, call: @Sendable (ThreadScheduler) -> Void)] = [
    ("onReadable", { _ = $0.onReadable(0) {} }),
    ("onSignal", { _ = $0.onSignal(OwnSignal.refusals) { _ in } }),
    ("onExit", { _ = $0.onExit(of: getpid()) { _ in } }),
    ("onChange", { _ = $0.onChange(ofFileAt: "/") { _ in } }),
    ("onBeforeSleep", { _ = $0.onBeforeSleep {} }),
  ]

  // MARK: the output of a process

  /// Has what follows on the standard error belong to `name`.
  private static func begin(_ name: String) { FileHandle.standardError.write(Data("row \(name)\n".utf8)) }

  /// The library's lines in `text`, by the rows that `begin` has made.
  private static func lines(_ result: ExitTest.Result?) -> [(row: String, lines: [Substring])] {
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    var rows: [(row: String, lines: [Substring])] = []
    for line in text.split(separator: "\n") {
      if line.hasPrefix("row ") { rows.append((String(line.dropFirst(4)), [])) }
      if line.hasPrefix("Scheduler: "), !rows.isEmpty { rows[rows.count - 1].lines.append(line) }
    }
    return rows
  }

  @Test("a refusal that the caller gets as an error or by a handler is not printed", arguments: kinds.indices)
  func caller(kind: Int) async {
    let result = await withExitArgument(kind) {
      await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        let kind: Int = exitArgument()
        let make = Self.kinds[kind].make
        for row in Self.reported {
          Self.begin(row.name)
          let isReported = try await row.call(try make())
          precondition(isReported, "\(row.name): the caller gets no error")
        }
        guard Self.kinds[kind].name == "ThreadScheduler" else { return }
        for row in Self.reportedByThread {
          Self.begin(row.name)
          let isReported = try await row.call(try Self.thread())
          precondition(isReported, "\(row.name): the caller gets no error")
        }
      }
    }
    let rows = Self.lines(result)
    #expect(rows.count == Self.reported.count + (kind == 0 ? Self.reportedByThread.count : 0))
    for row in rows { #expect(row.lines == [], "\(row.row)") }
  }

  @Test(
    "a refusal that no caller gets is printed once for each scheduler, with a remedy, in a debug build",
    arguments: kinds.indices)
  func noCaller(kind: Int) async {
    let result = await withExitArgument(kind) {
      await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        let kind: Int = exitArgument()
        let make = Self.kinds[kind].make
        for row in Self.unreported {
          let scheduler = try make()
          Self.begin(row.name)
          for _ in 0..<3 { row.call(scheduler) }
        }
        guard Self.kinds[kind].name == "ThreadScheduler" else { return }
        for row in Self.unreportedByThread {
          let thread = try Self.thread()
          Self.begin(row.name)
          for _ in 0..<3 { row.call(thread) }
        }
      }
    }
    let rows = Self.lines(result)
    #expect(rows.count == Self.unreported.count + (kind == 0 ? Self.unreportedByThread.count : 0))
    if Self.kinds[kind].name == "MainScheduler" {
      return #expect(rows.map(\.lines.count) == [Self.linesOfOne] + Array(repeating: 0, count: rows.count - 1))
    }
    for row in rows {
      #expect(row.lines.count == Self.linesOfOne, "\(row.row): \(row.lines)")
      #expect(row.lines.allSatisfy { $0.contains("Schedulers.onDrop") }, "\(row.row): \(row.lines)")
    }
  }

  @Test("a refusal that a handler of Schedulers.onDrop learns of is not printed") func handler() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      let thread = try Self.thread(), drops = Log<SchedulerError>()
      let reports = Schedulers.onDrop { _, reason in drops.add(reason) }
      Self.begin("with a handler")
      thread.schedule {}
      precondition(drops.entries == [.refused])
      reports.dispose()
      Self.begin("without")
      thread.schedule {}
    }
    #expect(Self.lines(result).map(\.lines.count) == [0, Self.linesOfOne])
  }

  @Test(
    "an action that another one schedules has its own caller, also inside of a call whose caller gets refusals"
  )
  func nested() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      let immediate = ImmediateScheduler.instance
      Self.begin("perform")
      try await immediate.perform { [thread = try Self.thread()] in _ = thread.schedule {} }
      Self.begin("onDrop")
      immediate.schedule({ [thread = try Self.thread()] in _ = thread.schedule {} }, onDrop: { _ in })
      Self.begin("ResultGroup")
      ResultGroup<Void>().schedule(on: immediate) { [thread = try Self.thread()] in _ = thread.schedule {} }
      Self.begin("after it")
      try Self.thread().schedule {}
    }
    #expect(Self.lines(result).map(\.lines.count) == Array(repeating: Self.linesOfOne, count: 4))
  }

  @Test("an action that a stop ends, or that was disposed before, is not printed", arguments: [false, true])
  func stopped(runs: Bool) async {
    let result = await withExitArgument(runs) {
      await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        let runs: Bool = exitArgument()
        Self.begin("stop")
        let thread = try ThreadScheduler(), queue = SerialScheduler(target: thread), ends = Ends()
        let ticks = Counter()
        // Sources of the thread, which have begun.
        let sources: [any Disposable] = [
          thread.onReadable(ends.reading) {}, thread.onSignal(OwnSignal.refusals) { _ in },
          thread.onChange(ofFileAt: "/") { _ in },
          thread.onBeforeSleep {},
        ]
        let schedulers: [any SchedulerType] = [thread, queue, Foreign(base: thread)]
        for scheduler in schedulers {
          scheduler.schedule(after: .seconds(3_600)) {}
          scheduler.schedule(.every(.seconds(3_600), after: .seconds(3_600))) {}
          scheduler.schedule(after: .seconds(3_600)) {}.dispose()
          scheduler.schedule(.every(.seconds(3_600), after: .zero)) {}.dispose()
        }
        let sleep = Task { try await thread.sleep(for: .seconds(3_600)) }
        let signals = Task { for try await _ in thread.signals(OwnSignal.ends) {} }
        // Periodic actions that are about to be submitted again when the stop comes.
        let leave = block(thread)
        for scheduler in schedulers {
          scheduler.schedule(.every(.microseconds(1), after: .zero)) {
            thread.stop(runs ? .runOutstanding : .dropOutstanding)
            ticks.increment()
          }
        }
        thread.schedule {}
        leave.open()
        synchronously { thread.join() }
        for task in [sleep, signals] { _ = await task.result }
        precondition(ticks.value > 0 && sources.allSatisfy(\.isDisposed))
      }
    }
    #expect(Self.lines(result).map(\.lines) == [[]])
  }

  @Test("a source that the system refuses is printed without onDrop, with a remedy, in release builds, too")
  func source() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      let thread = try ThreadScheduler()
      Self.begin("with onDrop")
      let isDropped = Gate()
      _ = thread.onReadable(-1, {}, onDrop: { _ in isDropped.open() })
      isDropped.wait()
      Self.begin("without")
      _ = thread.onReadable(-1) {}
      thread.stop()
      synchronously { thread.join() }
    }
    let rows = Self.lines(result)
    #expect(rows.map(\.lines.count) == [0, 1])
    #expect(rows.last?.lines.first?.contains("onDrop") == true)
  }
}
