import Foundation
import Scheduler
import TestSupport
import Testing

/// Two ends of a pipe, closed at the end.
private final class Ends: Sendable {
  let reading: Int32, writing: Int32

  init() {
    var ends: [Int32] = [0, 0]
    precondition(pipe(&ends) == 0)
    for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
    (reading, writing) = (ends[0], ends[1])
  }

  deinit {
    close(reading)
    close(writing)
  }

  func say() { _ = write(writing, "x", 1) }
  func listen() -> Int {
    var bytes = [UInt8](repeating: 0, count: 64)
    return max(0, read(reading, &bytes, 64))
  }
}

@Suite(.nothingIsLeft) struct SourceTests {
  @Test("a handler runs as an action, with the scheduler as the current one")
  func current() throws {
    let scheduler = try ThreadScheduler(name: "source"), ends = Ends(), log = Log<Bool>()
    let source = scheduler.onReadable(ends.reading) {
      _ = ends.listen()
      log.add(scheduler.isOnThread && Schedulers.current === scheduler)
    }
    ends.say()
    #expect(eventually { log.entries == [true] })
    ends.say()
    #expect(eventually { log.entries == [true, true] })
    #expect(!source.isDisposed)
    source.dispose()
    #expect(source.isDisposed)
    scheduler.stop()
    scheduler.join()
  }

  @Test("one descriptor can be waited for by several sources, to read and to write")
  func several() throws {
    let scheduler = try ThreadScheduler(), ends = Ends(), readers = [Counter(), Counter()], writers = Counter()
    var sources = [
      scheduler.onWritable(ends.writing) { writers.increment() },
      scheduler.onReadable(ends.reading) { readers[0].increment() },
      scheduler.onReadable(ends.reading) { readers[1].increment() },
    ]
    ends.say()
    #expect(eventually { writers.value > 0 && readers.allSatisfy { $0.value > 0 } })
    for source in sources { source.disposeAndWait() }
    sources = []
    let counts = readers.map(\.value)
    synchronously { _ = scheduler.schedule {} }
    scheduler.stop()
    scheduler.join()
    #expect(readers.map(\.value) == counts)
  }

  @Test("a handler may dispose its own source, whose captures are then gone")
  func disposedInside() throws {
    let scheduler = try ThreadScheduler(), ends = Ends(), count = Counter(), own = SingleAssignmentDisposable()
    weak var seen: Token?
    do {
      let token = Token()
      seen = token
      own.setDisposable(
        scheduler.onReadable(ends.reading) { [token] in
          count.increment()
          withExtendedLifetime(token) {}
          own.dispose()
        })
    }
    ends.say()
    #expect(eventually { seen == nil })
    #expect(count.value == 1)
    scheduler.stop()
    scheduler.join()
    #expect(count.value == 1)
  }

  @Test("once a source is disposed on another thread, no handler begins, and its captures are gone")
  func disposedOutside() throws {
    let scheduler = try ThreadScheduler()
    for _ in 0..<Scale.count(500) {
      let ends = Ends(), count = Counter(), isOver = Protected(false), stale = Counter()
      weak var seen: Token?
      let source: any Cancelable
      do {
        let token = Token()
        seen = token
        source = scheduler.onReadable(ends.reading) { [token] in
          if isOver.read() { stale.increment() }
          count.increment()
          withExtendedLifetime(token) {}
        }
      }
      ends.say()
      if count.value % 2 == 0 { Thread.sleep(forTimeInterval: 0.000_05) }
      source.disposeAndWait()
      isOver.write(true)
      #expect(seen == nil)
      #expect(stale.value == 0)
    }
    scheduler.stop()
    scheduler.join()
  }

  @Test("a source that is dropped says so: its scheduler was stopped, before or meanwhile")
  func dropped() throws {
    let scheduler = try ThreadScheduler(), ends = Ends(), log = Log<String>()
    let source = scheduler.onReadable(ends.reading, {}, onDrop: { log.add("\(type(of: $0))") })
    scheduler.schedule {}
    scheduler.stop()
    scheduler.join()
    #expect(log.entries == ["StoppedError"])
    #expect(source.isDisposed)
    let late = scheduler.onReadable(ends.reading, {}, onDrop: { log.add("\(type(of: $0))") })
    #expect(log.entries == ["StoppedError", "StoppedError"])
    #expect(late.isDisposed)
  }

  @Test(
    "what the system refuses is told: no descriptor, a regular file, no process, a signal that is taken, no such file")
  func refused() throws {
    let scheduler = try ThreadScheduler(), codes = Log<Int32>()
    let onDrop: @Sendable (any Error) -> Void = { codes.add(($0 as? SourceError)?.code ?? -1) }
    let file = open("/proc/self/exe", O_RDONLY)
    defer { close(file) }
    signal(SIGWINCH) { _ in }
    defer { signal(SIGWINCH, SIG_DFL) }
    _ = scheduler.onReadable(-1, {}, onDrop: onDrop)
    _ = scheduler.onReadable(file, {}, onDrop: onDrop)
    _ = scheduler.onExit(of: Int32.max, { _ in }, onDrop: onDrop)
    _ = scheduler.onSignal(SIGWINCH, { _ in }, onDrop: onDrop)
    _ = scheduler.onSignal(SIGKILL, { _ in }, onDrop: onDrop)
    _ = scheduler.onChange(ofFileAt: "/no such file", { _ in }, onDrop: onDrop)
    #expect(eventually { codes.entries.count == 6 })  // before the scheduler is stopped, which would be what is told
    scheduler.stop()
    scheduler.join()
    #expect(codes.entries == [EBADF, EPERM, ESRCH, EBUSY, EINVAL, ENOENT])
  }

