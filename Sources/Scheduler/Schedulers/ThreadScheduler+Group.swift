internal import Synchronization

extension ThreadScheduler {
  /// A group of equal ``ThreadScheduler``s that share work: for example one thread for each processor, each with its
  /// own connections.
  ///
  /// ```swift
  /// let group = try ThreadScheduler.Group(count: 4, name: "io")
  /// group.next().schedule { accept() }               // the threads in turn
  /// group.scheduler(for: user.id).schedule { save() } // equal keys: always the same thread
  /// group.stopAndJoin()
  /// ```
  ///
  /// 1. The threads exist from the creation of the group to its end, and never change.
  /// 2. ``scheduler(for:)`` returns the same scheduler for equal keys while the group lives. Keys are spread evenly.
  /// 3. For the work of each thread, see ``SchedulerTarget/statistics`` of each of ``schedulers``.
  /// 4. Releasing the group stops its threads as releasing each of them does.
  ///
  /// The shape is that of NIO's event loop groups.
  public final class Group: Sendable {
    /// The maximum number of threads in a group.
    public static let most = 1_024

    /// The schedulers, in a constant order.
    public let schedulers: [ThreadScheduler]
    private let nextIndex = Atomic(0)  // the number of calls of `next`; it may wrap around

    /// Starts the threads, and returns when all are ready. If a thread cannot start, those started before it end.
    ///
    /// - Parameters:
    ///   - count: the number of threads, from 1 to ``most``. Another number stops the process with a message.
    ///   - name: the threads' name, to which a number from 0 on is added. The system keeps 15 bytes, so the name is cut
    ///     in front of the number.
    ///   - stackSize: the size of each stack in bytes; 0 is the system's default.
    ///   - processors: those of thread 0, of thread 1 …, repeated from the start. `(0..<8).map { [$0] }`: one for each
    ///     thread. Empty: none is bound.
    ///   - priority: how the system schedules the threads.
    /// - Throws: ``SchedulerError/system(_:)`` if a thread cannot be created, or cannot have its processors or this
    ///   priority.
    public init(
      count: Int, name: String = "", stackSize: Int = 0, processors: [[Int]] = [],
      priority: ThreadScheduler.Priority = .inherited
    ) throws(SchedulerError) {
      guard 1...Self.most ~= count else {
        misuse("ThreadScheduler.Group.init", of: name, "\(count) threads are asked for. Ask for 1 to \(Self.most).")
      }
      var started: [ThreadScheduler] = []
      for number in 0..<count {
        let own = processors.isEmpty ? [] : processors[number % processors.count]  // of this thread; empty: not bound
        started.append(
          try ThreadScheduler(
            name: Self.name(name, number), stackSize: stackSize, processors: own, priority: priority))
      }
      schedulers = started
    }

    /// Returns "name-number", with `name` cut so that the result has at most 15 bytes.
    private static func name(_ name: String, _ number: Int) -> String {
      if name.isEmpty { return "" }
      var kept = name[...]
      while kept.utf8.count + "-\(number)".utf8.count > 15 { kept = kept.dropLast() }  // whole characters
      return "\(kept)-\(number)"
    }

    /// Returns the next scheduler, in round-robin order. Thread: any.
    public func next() -> ThreadScheduler {
      let count = nextIndex.wrappingAdd(1, ordering: .relaxed).oldValue  // relaxed: only the number matters
      return schedulers[Int(UInt(bitPattern: count) % UInt(schedulers.count))]  // UInt: `count` may be negative
    }

    /// Returns the scheduler of `key`. Equal keys have the same scheduler. Thread: any.
    ///
    /// - Parameter key: only its hash is used, which Swift seeds differently in each process.
    public func scheduler(for key: some Hashable) -> ThreadScheduler {
      schedulers[Int(UInt(bitPattern: key.hashValue) % UInt(schedulers.count))]  // UInt: a hash may be negative
    }

    /// Stops the threads after the outstanding actions have been handled as `policy` says. Does not wait.
    ///
    /// - Parameter policy: how to treat actions that have not started.
    public func stop(_ policy: Schedulers.StopPolicy = .runOutstanding) {
      for scheduler in schedulers { scheduler.stop(policy) }
    }

    /// Stops the threads, and waits until all have ended. On one of these threads the wait could never end, so it stops
    /// the process with a message.
    ///
    /// - Parameter policy: how to treat actions that have not started.
    @available(*, noasync, message: "it blocks a thread of Swift's own: use await stopAndJoin()")
    public func stopAndJoin(_ policy: Schedulers.StopPolicy = .runOutstanding) {
      stop(policy)  // first all of them, so that they end at the same time
      for scheduler in schedulers { scheduler.join() }
    }

    /// Stops the threads, and suspends the calling task until all have ended.
    ///
    /// - Parameter policy: how to treat actions that have not started.
    public func stopAndJoin(_ policy: Schedulers.StopPolicy = .runOutstanding) async {
      stop(policy)  // first all of them; the second stop, below, changes nothing
      for scheduler in schedulers { await scheduler.stopAndJoin(policy) }
    }

    /// Stops the threads, and suspends the task until all have ended, until `deadline` at the latest. The stop
    /// continues after the deadline.
    ///
    /// - Parameters:
    ///   - policy: how to treat actions that have not started.
    ///   - deadline: the end of the wait.
    ///   - clock: the clock of `deadline`.
    ///   - isolation: the caller's isolation, in which this function runs.
    /// - Throws: ``SchedulerError/timeout`` at the deadline; `CancellationError` if the task is cancelled first.
    public func stopAndJoin<C: Clock>(
      _ policy: Schedulers.StopPolicy = .runOutstanding, deadline: C.Instant, clock: C = ContinuousClock(),
      isolation: isolated (any Actor)? = #isolation
    ) async throws {
      try await awaitEnd(AnyDeadline(deadline, clock), isolation: isolation) { await self.stopAndJoin(policy) }
    }

    /// Stops and waits as ``stopAndJoin(_:deadline:clock:isolation:)`` does, without a clock; inside `withVirtualTime`
    /// on that time.
    ///
    /// - Parameters:
    ///   - policy: how to treat actions that have not started.
    ///   - deadline: the end of the wait.
    ///   - isolation: the caller's isolation, in which this function runs.
    /// - Throws: what ``stopAndJoin(_:deadline:clock:isolation:)`` throws.
    public func stopAndJoin(
      _ policy: Schedulers.StopPolicy = .runOutstanding, deadline: Deadline,
      isolation: isolated (any Actor)? = #isolation
    ) async throws {
      try await stopAndJoin(policy, deadline: deadline, clock: DeadlineClock(), isolation: isolation)
    }
  }
}
