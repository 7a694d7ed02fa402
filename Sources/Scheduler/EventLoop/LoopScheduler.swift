/// A scheduler whose thread also waits for descriptors, signals, processes and files: ``ThreadScheduler`` or
/// ``MainScheduler``.
///
/// ```swift
/// let terminate = MainScheduler.instance.onSignal(SIGTERM) { _ in MainScheduler.stop() }
/// let reading = network.onReadable(socket) { read(socket) }
/// for try await change in watcher.changes(ofFileAt: "/etc/motd") { show(change) }
/// ```
///
/// 1. Handlers run as actions: on the scheduler's thread, one at a time, in a batch with its other work.
///    ``Schedulers/current`` is the scheduler.
/// 2. A handler may dispose its own source or another one. Once ``Disposable/dispose()`` has returned, on any thread,
///    no handler of that source starts, and its captures are released. ``Disposable/disposeAndWait()`` also waits for a
///    running handler.
/// 3. A source made on the scheduler's thread starts at once. A source made elsewhere starts when the thread handles
///    the request. A source that cannot start, or that ends by itself, calls `onDrop` once, on the thread that detects
///    it. The reason is ``SchedulerError/stopped``, or ``SchedulerError/system(_:)`` if the system refuses. Without
///    `onDrop`, a line on the standard error reports a refusal of the system. A debug build also reports that the
///    scheduler was stopped.
/// 4. Like a delayed action, a source keeps the scheduler's thread running until the source is over. Releasing the
///    returned disposable does not end the source.
/// 5. An `AsyncSequence` of events ends when its task is cancelled. It throws the error that `onDrop` would receive.
public class LoopScheduler: SchedulerTarget, @unchecked Sendable {
  // Unchecked, as its superclass is.
}
