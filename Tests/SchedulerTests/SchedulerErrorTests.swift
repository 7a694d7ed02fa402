import Foundation
import Scheduler
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct SchedulerErrorTests {
  static let named: [SchedulerError] = [.stopped, .refused, .deadlock, .timeout, .noElements, .moreThanOneElement]

  @Test("errors of one reason are equal, of two are not, and each has a description") func equality() {
    let all = Self.named + [.system(EAGAIN), .system(EBADF)]
    #expect(Set(all).count == all.count)
    #expect(Set(all.map(\.description)).count == all.count)
    #expect(SchedulerError.system(EBADF) == .system(EBADF))
    #expect(SchedulerError.system(EBADF).description == "the system refuses: Bad file descriptor (error 9)")
  }

  @Test("an error has the system's number if the system refuses, and only then") func systemError() {
    #expect(SchedulerError.system(ENOMEM).systemError == ENOMEM)
    #expect(SchedulerError.system(.max).systemError == .max)
    #expect(Self.named.allSatisfy { $0.systemError == nil })
  }

  @Test("a catch clause names a reason, and lets others pass", arguments: named) func matching(_ error: SchedulerError)
  {
    for each in Self.named {
      func fail() throws { throw error }
      var isCaught = false
      do { try fail() } catch each { isCaught = true } catch {}
      #expect(isCaught == (each == error))
    }
    struct Other: Error {}
    #expect(!(error ~= Other()))
    #expect(!(error ~= CancellationError()))
  }

  @Test("a switch names reasons") func switching() {
    func word(_ error: SchedulerError) -> String {
      switch error {
      case .stopped: "stopped"
      case .system(EBADF): "descriptor"
      default: "other"
      }
    }
    #expect(
      [.stopped, .system(EBADF), .system(EPERM), .timeout].map(word) == ["stopped", "descriptor", "other", "other"])
  }

  @Test("all failures throw this type: waits, starts, queues, sleeps") func everywhere() async throws {
    #expect(throws: SchedulerError.timeout) { try RunLoopLock(timeout: .zero).run() }
    #expect(throws: SchedulerError.system(EINVAL)) { try ThreadScheduler(processors: [-1]) }
    let thread = try ThreadScheduler(), queue = SerialScheduler(target: thread)
    await thread.stopAndJoin()
    #expect(throws: SchedulerError.stopped) { try thread.trySchedule {} }
    #expect(throws: SchedulerError.stopped) { try queue.trySync {} }
    await #expect(throws: SchedulerError.stopped) { try await thread.perform {} }
    await #expect(throws: SchedulerError.stopped) { try await thread.sleep(for: .seconds(1)) }
    let drops = Protected<[SchedulerError]>([])
    thread.schedule({}, onDrop: { error in drops.withLock { $0.append(error) } })
    thread.onReadable(0, {}, onDrop: { error in drops.withLock { $0.append(error) } }).dispose()
    #expect(drops.read() == [.refused, .stopped])
  }
}
