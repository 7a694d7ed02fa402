import Foundation
import Scheduler
import TestSupport
import Testing

/// One after the other, because a signal has one source.
@Suite(.nothingIsLeft, .serialized) struct SourceTests {
  @Test(
    "one descriptor can be waited for by several sources, to read and to write", arguments: SchedulerUnderTest.loops)
  func several(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.makeLoop(), ends = Ends(), readers = [Counter(), Counter()], writers = Counter()
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
    scheduler.end()
    #expect(readers.map(\.value) == counts)
  }

  @Test("a dropped source reports it: its scheduler was stopped, before or meanwhile")
  func dropped() throws {
    let scheduler = try ThreadScheduler(), ends = Ends(), log = Log<SchedulerError>()
    let source = scheduler.onReadable(ends.reading, {}, onDrop: { log.add($0) })
    scheduler.schedule {}
    scheduler.stop()
    scheduler.join()
    #expect(log.entries == [.stopped])
    #expect(source.isDisposed)
    let late = scheduler.onReadable(ends.reading, {}, onDrop: { log.add($0) })
    #expect(log.entries == [.stopped, .stopped])
    #expect(late.isDisposed)
  }

  @Test(
    "refusals of the system are errors: no descriptor, a regular file, no process, a signal that is taken, no such file",
    arguments: SchedulerUnderTest.loops)
  func refused(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.makeLoop(), codes = Log<Int32>()
    let onDrop: @Sendable (SchedulerError) -> Void = { codes.add($0.systemError ?? -1) }
    let file = open("/proc/self/exe", O_RDONLY)
    defer { close(file) }
    signal(OwnSignal.taken) { _ in }
    defer { signal(OwnSignal.taken, SIG_DFL) }
    _ = scheduler.onReadable(-1, {}, onDrop: onDrop)
    _ = scheduler.onReadable(file, {}, onDrop: onDrop)
    _ = scheduler.onExit(of: Int32.max, { _ in }, onDrop: onDrop)
    _ = scheduler.onSignal(OwnSignal.taken, { _ in }, onDrop: onDrop)
    _ = scheduler.onSignal(SIGKILL, { _ in }, onDrop: onDrop)
    _ = scheduler.onChange(ofFileAt: "/no such file", { _ in }, onDrop: onDrop)
    // Before the scheduler is stopped: the codes would report that instead.
    #expect(eventually { codes.entries.count == 6 })
    scheduler.end()
    #expect(codes.entries == [EBADF, EPERM, ESRCH, EBUSY, EINVAL, ENOENT])
  }

  @Test("a signal, the end of a child and a change of a file are reported", arguments: SchedulerUnderTest.loops)
  func kinds(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.makeLoop(), log = Log<String>(), folder = makeFolder()
    let sources = [
      scheduler.onSignal(SIGURG) { log.add("signal \($0)") },
      scheduler.onChange(ofFileAt: folder, kinds: .created) { log.add("created \($0.name ?? "")") },
    ]
    scheduler.drain()
    kill(getpid(), SIGURG)
    #expect(eventually { log.entries.last == "signal 1" })
    mkdir(folder + "/inside", 0o700)
    #expect(eventually { log.entries.last == "created inside" })
    for source in sources { source.dispose() }

    let child = spawn("exit 3")
    let ended = scheduler.onExit(of: child) { log.add("\($0)") }
    #expect(eventually { log.entries.last == "exited(status: 3)" })
    #expect(eventually { ended.isDisposed })
    scheduler.end()
    rmdir(folder + "/inside")
    rmdir(folder)
  }

  @Test("a task reads the events, at its own pace, and ends by cancellation", arguments: SchedulerUnderTest.loops)
  func asyncReads(_ test: SchedulerUnderTest) async throws { try await read(on: try test.makeLoop()) }

  private func read(on scheduler: LoopScheduler) async throws {
    let ends = Ends(), read = Counter()
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
    var writable = scheduler.writable(ends.writing).makeAsyncIterator()
    for _ in 0..<3 {
      let ready: Void? = try await writable.next()
      #expect(ready != nil)
    }
    await #expect(throws: SchedulerError.system(EBADF)) { for try await _ in scheduler.writable(-1) {} }
    synchronously { scheduler.end() }
    guard scheduler is ThreadScheduler else { return }
    await #expect(throws: SchedulerError.stopped) { for try await _ in scheduler.readable(ends.reading) {} }
  }

