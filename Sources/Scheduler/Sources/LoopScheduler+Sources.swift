internal import CScheduler

extension LoopScheduler {
  private func begin<Event>(_ source: LoopSource<Event>) -> any Disposable {
    source.begin()
    return source
  }

  /// Calls `handler` as long as `descriptor` can be read, is at its end, or has failed. Dispose before the descriptor is closed.
  ///
  /// - Parameters:
  ///   - descriptor: the caller's, which should not block. Several sources may wait for one.
  ///   - handler: what reads.
  ///   - onDrop: told when the source ends by itself.
  /// - Returns: what ends it.
  public func onReadable(
    _ descriptor: Int32, _ handler: @escaping @Sendable () -> Void, onDrop: (@Sendable (SchedulerError) -> Void)? = nil
  ) -> any Disposable {
    begin(DescriptorSource(descriptor, CSCHED_FD_READ, on: self, onDrop: onDrop) { handler() })
  }

  /// Calls `handler` as long as `descriptor` can be written, or has failed: see ``onReadable(_:_:onDrop:)``.
  ///
  /// - Parameters:
  ///   - descriptor: the caller's, which should not block. Several sources may wait for one.
  ///   - handler: what writes.
  ///   - onDrop: told when the source ends by itself.
  public func onWritable(
    _ descriptor: Int32, _ handler: @escaping @Sendable () -> Void, onDrop: (@Sendable (SchedulerError) -> Void)? = nil
  ) -> any Disposable {
    begin(DescriptorSource(descriptor, CSCHED_FD_WRITE, on: self, onDrop: onDrop) { handler() })
  }

  /// Calls `handler` when `signal` comes to the process, in place of the signal's own action. No thread has to block it.
  ///
  /// - Parameters:
  ///   - signal: such as `SIGTERM`. One that has a handler already, by somebody else or another source, is refused.
  ///   - handler: told how often it has come since the last call.
  ///   - onDrop: told when the source ends by itself.
  /// - Returns: what ends it, and gives the signal its action back, when the scheduler's thread comes to that.
  public func onSignal(
    _ signal: Int32, _ handler: @escaping @Sendable (_ count: Int) -> Void,
    onDrop: (@Sendable (SchedulerError) -> Void)? = nil
  ) -> any Disposable { begin(SignalSource(signal, on: self, onDrop: onDrop, handler)) }

  /// Calls `handler` once, when `process` has ended, and reaps it. If it is disposed before, the caller must reap.
  ///
  /// - Parameters:
  ///   - process: a child's number. Of one that is no child, only the end is told.
  ///   - handler: told how it has ended.
  ///   - onDrop: told when the source ends otherwise.
  /// - Returns: what ends it.
  public func onExit(
    of process: Int32, _ handler: @escaping @Sendable (ProcessEnd) -> Void,
    onDrop: (@Sendable (SchedulerError) -> Void)? = nil
  ) -> any Disposable { begin(ChildSource(process, on: self, onDrop: onDrop, handler)) }

  /// Calls `handler` for each change of what `path` is now: a file, or a directory and its entries.
  ///
  /// - Parameters:
  ///   - path: a later file of that name is another one.
  ///   - kinds: which changes.
  ///   - handler: told one change after the other.
  ///   - onDrop: told when the source ends by itself.
  /// - Returns: what ends it.
  public func onChange(
    ofFileAt path: String, kinds: FileChange.Kinds = .all, _ handler: @escaping @Sendable (FileChange) -> Void,
    onDrop: (@Sendable (SchedulerError) -> Void)? = nil
  ) -> any Disposable { begin(FileSource(path, kinds, on: self, onDrop: onDrop, handler)) }
}
