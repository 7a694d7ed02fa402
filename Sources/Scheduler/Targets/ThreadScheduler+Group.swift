internal import Synchronization

extension ThreadScheduler {
  /// Several ``ThreadScheduler``s of one kind, among which work is shared out: one for each processor, say, each with its own connections.
  ///
  /// ```swift
  /// let group = try ThreadScheduler.Group(count: 4, name: "io")
  /// group.next().schedule { accept() }               // one after the other
  /// group.scheduler(for: user.id).schedule { save() } // what belongs together, always on the same thread
  /// group.stopAndJoin()
  /// ```
  ///
  /// 1. The threads are there from the beginning to the end, and are the same ones.
  /// 2. ``scheduler(for:)`` gives the same scheduler for equal keys, for as long as the group lives; keys are spread evenly.
  /// 3. What each thread has done, ``LoopScheduler/statistics`` of each of ``schedulers`` says.
  /// 4. Letting go of the group stops its threads as letting go of each of them does.
  ///
  /// The shape is that of NIO's groups of event loops.
  public final class Group: Sendable {
    /// The most threads that a group may have.
    public static let most = 1_024

    /// The schedulers, in an order that never changes.
    public let schedulers: [ThreadScheduler]
    private let turn = Atomic(0)

    /// Starts the threads, and returns when all are ready. If one cannot be started, those before it end.
    ///
    /// - Parameters:
    ///   - count: how many, from 1 to ``most``; another number stops the process with a message.
    ///   - name: of the threads, to which a number from 0 on is added; cut so that the number stays, because the system keeps 15 bytes.
    ///   - stackSize: of each, in bytes; 0 is the system's default.
    ///   - processors: those of thread 0, of thread 1 …, and from the beginning again: `(0..<8).map { [$0] }` keeps each thread to one. None: no
    ///     thread is kept to any.
    ///   - priority: how the system chooses them.
    /// - Throws: ``SchedulerError/system(_:)`` when a thread is not to be had, or not with its processors and this priority.
    public init(
      count: Int, name: String = "", stackSize: Int = 0, processors: [[Int]] = [],
      priority: ThreadScheduler.Priority = .inherited
    ) throws(SchedulerError) {
      guard 1...Self.most ~= count else {
        misuse("ThreadScheduler.Group.init", of: name, "\(count) threads are asked for. Ask for 1 to \(Self.most).")
      }
      var started: [ThreadScheduler] = []
      for number in 0..<count {
        let own = processors.isEmpty ? [] : processors[number % processors.count]
        started.append(
          try ThreadScheduler(
            name: Self.name(name, number), stackSize: stackSize, processors: own, priority: priority))
      }
      schedulers = started
    }

    private static func name(_ name: String, _ number: Int) -> String {
      if name.isEmpty { return "" }
      var kept = name[...]
      while kept.utf8.count + "-\(number)".utf8.count > 15 { kept = kept.dropLast() }
      return "\(kept)-\(number)"
    }

    /// The scheduler whose turn it is: each is given out as often as every other. Any thread.
    public func next() -> ThreadScheduler {
      let count = turn.wrappingAdd(1, ordering: .relaxed).oldValue
      return schedulers[Int(UInt(bitPattern: count) % UInt(schedulers.count))]
    }

    /// The scheduler of `key`: for equal keys the same one. Any thread.
    ///
    /// - Parameter key: compared by its hash, which Swift seeds anew in each process.
    public func scheduler(for key: some Hashable) -> ThreadScheduler {
      schedulers[Int(UInt(bitPattern: key.hashValue) % UInt(schedulers.count))]
    }

    /// Ends the threads after the outstanding actions have got what `policy` says. Does not wait.
    ///
    /// - Parameter policy: what becomes of the actions that have not begun.
    public func stop(_ policy: Schedulers.StopPolicy = .runOutstanding) {
      for scheduler in schedulers { scheduler.stop(policy) }
    }

    /// Stops the threads, and waits until all have ended. On one of them the wait could never end: that stops the process with a message.
    ///
    /// - Parameter policy: what becomes of the actions that have not begun.
    @available(*, noasync, message: "it blocks a thread of Swift's own: use await stopAndJoin()")
    public func stopAndJoin(_ policy: Schedulers.StopPolicy = .runOutstanding) {
      stop(policy)
      for scheduler in schedulers { scheduler.join() }
    }

    /// The same for a task, which is suspended meanwhile.
    ///
    /// - Parameter policy: what becomes of the actions that have not begun.
    public func stopAndJoin(_ policy: Schedulers.StopPolicy = .runOutstanding) async {
      stop(policy)
      for scheduler in schedulers { await scheduler.stopAndJoin(policy) }
    }
  }
}