  @Test(
    "sequences of signals, exits and changes deliver the events, and throw refusals",
    arguments: SchedulerUnderTest.loops)
  func asyncKinds(_ test: SchedulerUnderTest) async throws {
    let scheduler = try test.makeLoop()
    try await receive(on: scheduler)
    synchronously { scheduler.drain() }  // the sources are removed
    let own = scheduler.onSignal(SIGCONT) { _ in }
    await #expect(throws: SchedulerError.system(EBUSY)) { for try await _ in scheduler.signals(SIGCONT) {} }
    own.dispose()
    await #expect(throws: SchedulerError.system(ESRCH)) { for try await _ in scheduler.exits(of: .max) {} }
    await #expect(throws: SchedulerError.system(ENOENT)) {
      for try await _ in scheduler.changes(ofFileAt: "/no such") {}
    }
    guard let thread = scheduler as? ThreadScheduler else { return synchronously { scheduler.drain() } }
    var signals = thread.signals(SIGCONT).makeAsyncIterator()
    await thread.stopAndJoin()
    await #expect(throws: SchedulerError.stopped) { _ = try await signals.next() }
  }

  private func receive(on scheduler: LoopScheduler) async throws {
    let folder = makeFolder()
    var signals = scheduler.signals(SIGCONT).makeAsyncIterator()
    var changes = scheduler.changes(ofFileAt: folder, kinds: .created).makeAsyncIterator()
    var ends = scheduler.exits(of: spawn("exit 4")).makeAsyncIterator()
    synchronously { scheduler.drain() }  // they wait
    kill(getpid(), SIGCONT)
    #expect(try await signals.next() == 1)
    mkdir(folder + "/inside", 0o700)
    #expect(try await changes.next()?.name == "inside")
    #expect(try await ends.next() == .exited(status: 4))
    #expect(try await ends.next() == nil)
    rmdir(folder + "/inside")
    rmdir(folder)
  }

  @Test(
    "merges of threads while the scheduler is busy are one call, and none follows the disposal",
    arguments: SchedulerUnderTest.loops)
  func merging(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.makeLoop(), log = Log<UInt64>(), busy = Gate()
    let event = MergingEvent(on: scheduler, .sum) { log.add($0) }
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
    scheduler.end()
    #expect(log.entries == [8_000, 5, 3])
  }

  @Test("merges while the handler runs on a concurrent scheduler wait for its end, and are one call")
  func mergedBeside() {
    // Two at a time: an action submitted behind a second call runs after it, beside the first.
    let scheduler = ConcurrentScheduler(limit: 2), log = Log<UInt64>(), entered = Gate(), leave = Gate(), next = Gate()
    let event = MergingEvent(on: scheduler, .sum) { value in
      log.add(value)
      guard value == 1 else { return }
      entered.open()
      leave.wait()
      log.add(0)
    }
    event.merge(1)
    #expect(entered.wait())
    event.merge(2)
    event.merge(3)
    scheduler.schedule { next.open() }
    #expect(next.wait())
    #expect(log.entries == [1])
    leave.open()
    #expect(eventually { log.entries.count == 3 })
    #expect(log.entries == [1, 0, 5])
    event.dispose()
  }

  @Test("merged values are lost when their scheduler drops the call, and values merged later are reported")
  func mergedAndDropped() {
    let work = Protected<[@Sendable () -> Void]>([]), log = Log<UInt64>()
    let event = MergingEvent(on: CustomScheduler { each in work.append(each) }, .sum) { log.add($0) }
    event.merge(1)
    #expect(work.read { $0.count } == 1)
    work.write([])  // unrun
    event.merge(2)
    for each in work.exchange([]) { each() }
    #expect(log.entries == [2])
    event.dispose()
  }

  @Test("a sum that is too large is held at the largest number") func mergedAtTheEnd() {
    let log = Log<UInt64>()
    let event = MergingEvent(on: ImmediateScheduler.instance, .sum) { log.add($0) }, queue = SerialScheduler()
    let later = MergingEvent(on: queue, .sum) { log.add($0) }
    queue.suspend()
    later.merge(.max - 1)
    later.merge(1)
    later.merge(5)
    queue.resume()
    queue.drain()
    event.merge(.max)
    #expect(log.entries == [.max, .max])
    event.dispose()
    later.dispose()
  }

  @Test(
    "the end of a child is reported: by a signal, or reaped elsewhere",
    arguments: SchedulerUnderTest.loops)
  func childEnds(_ test: SchedulerUnderTest) throws {
    let scheduler = try test.makeLoop(), log = Log<ProcessEnd>()
    let killed = spawn("exec sleep 600"), reaped = spawn("exec sleep 600")
    let sources = [killed, reaped].map { scheduler.onExit(of: $0) { log.add($0) } }
    scheduler.drain()  // they wait
    kill(killed, SIGKILL)
    #expect(eventually { log.entries == [.terminated(signal: SIGKILL)] })
    let leave = block(scheduler)
    kill(reaped, SIGKILL)
    #expect(waitpid(reaped, nil, 0) == reaped)
    leave.open()
    #expect(eventually { log.entries == [.terminated(signal: SIGKILL), .reapedElsewhere] })
    #expect(eventually { sources.allSatisfy(\.isDisposed) })
    scheduler.end()
  }

  @Test("a task takes the merges of its busy time as one value, until the disposal")
  func mergedValues() async {
    let (event, values) = MergingEvent.sequence(.sum)
    var iterator = values.makeAsyncIterator()
    for value: UInt64 in [1, 2, 0, 3] { event.merge(value) }
    #expect(await iterator.next(isolation: #isolation) == 6)
    async let next = { await values.first { $0 > 0 } }()
    event.merge(7)
    #expect(await next == 7)
    event.merge(8)
    event.dispose()
    event.merge(9)
    #expect(await iterator.next(isolation: #isolation) == 8)
    #expect(await iterator.next(isolation: #isolation) == nil)
    let (other, others) = MergingEvent.sequence(.union)
    let task = Task { for await _ in others {} }
    task.cancel()
    await task.value
    #expect(other.isDisposed)
  }
}

