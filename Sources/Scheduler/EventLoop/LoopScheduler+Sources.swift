internal import CScheduler

extension LoopScheduler {
  /// Starts `source`. Returns it as the disposable that ends it.
  private func begin<Event>(_ source: LoopSource<Event>) -> any Disposable {
    source.begin()
    return source
  }

  /// Calls `handler` repeatedly while `descriptor` can be read, is at its end, or has failed. Dispose the source before
  /// you close the descriptor.
  ///
  /// - Parameters:
  ///   - descriptor: the caller's descriptor, which should be non-blocking. Several sources may wait for one
  ///     descriptor.
  ///   - handler: the function that reads.
  ///   - onDrop: called with the reason if the source cannot start, or ends by itself.
  /// - Returns: a disposable that ends the source.
  public func onReadable(
    _ descriptor: Int32, _ handler: @escaping @Sendable () -> Void, onDrop: (@Sendable (SchedulerError) -> Void)? = nil
  ) -> any Disposable {
    begin(DescriptorSource(descriptor, CSCHED_FD_READ, on: self, onDrop: onDrop) { handler() })
  }

  /// Calls `handler` repeatedly while `descriptor` can be written, or has failed: see ``onReadable(_:_:onDrop:)``.
  ///
  /// - Parameters:
  ///   - descriptor: the caller's descriptor, which should be non-blocking. Several sources may wait for one
  ///     descriptor.
  ///   - handler: the function that writes.
  ///   - onDrop: called with the reason if the source cannot start, or ends by itself.
  public func onWritable(
    _ descriptor: Int32, _ handler: @escaping @Sendable () -> Void, onDrop: (@Sendable (SchedulerError) -> Void)? = nil
  ) -> any Disposable {
    begin(DescriptorSource(descriptor, CSCHED_FD_WRITE, on: self, onDrop: onDrop) { handler() })
  }

  /// Calls `handler` when the process receives `signal`, from this call on, in place of the signal's own action. No
  /// thread needs to block the signal, and all threads may: the scheduler's thread does not block it while the source
  /// exists.
  ///
  /// - Parameters:
  ///   - signal: a signal such as `SIGTERM`. The source cannot start if the signal has a handler already, from another
  ///     source or other code.
  ///   - handler: called with the number of signals since the previous call.
  ///   - onDrop: called with the reason if the source cannot start, or ends by itself.
  /// - Returns: a disposable that ends the source, and restores the signal's action.
  public func onSignal(
    _ signal: Int32, _ handler: @escaping @Sendable (_ count: Int) -> Void,
    onDrop: (@Sendable (SchedulerError) -> Void)? = nil
  ) -> any Disposable { begin(SignalSource(signal, on: self, onDrop: onDrop, handler)) }

  /// Calls `handler` once, when `process` has ended, and reaps the process. If the source is disposed earlier, the
  /// caller must reap it.
  ///
  /// Several sources, of any schedulers, may wait for one process: each gets its status. A source that starts within a
  /// minute after another one has reaped the process usually gets the status, too, unless a new process has the process
  /// ID. Otherwise it cannot start, with the error `ESRCH`.
  ///
  /// - Parameters:
  ///   - process: the process ID of a child. For another process, only its end is reported, without a status.
  ///   - handler: called with the way in which the process ended.
  ///   - onDrop: called with the reason if the source cannot start, or ends before the process.
  /// - Returns: a disposable that ends the source.
  public func onExit(
    of process: Int32, _ handler: @escaping @Sendable (ProcessEnd) -> Void,
    onDrop: (@Sendable (SchedulerError) -> Void)? = nil
  ) -> any Disposable { begin(ChildSource(process, on: self, onDrop: onDrop, handler)) }

  /// Calls `handler` for each change of the file that `path` names now, or of the directory and its entries. The source
  /// ends after ``FileChange/Kinds/gone``. On another thread than the scheduler's, the source begins when the
  /// scheduler's thread has come to it: to see each change, make the source in an action of the scheduler.
  ///
  /// - Parameters:
  ///   - path: the path. A file that gets this name later is not watched.
  ///   - kinds: the changes to report.
  ///   - handler: called with one change at a time.
  ///   - onDrop: called with the reason if the source cannot start, or ends by itself.
  /// - Returns: a disposable that ends the source.
  public func onChange(
    ofFileAt path: String, kinds: FileChange.Kinds = .all, _ handler: @escaping @Sendable (FileChange) -> Void,
    onDrop: (@Sendable (SchedulerError) -> Void)? = nil
  ) -> any Disposable { begin(FileSource(path, kinds, on: self, onDrop: onDrop, handler)) }
}

extension LoopScheduler {
  /// Calls `handler` whenever the loop has no more work, before it sleeps.
  ///
  /// After the call the thread polls for work for some microseconds. Then it sleeps, or another library's main loop
  /// sleeps for it. Use the hook for output that is collected during work, such as replies that are written together.
  /// Actions that `handler` schedules run before the sleep.
  ///
  /// - Parameters:
  ///   - handler: the function to call.
  ///   - onDrop: called with ``SchedulerError/stopped`` if the loop ends the hook, because the scheduler was stopped.
  /// - Returns: a disposable that ends the hook.
  public func onBeforeSleep(
    _ handler: @escaping @Sendable () -> Void, onDrop: (@Sendable (SchedulerError) -> Void)? = nil
  ) -> any Disposable { beginHook(isBeforeSleep: true, handler, onDrop) }

  /// Calls `handler` when the thread has woken, or work has arrived before it slept. The call precedes that work: see
  /// ``onBeforeSleep(_:onDrop:)``.
  ///
  /// - Parameters:
  ///   - handler: the function to call.
  ///   - onDrop: as in ``onBeforeSleep(_:onDrop:)``.
  public func onAfterWake(
    _ handler: @escaping @Sendable () -> Void, onDrop: (@Sendable (SchedulerError) -> Void)? = nil
  ) -> any Disposable { beginHook(isBeforeSleep: false, handler, onDrop) }

  /// Starts a hook before each sleep, or after each wake. Returns the disposable that ends it.
  private func beginHook(
    isBeforeSleep: Bool, _ handler: @escaping @Sendable () -> Void, _ onDrop: (@Sendable (SchedulerError) -> Void)?
  ) -> any Disposable {
    let source = HookSource(isBeforeSleep: isBeforeSleep, on: self, onDrop: onDrop) { handler() }
    source.begin()
    return source
  }
}

extension MainScheduler {
  /// Calls `handler`, which is isolated to the main actor, when the process receives `signal`: see
  /// ``LoopScheduler/onSignal(_:_:onDrop:)``.
  ///
  /// - Parameters:
  ///   - signal: a signal such as `SIGTERM`.
  ///   - handler: called on the main actor with the number of signals since the previous call.
  ///   - onDrop: called with the reason if the source cannot start, or ends by itself.
  /// - Returns: a disposable that ends the source, and restores the signal's action.
  public func onSignal(
    _ signal: Int32, onMainActor handler: @escaping @MainActor @Sendable (_ count: Int) -> Void,
    onDrop: (@Sendable (SchedulerError) -> Void)? = nil
  ) -> any Disposable {
    onSignal(signal, { count in MainActor.assumeIsolated { handler(count) } }, onDrop: onDrop)
  }
}
