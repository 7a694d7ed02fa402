import Foundation
import Scheduler
import SchedulerRx
import SchedulerTesting
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct DescriptionTests {
  @Test("a queue's description has its name, its target, and its waiting actions") func queue() throws {
    let thread = try ThreadScheduler(name: "described")
    let queue = SerialScheduler(name: "images", target: thread)
    #expect(queue.debugDescription.hasPrefix("SerialScheduler \"images\": queue 0x"))
    #expect(queue.debugDescription.contains("\"images\" on 0x"))
    #expect(queue.debugDescription.hasSuffix(": idle, 0 pending, 0 delayed"))
    queue.suspend()
    for _ in 0..<3 { queue.schedule {} }
    #expect(queue.debugDescription.contains(": suspended 1 times, 3 pending, 0 delayed; first job: closure #1 "))
    let later = queue.schedule(after: .seconds(3_600)) {}
    #expect(queue.debugDescription.contains("3 pending, 1 delayed, the next not before 359"))
    later.dispose()
    queue.resume()
    thread.drain()
    thread.stop()
    synchronously { thread.join() }
  }

  @Test("a thread's description has its running and its waiting actions") func thread() throws {
    let thread = try ThreadScheduler(name: "described")
    let hold = block(thread)
    let later = thread.schedule(after: .seconds(3_600)) {}
    thread.schedule {}
    let description = thread.debugDescription
    #expect(description.hasPrefix("ThreadScheduler \"described\": loop 0x"))
    #expect(description.contains("1 pending, 1 delayed, the next not before 359"))
    #expect(description.contains("\"described\" runs job 0x"))
    hold.open()
    later.dispose()
    thread.stop()
    synchronously { thread.join() }
    #expect(thread.debugDescription.contains("accepts no more work"))
  }

  @Test("each kind of scheduler has a description of its own") func kinds() {
    let pool = ConcurrentScheduler(name: "decoding", priority: .low)
    #expect(pool.debugDescription.hasPrefix("ConcurrentScheduler \"decoding\", priority low: pool 0x"))
    #expect(String(reflecting: pool.wrapping { $0() }).hasPrefix("a wrapper of ConcurrentScheduler \"decoding\""))
    #expect(MainScheduler.instance.debugDescription.hasPrefix("MainScheduler: the main loop, 0x"))
    #expect(SubscriptionScheduler().debugDescription == "SubscriptionScheduler, in the background nothing yet")
    let virtual = TestScheduler()
    virtual.schedule(after: .seconds(1)) {}
    #expect(virtual.debugDescription.contains(", 1 pending, 1 of them delayed, the next not before tick 1000000000"))
    #expect(RecordingScheduler(virtual).debugDescription.hasSuffix(", 0 events"))
    virtual.run()
    let custom = CustomScheduler(name: "widgets") { $0() }
    #expect(custom.debugDescription.hasPrefix("CustomScheduler \"widgets\": target 0x"))
    let later = custom.schedule(after: .seconds(3_600)) {}
    #expect(custom.debugDescription.contains(", 1 delayed, the next not before 359"))
    later.dispose()
    let limited = ConcurrentScheduler(name: "downloads", limit: 2)
    #expect(limited.debugDescription.hasPrefix("ConcurrentScheduler \"downloads\": limit 0x"))
    #expect(limited.debugDescription.contains(": at most 2, 0 on their way or running, 0 pending, 0 delayed"))
    #expect(limited.barrier.debugDescription.hasPrefix("BarrierScheduler \"downloads\": barriers 0x"))
    #expect(HistoricalScheduler().debugDescription.contains(": virtual time 0x"))
    let current = CurrentThreadScheduler.instance
    #expect(current.debugDescription == "CurrentThreadScheduler: runs nothing on this thread")
    current.schedule { #expect(current.debugDescription == "CurrentThreadScheduler: runs an action on this thread") }
    #expect(ImmediateScheduler.instance.debugDescription.hasPrefix("ImmediateScheduler: "))
    #expect(CollapsedTimeScheduler().debugDescription.hasPrefix("CollapsedTimeScheduler: "))
    #expect(UnimplementedScheduler().debugDescription.hasPrefix("UnimplementedScheduler: "))
  }

  @Test("a dump names a queue; a bad descriptor is an error") func dump() throws {
    let queue = SerialScheduler(name: "dumped")
    let file = tmpfile()!
    defer { fclose(file) }
    #expect(Schedulers.dump(to: fileno(file)) == 0)
    var text = [UInt8](repeating: 0, count: Int(lseek(fileno(file), 0, SEEK_END)))
    #expect(pread(fileno(file), &text, text.count, 0) == text.count)
    #expect(String(decoding: text, as: UTF8.self).contains(" \"dumped\" on 0x"))
    #expect(Schedulers.dump(to: -1) == EBADF)
    #expect(throws: SchedulerError.self) { try Schedulers.dump(onSignal: SIGKILL) }
    withExtendedLifetime(queue) {}
  }
}
