internal import CScheduler

/// A scheduler whose thread waits for descriptors, signals, processes and files, too: ``ThreadScheduler`` and ``MainScheduler``.
///
/// ```swift
/// let terminate = MainScheduler.instance.onSignal(SIGTERM) { _ in MainScheduler.stop() }
/// let reading = network.onReadable(socket) { read(socket) }
/// for try await change in watcher.changes(ofFileAt: "/etc/motd") { show(change) }
/// ```
///
/// 1. Handlers run as actions: on the scheduler's thread, one after the other, in a batch with its other work, and with the scheduler as
///    ``Schedulers/current``.
/// 2. A handler may dispose its own source, or another's. Once ``Disposable/dispose()`` has returned, on whichever thread, no handler of that source
///    begins, and what it captured is gone; ``Disposable/disposeAndWait()`` waits for one that is running.
/// 3. A source begins at once when it is made on the scheduler's thread, else when that comes to it. If it cannot begin, or ends by
///    itself, because the scheduler was stopped (``SchedulerError/stopped``) or the system refuses (``SchedulerError/system(_:)``), `onDrop` is told, once, on the thread that
///    finds out. Without it a line on the standard error says what the system refuses; a debug build also says that the scheduler had been stopped before.
/// 4. Like a delayed action, a source keeps the scheduler's thread until it is over. Letting go of what is returned does not end it.
/// 5. The sequences end, when their task is cancelled, and throw what `onDrop` would be told.
public protocol LoopScheduler: SchedulerTarget {}

extension ThreadScheduler: LoopScheduler {}
extension MainScheduler: LoopScheduler {}

extension LoopScheduler {
  private func begin<Event>(_ source: LoopSource<Event>) -> any Cancelable {
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
  ) -> any Cancelable {
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
  ) -> any Cancelable {
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
  ) -> any Cancelable { begin(SignalSource(signal, on: self, onDrop: onDrop, handler)) }

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
  ) -> any Cancelable { begin(ChildSource(process, on: self, onDrop: onDrop, handler)) }

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
  ) -> any Cancelable { begin(FileSource(path, kinds, on: self, onDrop: onDrop, handler)) }
}
