import Foundation
import Scheduler
import TestSupport
import Testing

/// The cause of an event, for each kind of source.
struct Stage {
  let ends = Ends(), folder = makeFolder()
  let child: pid_t

  init(_ kind: SourceKind) { child = kind == .exit ? spawn("exec sleep 600") : 0 }

  func leave() {
    rmdir(folder + "/inside")
    rmdir(folder)
    guard child > 0 else { return }
    kill(child, SIGKILL)
    waitpid(child, nil, 0)  // unless the source has reaped it
  }
}

enum SourceKind: CaseIterable, Sendable {
  case readable, writable, signal, exit, change, merged

  /// Has `scheduler` wait. Returns the source, and what brings its event about. `signal`: the one of the caller's
  /// suite, because it has one source.
  func begin(
    on scheduler: LoopScheduler, _ stage: Stage, signal: Int32 = SIGURG, _ handler: @escaping @Sendable () -> Void
  ) -> (source: any Disposable, provoke: () -> Void) {
    switch self {
    case .readable: return (scheduler.onReadable(stage.ends.reading, handler), stage.ends.say)
    case .writable: return (scheduler.onWritable(stage.ends.writing, handler), {})
    case .signal: return (scheduler.onSignal(signal) { _ in handler() }, { kill(getpid(), signal) })
    case .exit: return (scheduler.onExit(of: stage.child) { _ in handler() }, { kill(stage.child, SIGKILL) })
    case .change:
      let source = scheduler.onChange(ofFileAt: stage.folder, kinds: .created) { _ in handler() }
      return (
        source,
        {
          rmdir(stage.folder + "/inside")
          mkdir(stage.folder + "/inside", 0o700)
        }
      )
    case .merged:
      let event = MergingEvent(on: scheduler, .sum) { _ in handler() }
      return (event, { event.merge(1) })
    }
  }
}

/// The same for each kind of source, on each scheduler that has them.
extension SourceTests {
  // LS1, LS5
  @Test(
    "a handler has the scheduler as the current one, and may dispose its own source, whose captures are then released",
    arguments: SchedulerUnderTest.loops, SourceKind.allCases)
  func disposedInside(_ test: SchedulerUnderTest, kind: SourceKind) throws {
    let made = try test.makeBoth(), scheduler = made.scheduler as! LoopScheduler, current = made.current
    let stage = Stage(kind), log = Log<Bool>(), own = SingleAssignmentDisposable(), busy = Gate()
    scheduler.schedule { busy.wait() }  // nothing comes before `own` has the source
    weak var seen: Token?
    let provoke: () -> Void
    do {
      let token = Token(), source: any Disposable
      seen = token
      (source, provoke) = kind.begin(on: scheduler, stage) { [token] in
        log.add(Schedulers.current === current)
        own.dispose()
        withExtendedLifetime(token) {}
      }
      own.setDisposable(source)
    }
    busy.open()
    if kind != .writable { scheduler.drain() }  // so that it waits
    provoke()
    #expect(eventually { seen == nil })
    #expect(log.entries == [true])
    provoke()
    scheduler.drain()
    #expect(log.entries == [true])
    scheduler.end()
    stage.leave()
  }

  // LS1, LS4
  @Test(
    "once a source is disposed on another thread, no handler begins, and its captures are released",
    arguments: SchedulerUnderTest.loops, SourceKind.allCases)
  func disposedOutside(_ test: SchedulerUnderTest, kind: SourceKind) throws {
    let scheduler = try test.makeLoop()
    for round in 0..<Scale.count(kind == .exit ? 20 : 200) {
      let stage = Stage(kind), isOver = Protected(false), stale = Counter()
      weak var seen: Token?
      let source: any Disposable, provoke: () -> Void
      do {
        let token = Token()
        seen = token
        (source, provoke) = kind.begin(on: scheduler, stage) { [token] in
          if isOver.read() { stale.increment() }
          withExtendedLifetime(token) {}
        }
      }
      if round % 3 > 0 { scheduler.drain() }
      provoke()
      if round % 2 == 0 { Thread.sleep(forTimeInterval: 0.000_05) }
      source.disposeAndWait()
      isOver.write(true)
      #expect(seen == nil)
      provoke()
      scheduler.drain()
      #expect(stale.value == 0)
      stage.leave()
    }
    scheduler.end()
  }
}
