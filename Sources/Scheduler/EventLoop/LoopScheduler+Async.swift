extension LoopScheduler {
  /// Returns a sequence with an element each time `descriptor` can be read.
  ///
  /// An iteration watches the descriptor only while its task waits, so no elements accumulate. It ends when its task is
  /// cancelled. It throws the error that ``onReadable(_:_:onDrop:)`` passes to `onDrop`.
  public func readable(_ descriptor: Int32) -> some AsyncSequence<Void, any Error> & Sendable {
    DescriptorReadiness(scheduler: self, descriptor: descriptor, isReading: true)
  }

  /// Returns a sequence with an element each time `descriptor` can be written: see ``readable(_:)``.
  public func writable(_ descriptor: Int32) -> some AsyncSequence<Void, any Error> & Sendable {
    DescriptorReadiness(scheduler: self, descriptor: descriptor, isReading: false)
  }

  /// Returns a stream of how often `signal` has arrived since the previous element, from this call on: see
  /// ``onSignal(_:_:onDrop:)``.
  ///
  /// Signals that arrive while the task is busy become one element, the sum of their counts.
  public func signals(_ signal: Int32) -> AsyncThrowingStream<Int, any Error> {
    stream(ElementBuffer(capacity: 1) { $0 += $1 }) { buffer in  // a full buffer adds the new count to the unread one
      onSignal(signal, { buffer.put($0) }, onDrop: { buffer.end(throwing: $0) })
    }
  }

  /// Returns a stream of the changes of a file, from this call on: see ``onChange(ofFileAt:kinds:_:onDrop:)``. The
  /// stream ends after ``FileChange/Kinds/gone``.
  ///
  /// Changes that arrive while the task is busy are buffered. When `capacity` of them are unread, the newest becomes
  /// one change of the kind ``FileChange/Kinds/lost``, which also replaces all further changes until the task reads it.
  ///
  /// - Parameters:
  ///   - path: the path of the file or directory that exists now.
  ///   - kinds: the changes to report.
  ///   - capacity: how many unread changes are buffered, at least 1.
  public func changes(
    ofFileAt path: String, kinds: FileChange.Kinds = .all, capacity: Int = 1_024
  ) -> AsyncThrowingStream<FileChange, any Error> {
    // In a full buffer, replaces the newest change by one that stands for it and for `change`. `.lost` replaces the
    // kinds of both, and there is no name, because the two may concern different files. Only `.gone` of either stays,
    // because no change follows it.
    let buffer = ElementBuffer<FileChange>(capacity: max(1, capacity)) { newest, change in
      newest = FileChange(kinds: newest.kinds.union(change.kinds).intersection(.gone).union(.lost), name: nil)
    }
    return stream(buffer) { buffer in
      onChange(
        ofFileAt: path, kinds: kinds,
        {
          buffer.put($0)
          if $0.kinds.contains(.gone) { buffer.end() }  // the stream ends when the buffered changes have been read
        }, onDrop: { buffer.end(throwing: $0) })
    }
  }

  /// Returns a stream of one element, the end of `process`: see ``onExit(of:_:onDrop:)``.
  public func exits(of process: Int32) -> AsyncThrowingStream<ProcessEnd, any Error> {
    stream(ElementBuffer(capacity: 1) { _, _ in }) { buffer in  // merges nothing: a process ends once
      onExit(
        of: process,
        {
          buffer.put($0)
          buffer.end()  // the stream ends when this element has been read
        }, onDrop: { buffer.end(throwing: $0) })
    }
  }

  /// Calls `begin`, which starts a source that appends its events to `buffer`, and returns a stream of these events.
  /// The end, cancellation or release of the stream disposes the source.
  private func stream<Event: Sendable>(
    _ buffer: ElementBuffer<Event>, _ begin: (ElementBuffer<Event>) -> any Disposable
  ) -> AsyncThrowingStream<Event, any Error> {
    let reader = ElementReader(buffer)  // the stream retains it; its release ends the sequence
    buffer.follow(begin(buffer))  // the end of the sequence disposes the source that `begin` returns
    return AsyncThrowingStream { try await reader.buffer.next() }
  }
}

/// A sequence with an element each time a descriptor can be read or written: see ``LoopScheduler/readable(_:)``. Each
/// call of `next` starts a source, and disposes it after its first event.
private struct DescriptorReadiness: AsyncSequence, AsyncIteratorProtocol, Sendable {
  typealias Element = Void
  typealias Failure = any Error

  let scheduler: LoopScheduler
  let descriptor: Int32
  let isReading: Bool  // false: waits until the descriptor can be written

  func makeAsyncIterator() -> Self { self }

  func next() async throws -> Void? { try await next(isolation: nil) }

  /// Suspends the task until the descriptor is ready. Returns nil if the task is cancelled; throws the error that ended
  /// the source.
  func next(isolation: isolated (any Actor)?) async throws -> Void? {
    do {
      try await scheduler.awaiting(isolation: isolation) { (action: AwaitedAction<Void>) in
        let token = SingleAssignmentDisposable()
        let isReady: @Sendable () -> Void = {
          action.run {}  // ends the wait of `awaiting`
          token.dispose()  // the source has served this call of `next`
        }
        let onDrop: @Sendable (SchedulerError) -> Void = { error in action.run { throw error } }
        token.setDisposable(
          isReading
            ? scheduler.onReadable(descriptor, isReady, onDrop: onDrop)
            : scheduler.onWritable(descriptor, isReady, onDrop: onDrop))
        return token  // `awaiting` disposes it if the task is cancelled
      }
    } catch is CancellationError {
      return nil  // ends the iteration without an error
    }
    return ()
  }
}