// MARK: - what a source has had

extension SourceTests {
  @Test("a signal can be taken by another loop as soon as it was disposed, however busy the first one is")  // LS2
  func signalPasses() throws {
    let first = try ThreadScheduler(name: "first"), second = try ThreadScheduler(name: "second")
    let came = Counter(), dropped = Counter()
    for round in 1...20 {
      let early = first.onSignal(SIGUSR2) { _ in }
      first.drain()
      let door = ActionGroup(entered: 1)
      first.schedule { door.wait() }
      early.dispose()
      let late = second.onSignal(SIGUSR2, { _ in came.increment() }, onDrop: { _ in dropped.increment() })
      second.drain()
      kill(getpid(), SIGUSR2)
      #expect(eventually { came.value == round })
      door.leave()
      first.drain()
      late.dispose()
      second.drain()
    }
    #expect(came.value == 20 && dropped.value == 0)
    first.end()
    second.end()
  }

  @Test(
    "a signal is its source's from the call on, however busy the thread is, until the source ends or is refused",
    .enabled(if: Scale.signalsAreExact))
  func signalAtOnce() throws {
    let thread = try ThreadScheduler(name: "busy"), came = Log<Int>(), dropped = Log<SchedulerError>()
    let door = ActionGroup(entered: 1)
    thread.schedule { door.wait() }
    let kept = thread.onSignal(OwnSignal.early) { came.add($0) }
    for _ in 0..<2 { kill(getpid(), OwnSignal.early) }  // whose own action ends the process
    // refused when the thread comes to it
    let second = thread.onSignal(OwnSignal.early, { _ in }, onDrop: { dropped.add($0) })
    #expect(isTaken(OwnSignal.early))
    door.leave()
    // of a real-time signal each is delivered
    #expect(eventually { came.entries.reduce(0, +) == 2 && second.isDisposed })
    kept.dispose()
    #expect(dropped.entries == [.system(EBUSY)] && !isTaken(OwnSignal.early))
    thread.drain()
    for isStopped in [false, true] {  // calls that have not begun end: by another thread, their own, or a drop
      let door = ActionGroup(entered: 1)
      let source = Protected<(any Disposable)?>(nil)
      thread.schedule {
        door.wait()
        if !isStopped { source.read()?.dispose() }
      }
      source.write(thread.onSignal(OwnSignal.early) { _ in })
      #expect(isTaken(OwnSignal.early))
      if isStopped { thread.stop(.dropOutstanding) }
      door.leave()
      #expect(eventually { !isTaken(OwnSignal.early) })
    }
    thread.join()
    _ = thread.onSignal(OwnSignal.early, { _ in }, onDrop: { dropped.add($0) })
    #expect(dropped.entries.last == .stopped && !isTaken(OwnSignal.early))
  }

  /// Whether the signal has another action than its own.
  private func isTaken(_ signal: Int32) -> Bool {
    var action = sigaction()
    sigaction(signal, nil, &action)
    return action.__sigaction_handler.sa_handler.map { unsafeBitCast($0, to: Int.self) } != nil
  }

