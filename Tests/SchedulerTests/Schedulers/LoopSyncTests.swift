import Dispatch
import Scheduler
import SchedulerDispatch
import TestSupport
import Testing

private struct Failed: Error {}

@Suite(.nothingIsLeft) struct LoopSyncTests {
  @Test("sync runs on the thread, in order, and returns the result or throws the error") func sync() throws {
    let thread = try ThreadScheduler(name: "sync"), log = Log<Int>(), id = Protected(UInt32(0))
    thread.schedule { id.write(System.threadID) }
    for n in 0..<100 { thread.schedule { log.add(n) } }
    let (seen, current) = synchronously {
      thread.sync { (System.threadID, Schedulers.current.map { ObjectIdentifier($0) }) }
    }
    #expect(seen == id.read() && current == ObjectIdentifier(thread))
    #expect(log.entries == Array(0..<100))
    #expect(throws: Failed.self) { try synchronously { try thread.sync { throw Failed() } } }
    thread.stop()
    synchronously { thread.join() }
  }

  @Test("trySync throws on the thread itself, on a stopped scheduler, and where two wait for each other") func refused()
    throws
  {
    let thread = try ThreadScheduler(name: "one"), other = try ThreadScheduler(name: "other")
    let found = Protected<[SchedulerError]>([])
    let note: @Sendable (() throws -> Void) -> Void = { body in
      do { try body() } catch { found.withLock { $0.append(error as! SchedulerError) } }
    }
    synchronously {
      thread.sync { note { try thread.trySync { _ = Issue.record("it has run") } } }
      thread.sync { other.sync { note { try thread.trySync { _ = Issue.record("it has run") } } } }
    }
    #expect(found.read() == [.deadlock, .deadlock])
    for each in [thread, other] {
      each.stop()
      synchronously { each.join() }
    }
    #expect(throws: SchedulerError.stopped) { try synchronously { try thread.trySync {} } }
  }

  @Test("a DispatchQueue as a scheduler keeps the order of its blocks, and reports whether it is serial")
  func dispatchQueue() {
    let queue = DispatchQueue(label: "adapted"), log = Log<Int>()
    let scheduler = DispatchQueueScheduler(queue, isSerial: true)
    for n in 0..<100 { if n % 2 == 0 { scheduler.schedule { log.add(n) } } else { queue.async { log.add(n) } } }
    synchronously { queue.sync {} }
    #expect(log.entries == Array(0..<100))
    #expect(scheduler.isSerial && scheduler.debugDescription.contains("serial, \"adapted\""))
    let current = Protected(false), done = Gate()
    scheduler.schedule(after: .milliseconds(1)) {
      current.write(Schedulers.current === scheduler.scheduler)
      done.open()
    }
    #expect(synchronously { done.wait() } && current.read())
  }
}