  @Test("a signal, the end of a child and a change of a file are told")
  func kinds() throws {
    let scheduler = try ThreadScheduler(), log = Log<String>(), folder = "/tmp/scheduler-source-\(getpid())"
    mkdir(folder, 0o700)
    let sources = [
      scheduler.onSignal(SIGURG) { log.add("signal \($0)") },
      scheduler.onChange(ofFileAt: folder, kinds: .created) { log.add("created \($0.name ?? "")") },
    ]
    let began = Gate()
    scheduler.schedule { began.open() }
    #expect(began.wait())
    kill(getpid(), SIGURG)
    #expect(eventually { log.entries.last == "signal 1" })
    mkdir(folder + "/inside", 0o700)
    #expect(eventually { log.entries.last == "created inside" })
    for source in sources { source.dispose() }

    var child: pid_t = 0
    var arguments = [strdup("/bin/sh"), strdup("-c"), strdup("exit 3"), nil]
    #expect(posix_spawn(&child, "/bin/sh", nil, nil, &arguments, environ) == 0)
    for argument in arguments { free(argument) }
    let ended = scheduler.onExit(of: child) { log.add("\($0)") }
    #expect(eventually { log.entries.last == "exited(status: 3)" })
    #expect(eventually { ended.isDisposed })
    scheduler.stop()
    scheduler.join()
    rmdir(folder + "/inside")
    rmdir(folder)
  }

  @Test("a task reads what comes, at its own pace, and ends by cancellation")
  func asyncReads() async throws {
    let scheduler = try ThreadScheduler(), ends = Ends(), read = Counter()
    let task = Task {
      var times = 0
      for try await _ in scheduler.readable(ends.reading) {
        for _ in 0..<ends.listen() { read.increment() }
        times += 1
      }
      return times
    }
    for n in 1...20 {
      ends.say()
      while read.value < n { try await Task.sleep(for: .microseconds(100)) }
    }
    task.cancel()
    #expect(try await task.value == 20)
    await scheduler.stopAndJoin()
    await #expect(throws: StoppedError.self) { for try await _ in scheduler.readable(ends.reading) {} }
  }

  @Test("sequences of signals and exits bring what comes, and throw what is refused")
  func asyncKinds() async throws {
    let scheduler = try ThreadScheduler()
    var signals = scheduler.signals(SIGCONT).makeAsyncIterator()
    await scheduler.ready()
    kill(getpid(), SIGCONT)
    #expect(try await signals.next() == 1)
    await #expect(throws: SourceError(code: EBUSY)) {
      for try await _ in scheduler.signals(SIGCONT) {}
    }
    await #expect(throws: SourceError(code: ESRCH)) {
      for try await _ in scheduler.exits(of: .max) {}
    }
    await scheduler.stopAndJoin()
    await #expect(throws: StoppedError.self) { _ = try await signals.next() }
  }

  @Test("what threads merge while the scheduler is busy is one call, and nothing comes after the disposal")
  func merging() throws {
    let scheduler = try ThreadScheduler(), log = Log<UInt64>(), busy = Gate(), seen = Counter()
    let event = MergingEvent(on: scheduler, .sum) {
      log.add($0)
      seen.increment()
    }
    scheduler.schedule { busy.wait() }
    onThreads(4) { _ in for _ in 0..<1_000 { event.merge(2) } }
    busy.open()
    #expect(eventually { log.entries == [8_000] })
    event.merge(0)
    event.merge(5)
    #expect(eventually { log.entries == [8_000, 5] })
    let bits = MergingEvent(on: scheduler, .union) { log.add($0) }, again = Gate()
    scheduler.schedule { again.wait() }
    for bit: UInt64 in [1, 2, 1] { bits.merge(bit) }
    event.merge(7)
    event.dispose()
    again.open()
    #expect(eventually { log.entries == [8_000, 5, 3] })
    event.merge(1)
    scheduler.stop()
    scheduler.join()
    #expect(log.entries == [8_000, 5, 3])
  }

  @Test("a task takes what was merged while it was busy as one value, until the disposal")
  func mergedValues() async {
    let (event, values) = MergingEvent.sequence(.sum)
    var iterator = values.makeAsyncIterator()
    for value: UInt64 in [1, 2, 0, 3] { event.merge(value) }
    #expect(await iterator.next() == 6)
    async let next = { await values.first { $0 > 0 } }()
    event.merge(7)
    #expect(await next == 7)
    event.merge(8)
    event.dispose()
    event.merge(9)
    #expect(await iterator.next() == 8)
    #expect(await iterator.next() == nil)
    let (other, others) = MergingEvent.sequence(.union)
    let task = Task { for await _ in others {} }
    task.cancel()
    await task.value
    #expect(other.isDisposed)
  }
}

extension ThreadScheduler {
  /// Returns when what was submitted before has run.
  fileprivate func ready() async { _ = try? await perform {} }
}
