extension MergingEvent {
  /// Makes an event, and a sequence of its values for a task. Values that are merged while the task is busy become one.
  ///
  /// ```swift
  /// let (progress, values) = MergingEvent.sequence(.sum)
  /// for await bytes in values { await show(bytes) }  // elsewhere: progress.merge(4_096)
  /// ```
  ///
  /// - Parameter rule: how values are merged.
  /// - Returns: the event, and the sequence of its values, for one task to iterate over. When the event is disposed or
  ///   released, the sequence ends after the value merged so far. When the task is cancelled, the sequence ends and
  ///   disposes the event.
  public static func sequence(_ rule: Rule) -> (
    event: MergingEvent, values: some AsyncSequence<UInt64, Never> & Sendable
  ) {
    // `wakeups` holds at most one element, which wakes the task. `value` holds what was merged and is not read yet.
    let wakeups = ElementBuffer<Void>(capacity: 1) { _, _ in }, value = Protected<UInt64>(0),
      ending = EndOfValues(wakeups)
    let event = MergingEvent(on: ImmediateScheduler.instance, rule) { more in
      value.withLock { $0 = rule.merged($0, with: more) }
      ending.wakeups.put(())  // wakes the task. Only this closure retains `ending`, whose release ends the sequence.
    }
    // The end of the sequence disposes the event. Weak, to avoid a cycle: the event retains `wakeups`.
    wakeups.follow(AnonymousDisposable { [weak event] in event?.dispose() })
    return (event, MergedValues(wakeups: ElementReader(wakeups), value: value))
  }
}

/// The sequence of a ``MergingEvent``'s values: see ``MergingEvent/sequence(_:)``.
private struct MergedValues: AsyncSequence, Sendable {
  typealias Element = UInt64
  typealias Failure = Never

  let wakeups: ElementReader<Void>  // its only element wakes the task
  let value: Protected<UInt64>  // merged, and not returned by `next` yet

  /// Waits for the next value.
  struct AsyncIterator: AsyncIteratorProtocol {
    let wakeups: ElementReader<Void>
    let value: Protected<UInt64>

    /// Suspends the task until a value was merged. Returns the values merged since the previous call, never 0, or `nil`
    /// at the end.
    mutating func next() async -> UInt64? {
      while (try? await wakeups.buffer.next()) != nil {  // `try?` hides no error: `wakeups` ends without one
        let taken = value.withLock { value in
          defer { value = 0 }
          return value
        }
        if taken != 0 { return taken }  // 0: the previous call took this wakeup's value
      }
      return nil
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(wakeups: wakeups, value: value) }
}

/// Ends the sequence in its `deinit`. Only the event's handler retains this object, so it is released with the event.
private final class EndOfValues: Sendable {
  let wakeups: ElementBuffer<Void>
  init(_ wakeups: ElementBuffer<Void>) { self.wakeups = wakeups }
  deinit { wakeups.end() }
}