  @Test("a descriptor is the system's no more once its source was disposed, though a copy of it is open")  // LS2
  func descriptorWithCopy() throws {
    let thread = try ThreadScheduler(name: "copies"), calls = Counter()
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    let copy = dup(ends[0])
    let source = thread.onReadable(ends[0]) { calls.increment() }
    thread.drain()
    let door = ActionGroup(entered: 1)
    thread.schedule { door.wait() }
    source.dispose()
    close(ends[0])
    door.leave()
    _ = write(ends[1], "x", 1)
    thread.drain()
    let usedBefore = thread.processorTime
    usleep(200_000)
    #expect(calls.value == 0 && thread.processorTime - usedBefore < .milliseconds(50), "the loop spins")
    close(copy)
    close(ends[1])
    thread.end()
  }

  @Test(
    "the peer of a socket sees its close while the thread is busy, once its sources were disposed or their tasks cancelled",
    arguments: [false, true])
  func closedWhileBusy(_ byTasks: Bool) async throws {
    let thread = try ThreadScheduler(name: "busy")
    for round in 0..<Scale.count(20) {
      var ends: [Int32] = [0, 0]
      #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
      let here = ends[0], begun = Gate(), door = Gate()
      var buffer = [UInt8](repeating: 0, count: 4_096)  // fills the socket, so that both wait
      while send(here, &buffer, buffer.count, Int32(MSG_DONTWAIT)) > 0 {}
      let tasks =
        !byTasks
        ? []
        : [true, false].map { isReading in
          Task {
            if isReading {
              for try await _ in thread.readable(here) {}
            } else {
              for try await _ in thread.writable(here) {}
            }
          }
        }
      let sources = byTasks ? [] : [thread.onReadable(here) {}, thread.onWritable(here) {}]
      if round % 2 == 0 { try await thread.perform {} }  // the sources wait
      thread.schedule {
        begun.open()
        door.wait()
      }
      synchronously { _ = begun.wait() }
      for task in tasks { task.cancel() }
      for task in tasks { try await task.value }
      for source in sources { source.dispose() }
      close(here)
      let isAtEnd = synchronously {
        eventually(within: 30) {  // a process that another test starts has a copy until its `exec`
          var count = 1
          while count > 0 { count = recv(ends[1], &buffer, buffer.count, Int32(MSG_DONTWAIT)) }
          return count == 0  // -1: no more bytes, but the socket is open
        }
      }
      #expect(isAtEnd)
      door.open()
      close(ends[1])
    }
    await thread.stopAndJoin()
  }

  @Test("a source whose number is another file's ends like any other", arguments: ["/dev/null", "/", "/proc/self/exe"])
  func numberReplaced(_ path: String) async throws {
    for way in 0..<4 {
      let thread = try ThreadScheduler(name: "replaced"), errors = Log<SchedulerError>()
      var ends: [Int32] = [0, 0]
      #expect(pipe(&ends) == 0)
      let number = ends[0]
      let source = thread.onReadable(number, {}, onDrop: { errors.add($0) })
      // a task adds the number again for each element, which reports to other sources that it is another file's
      let task = way == 3 ? Task { for try await _ in thread.readable(number) {} } : nil
      try await thread.perform {}
      let file = open(path, O_RDONLY)
      dup2(file, number)  // as a daemon does with its standard input
      close(file)
      switch way {
      case 0: source.dispose()
      case 1: try await thread.perform { source.dispose() }
      case 2:  // the number is the one of another file, which cannot be waited for
        await #expect(throws: SchedulerError.system(EPERM)) { for try await _ in thread.readable(number) {} }
        #expect(errors.entries == [.system(EBADF)])
      default: break
      }
      task?.cancel()
      _ = await task?.result
      await thread.stopAndJoin()
      if way < 3 {
        #expect(errors.entries == (way < 2 ? [] : [.system(EBADF)]))
      } else {
        #expect(errors.entries.count == 1)
      }
      close(number)
      close(ends[1])
    }
  }

