extension LoopScheduler {
  /// Returns a sequence with an element each time `descriptor` can be read.
  ///
  /// An iteration watches the descriptor only while its task waits, so a slow reader is not flooded. It ends when its task is cancelled.
  public func readable(_ descriptor: Int32) -> some AsyncSequence<Void, any Error> & Sendable {
    DescriptorReadiness(scheduler: self, descriptor: descriptor, isReading: true)
  }

  /// Returns a sequence with an element each time `descriptor` can be written: see ``readable(_:)``.
  public func writable(_ descriptor: Int32) -> some AsyncSequence<Void, any Error> & Sendable {
    DescriptorReadiness(scheduler: self, descriptor: descriptor, isReading: false)
  }

  /// Returns a stream of how often `signal` has arrived since the last element, from this call on: see ``onSignal(_:_:onDrop:)``.
  public func signals(_ signal: Int32) -> AsyncThrowingStream<Int, any Error> {
    stream { buffer in onSignal(signal, { buffer.put($0) }, onDrop: { buffer.end(throwing: $0) }) }
  }

  /// Returns a stream of the changes of a file, from this call on: see ``onChange(ofFileAt:kinds:_:onDrop:)``. Unread changes are buffered.
  ///
  /// - Parameters:
  ///   - path: the path of the file or directory that exists now.
  ///   - kinds: the changes to report.
  public func changes(
    ofFileAt path: String, kinds: FileChange.Kinds = .all
  ) -> AsyncThrowingStream<FileChange, any Error> {
    stream { buffer in onChange(ofFileAt: path, kinds: kinds, { buffer.put($0) }, onDrop: { buffer.end(throwing: $0) })
    }
  }

  /// Returns a stream of one element, the end of `process`: see ``onExit(of:_:onDrop:)``.
  public func exits(of process: Int32) -> AsyncThrowingStream<ProcessEnd, any Error> {
    stream { buffer in
      onExit(
        of: process,
        {
          buffer.put($0)
          buffer.end()
        }, onDrop: { buffer.end(throwing: $0) })
    }
  }

  /// Returns a stream of the events that the source, started by `begin`, puts into the buffer. The end of the stream disposes the source.
  private func stream<Event: Sendable>(
    _ begin: (ElementBuffer<Event>) -> any Disposable
  ) -> AsyncThrowingStream<Event, any Error> {
    let buffer = ElementBuffer<Event>(), reader = ElementReader(buffer)
    buffer.follow(begin(buffer))
    return AsyncThrowingStream { try await reader.buffer.next() }
  }
}

/// A sequence with an element each time a descriptor can be read or written: see ``LoopScheduler/readable(_:)``.
private struct DescriptorReadiness: AsyncSequence, AsyncIteratorProtocol, Sendable {
  typealias Element = Void
  typealias Failure = any Error

  let scheduler: LoopScheduler
  let descriptor: Int32
  let isReading: Bool

  func makeAsyncIterator() -> Self { self }

  func next() async throws -> Void? { try await next(isolation: nil) }

  func next(isolation: isolated (any Actor)?) async throws -> Void? {
    do {
      try await scheduler.awaiting(isolation: isolation) { (action: AwaitedAction<Void>) in
        let token = SingleAssignmentDisposable()
        let isReady: @Sendable () -> Void = {
          action.run {}
          token.dispose()
        }
        let onDrop: @Sendable (SchedulerError) -> Void = { error in action.run { throw error } }
        token.setDisposable(
          isReading
            ? scheduler.onReadable(descriptor, isReady, onDrop: onDrop)
            : scheduler.onWritable(descriptor, isReady, onDrop: onDrop))
        return token
      }
    } catch is CancellationError {
      return nil
    }
    return ()
  }
}
