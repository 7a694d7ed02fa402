#if Combine
  import OpenCombine
  import Scheduler
  import SchedulerCombine
  import SchedulerRx
  import TestSupport
  import Testing

  @Suite(.nothingIsLeft) struct PublisherBlockingTests {
    @Test("a publisher's values are waited for") func values() throws {
      #expect(try [1, 2, 3].publisher.toBlocking().toArray() == [1, 2, 3])
      #expect(try [1, 2, 3].publisher.toBlocking().last() == 3)
      #expect(try Just(7).toBlocking().single() == 7)
      #expect(try Just(7).toBlocking(timeout: 100.0).single() == 7)
      #expect(try Empty<Int, Never>().toBlocking().first() == nil)
      #expect(try [1, 2, 3].publisher.toBlocking(timeout: .zero).toArray() == [1, 2, 3])
      #expect(throws: SchedulerError.noElements) { try Empty<Int, Never>().toBlocking().single() }
      #expect(throws: SchedulerError.moreThanOneElement) { try [1, 2].publisher.toBlocking().single() }
    }

    @Test("a publisher's failure is thrown, and the values before it are kept") func failure() {
      let source = [1, 2].publisher.setFailureType(to: Failed.self).append(Fail(error: Failed()))
      #expect(throws: Failed()) { try source.toBlocking().toArray() }
      guard case .failed(let elements, let error) = source.toBlocking().materialize() else {
        Issue.record("it has failed")
        return
      }
      #expect(elements == [1, 2])
      #expect(error is Failed)
    }

    @Test("a wait requests no more values than it needs") func demand() throws {
      let requested = Protected(0)
      let counted = (0...).publisher.handleEvents(receiveOutput: { _ in requested.withLock { $0 += 1 } })
      #expect(try counted.toBlocking().first() == 0)
      #expect(requested.withLock { $0 } == 1)
    }

    @Test("a publisher that sends without end is stopped by the timeout") func endless() {
      guard case .failed(let elements, _) = (0...).publisher.toBlocking(timeout: .milliseconds(1)).materialize() else {
        Issue.record("it never completes")
        return
      }
      #expect(elements == Array(0..<elements.count))
    }

    @Test("a publisher on another thread is waited for, and is cancelled by the timeout") func later() throws {
      let thread = try ThreadScheduler(name: "publisher")
      let subject = PassthroughSubject<Int, Never>(), cancelled = Protected(false)
      let source = subject.handleEvents(receiveCancel: { cancelled.withLock { $0 = true } })
      nonisolated(unsafe) let sender = subject  // a subject may be sent to on any thread
      // Again and again: a subject drops values that it is sent before the wait subscribes.
      let sending = thread.schedule(.every(.milliseconds(1), after: .milliseconds(20))) { sender.send(1) }
      #expect(try source.toBlocking(timeout: .seconds(30)).first() == 1)
      #expect(cancelled.withLock { $0 })
      sending.disposeAndWait()
      cancelled.withLock { $0 = false }
      #expect(throws: SchedulerError.timeout) { try source.toBlocking(timeout: .milliseconds(5)).first() }
      #expect(cancelled.withLock { $0 })
      thread.stop()
      thread.join()
    }

    @Test("nothing of a publisher is kept after the wait") func leaks() throws {
      let gone = Protected(0)
      do {
        let subject = PassthroughSubject<Tracked, Never>()
        _ = subject.toBlocking(timeout: .milliseconds(1)).materialize()
        let values = [Tracked(gone), Tracked(gone)]
        #expect(try values.publisher.append(subject).toBlocking().first() != nil)
      }
      #expect(gone.withLock { $0 } == 2)
    }

    @Test("a wait that would hold up the queue it needs is refused") func deadlock() {
      let queue = SerialScheduler(name: "needed")
      let refused = queue.sync { () -> Bool in
        do {
          _ = try Just(1).toBlocking(needing: queue).first()
          return false
        } catch { return error as? SchedulerError == .deadlock }
      }
      #expect(refused)
    }
  }
#endif
