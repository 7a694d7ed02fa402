/// A scheduler whose thread also waits for descriptors, signals, processes and files: ``ThreadScheduler`` or ``MainScheduler``.
///
/// ```swift
/// let terminate = MainScheduler.instance.onSignal(SIGTERM) { _ in MainScheduler.stop() }
/// let reading = network.onReadable(socket) { read(socket) }
/// for try await change in watcher.changes(ofFileAt: "/etc/motd") { show(change) }
/// ```
///
/// 1. Handlers run as actions: on the scheduler's thread, one at a time, in a batch with its other work. ``Schedulers/current`` is the scheduler.
/// 2. A handler may dispose its own source or another one. Once ``Disposable/dispose()`` has returned, on any thread, no handler of that source
///    starts, and its captures are released. ``Disposable/disposeAndWait()`` also waits for a running handler.
/// 3. A source made on the scheduler's thread starts at once. A source made elsewhere starts when the thread handles the request. A source that
///    cannot start, or that ends by itself, calls `onDrop` once, on the thread that detects it. The reason is ``SchedulerError/stopped``, or
///    ``SchedulerError/system(_:)`` if the system refuses. Without `onDrop`, a line on the standard error reports a refusal of the system. A debug
///    build also reports that the scheduler was stopped.
/// 4. Like a delayed action, a source keeps the scheduler's thread running until the source is over. Releasing the returned disposable does not end
///    the source.
/// 5. The sequences end when their task is cancelled. They throw the error that `onDrop` would receive.
public class LoopScheduler: SchedulerTarget, @unchecked Sendable {
  // Unchecked, as its superclass is.
}

extension LoopScheduler {
  /// Calls `body` as an action of the scheduler, on its thread and in order with its other actions. Waits until it has returned, and returns its
  /// result or throws its error.
  ///
  /// ```swift
  /// let count = database.sync { connection.count }
  /// ```
  ///
  /// On the scheduler's own thread the wait could never end. Then, and on a stopped scheduler, this function stops the process with a message, and
  /// ``trySync(_:)`` throws. Actions of ``MainScheduler`` run only if the main thread runs them.
  ///
  /// - Parameter body: called once, on the scheduler's thread.
  @available(*, noasync, message: "it blocks a thread of Swift's own: use await perform")
  public func sync<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
    var result: Result<Value, Failure>?
    let refusal = call {
      do throws(Failure) { result = .success(try body()) } catch { result = .failure(error) }
    }
    switch refusal {
    case nil: return try result!.get()
    case SchedulerError.deadlock?:
      misuse(
        "sync", of: core.name,
        "called on the scheduler's own thread, which it would wait for. Call the closure directly, or schedule it.")
    default:
      misuse("sync", of: core.name, "the scheduler has been stopped, so it accepts no more work. Use trySync.")
    }
  }

  /// Calls `body` as ``sync(_:)`` does, but throws if it cannot be called: ``SchedulerError/deadlock`` on the scheduler's own thread, and
  /// ``SchedulerError/stopped`` if the scheduler has been stopped, or drops the action.
  ///
  /// - Parameter body: called once, on the scheduler's thread. Not called if this function throws an error of its own.
  @available(*, noasync, message: "it blocks a thread of Swift's own: use await perform")
  public func trySync<Value>(_ body: () throws -> Value) throws -> Value {
    var result: Result<Value, any Error>?
    let refusal = call { result = Result { try body() } }
    if let refusal { throw refusal }
    return try result!.get()
  }

  /// Calls `body` as an action, and waits. Returns an error if it was not called.
  private func call(_ body: () -> Void) -> SchedulerError? {
    if core.isolatesHere { return .deadlock }
    // A queue of one action: its wait detects threads and queues that wait for each other.
    let queue = SerialCore(name: core.name, on: core)
    queue.publish(self)
    do { try SerialScheduler(core: queue).trySync(body) } catch { return error as? SchedulerError ?? .stopped }
    return nil
  }
}
