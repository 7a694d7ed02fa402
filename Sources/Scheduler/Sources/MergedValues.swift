extension MergingEvent {
  /// Makes an event that a task hears of: what comes while the task is busy is merged into one value.
  ///
  /// ```swift
  /// let (progress, values) = MergingEvent.sequence(.sum)
  /// for await bytes in values { await show(bytes) }  // elsewhere: progress.merge(4_096)
  /// ```
  ///
  /// - Parameter rule: how values become one.
  /// - Returns: the event, and what it is told, for one task to iterate over. The sequence ends after ``MergingEvent/dispose()``, or when the
  ///   event is let go, with what was merged before; when the task is cancelled it ends, and disposes the event.
  public static func sequence(_ rule: Rule) -> (
    event: MergingEvent, values: some AsyncSequence<UInt64, Never> & Sendable
  ) {
    let news = ElementBuffer<Void>(capacity: 1), value = Protected<UInt64>(0), end = EndOfValues(news)
    let event = MergingEvent(on: ImmediateScheduler.instance, rule) { more in
      value.withLock { $0 = rule.merged($0, with: more) }
      end.news.put(())
    }
    news.follow(AnonymousDisposable { [weak event] in event?.dispose() })
    return (event, MergedValues(news: ElementReader(news), value: value))
  }
}

/// What a ``MergingEvent`` is told, as a task takes it: ``MergingEvent/sequence(_:)``.
private struct MergedValues: AsyncSequence, Sendable {
  typealias Element = UInt64
  typealias Failure = Never

  let news: ElementReader<Void>
  let value: Protected<UInt64>

  /// Waits for the next value.
  struct AsyncIterator: AsyncIteratorProtocol {
    let news: ElementReader<Void>
    let value: Protected<UInt64>

    /// All that was merged since the last call, never 0; `nil` when nothing more will come. It suspends the task until there is something.
    mutating func next() async -> UInt64? {
      while (try? await news.buffer.next()) != nil {
        let taken = value.withLock { value in
          defer { value = 0 }
          return value
        }
        if taken != 0 { return taken }
      }
      return nil
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(news: news, value: value) }
}

/// Belongs to the handler, and ends the sequence with it.
private final class EndOfValues: Sendable {
  let news: ElementBuffer<Void>
  init(_ news: ElementBuffer<Void>) { self.news = news }
  deinit { news.end() }
}
