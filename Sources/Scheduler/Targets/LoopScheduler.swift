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
/// 3. A source that is made on the scheduler's thread begins at once, another one when the thread comes to it. A source that cannot begin, or
///    ends by itself, calls `onDrop` once, on the thread that notices. The reason is ``SchedulerError/stopped``, or ``SchedulerError/system(_:)``
///    when the system refuses. Without an `onDrop` a line on the standard error says what the system refuses; a debug build also reports that the
///    scheduler was stopped.
/// 4. Like a delayed action, a source keeps the scheduler's thread until it is over. Letting go of what is returned does not end it.
/// 5. The sequences end, when their task is cancelled, and throw what `onDrop` would be told.
public class LoopScheduler: SchedulerTarget, @unchecked Sendable {
  // Unchecked, as its superclass is.
}