  @Test("each wait for a child gets its status: callbacks and sequences, on several schedulers, at once and afterwards")
  func childWaitedForTwice() async throws {
    let threads = [try ThreadScheduler(name: "first"), try ThreadScheduler(name: "second")]
    for round in 0..<Scale.count(20) {
      let child = spawnReading("read line; exit 7"), log = Log<ProcessEnd>()
      let tasks = threads.flatMap { thread in
        (0..<2).map { _ in
          Task { try await thread.exits(of: child.process).reduce(into: [ProcessEnd]()) { $0.append($1) } }
        }
      }
      let sources = threads.map { $0.onExit(of: child.process) { log.add($0) } }
      if round % 2 == 0 { for thread in threads { try await thread.perform {} } }
      close(child.input)
      for task in tasks { #expect(try await task.value == [.exited(status: 7)]) }
      for thread in threads {
        #expect(
          try await thread.exits(of: child.process).reduce(into: [ProcessEnd]()) { $0.append($1) } == [
            .exited(status: 7)
          ])
      }
      for thread in threads { try await thread.perform {} }
      #expect(synchronously { eventually { sources.allSatisfy(\.isDisposed) } })
      #expect(log.entries == [.exited(status: 7), .exited(status: 7)])
    }
    for thread in threads { await thread.stopAndJoin() }
  }

  @Test("a source and a sequence of changes end when the file is deleted", arguments: SchedulerUnderTest.loops)
  func gone(_ test: SchedulerUnderTest) async throws {
    let scheduler = try test.makeLoop()
    for kinds in [FileChange.Kinds.all, .created] {
      let folder = makeFolder(), log = Log<FileChange.Kinds>()
      weak var seen: Token?
      let source: any Disposable
      do {
        let token = Token()
        seen = token
        source = scheduler.onChange(ofFileAt: folder, kinds: kinds) { [token] in
          log.add($0.kinds)
          withExtendedLifetime(token) {}
        }
      }
      let changes = scheduler.changes(ofFileAt: folder, kinds: kinds)
      synchronously { scheduler.drain() }
      rmdir(folder)
      var last: FileChange.Kinds?
      for try await change in changes { last = change.kinds }
      #expect(last == .gone)
      #expect(synchronously { eventually { source.isDisposed && seen == nil } })
      #expect(log.entries.last == .gone && log.entries.filter { $0 == .gone }.count == 1)
    }
    synchronously { scheduler.end() }
  }

  @Test("an event that is merged from inside of its handler has a constant stack", arguments: [false, true])
  func mergedInside(_ isQueued: Bool) throws {
    let scheduler: any ImmediateSchedulerType = isQueued ? SerialScheduler(name: "merged") : ImmediateScheduler.instance
    let count = Scale.count(250_000), calls = Counter(), event = Protected<MergingEvent?>(nil)
    event.write(
      MergingEvent(on: scheduler, .sum) { _ in if calls.increment() < count { event.read()?.merge(1) } })
    withSmallStack { event.read()?.merge(1) }
    #expect(eventually { calls.value == count })
    event.read()?.dispose()
    event.write(nil)
  }
}

extension ThreadScheduler {
  fileprivate var processorTime: Duration {
    let time = Protected(Duration.zero), latch = ActionGroup(entered: 1)
    schedule {
      var used = timespec()
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used)
      time.write(.seconds(used.tv_sec) + .nanoseconds(used.tv_nsec))
      latch.leave()
    }
    latch.wait()
    return time.read()
  }

  /// How a source ends.
  enum End: CaseIterable { case disposed, disposedInside, stopped, dropped, refused }

  @Test("the handler of a source is released once, when its descriptor may be closed", arguments: End.allCases)
  func released(_ end: End) throws {
    let thread = try ThreadScheduler(), ends = Counter(), calls = Counter(), token = SingleAssignmentDisposable()
    var pipeEnds: [Int32] = [0, 0]
    pipe(&pipeEnds)
    let (reading, writing) = (pipeEnds[0], pipeEnds[1])
    write(writing, "x", 1)
    if end == .refused {
      thread.stop()
      synchronously { thread.join() }
    }
    let closing = Protected<DeathNotice?>(
      DeathNotice {
        ends.increment()
        close(reading)
      })
    token.setDisposable(
      thread.onReadable(
        reading,
        { [closing = closing.exchange(nil)!] in
          withExtendedLifetime(closing) {
            var byte: UInt8 = 0
            read(reading, &byte, 1)
            if end == .disposedInside { token.dispose() }
            #expect(ends.value == 0)
            calls.increment()
          }
        }, onDrop: { _ in }))
    if end != .refused { #expect(eventually { calls.value > 0 }) }
    if end == .disposed { token.disposeAndWait() }
    if end != .refused {
      thread.stop(end == .dropped ? .dropOutstanding : .runOutstanding)
      synchronously { thread.join() }
    }
    #expect(eventually { ends.value == 1 })
    close(writing)
  }
}
