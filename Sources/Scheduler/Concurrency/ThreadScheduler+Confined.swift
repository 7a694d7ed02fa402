extension ThreadScheduler {
  /// A value that is made, used and released on one thread: a database handle, a GL context, an interpreter. It need not be `Sendable`.
  ///
  /// ```swift
  /// let thread = try ThreadScheduler(name: "database")
  /// let database = thread.confine { try Database("notes.db") }
  /// let found = try await database.perform { database in database.search("a") }
  /// ```
  ///
  /// 1. It is released on the thread: as an action, after the last reference to this object is gone; or at the thread's end, after the last action
  ///    and the last job of a task, values made later first.
  /// 2. A use after that throws ``SchedulerError/stopped``.
  /// 3. This object keeps the scheduler.
  /// 4. In a child of `fork` the value is not available, as its thread does not exist there: a use stops the process with a message. The value is
  ///    not released in the child.
  public final class Confined<Value>: Sendable {
    /// The scheduler on whose thread the value is.
    public let scheduler: ThreadScheduler
    private let box: ConfinedBox<Value>
    private let key: Int

    init(to scheduler: ThreadScheduler, _ make: sending @escaping () throws -> Value) {
      let box = ConfinedBox(consume make)
      self.scheduler = scheduler
      self.box = box
      key = scheduler.thread.end.add { box.release() }
      withoutRefusalLine { _ = scheduler.schedule { box.fill() } }  // rule 2
    }

    deinit {
      let thread = scheduler.thread
      thread.submitOwn { [box, key] in  // rule 4
        box.release()
        thread.end.remove(key)
      }
    }

    /// Calls `body` with the value on its thread, suspends the task until it has returned, and returns its result or throws its error.
    ///
    /// - Parameters:
    ///   - isolation: the caller's, which it keeps.
    ///   - body: what to do with the value. It must not let the value itself leave. What it captures need not be `Sendable`: it is the thread's then.
    /// - Returns: what `body` returns.
    /// - Throws: what `body` throws, or what the making of the value threw; `CancellationError` when the task was cancelled before it began;
    ///   ``SchedulerError/stopped`` when the thread was stopped.
    public func perform<Result: Sendable>(
      isolation: isolated (any Actor)? = #isolation, _ body: sending @escaping (inout Value) throws -> Result
    ) async throws -> Result {
      let use = ConfinedUse(consume body)
      return try await scheduler.perform(isolation: isolation) { [box] in try box.use(use.takeBody()) }
    }

    /// Calls `body` with the value. Only on the value's thread, and not inside of another use: elsewhere it stops the process with a message. After the
    /// end of the thread it throws on every thread, as a task of an actor of that thread may still go on.
    ///
    /// - Parameter body: what to do with the value.
    /// - Returns: what `body` returns.
    /// - Throws: what `body` throws, or what the making of the value threw; ``SchedulerError/stopped`` when the value has been released.
    public func withValue<Result>(_ body: (inout Value) throws -> Result) throws -> Result {
      guard scheduler.isOnThread else {
        if scheduler.thread.end.areValuesReleased { throw SchedulerError.stopped }
        misuse(
          "Confined.withValue", of: scheduler.thread.name,
          "called on another thread than the value's. Use await perform."
        )
      }
      return try box.use(body)
    }
  }
}

/// What is done with a value, once: no frame of the task keeps it, so that what it captures ends on the thread.
private final class ConfinedUse<Value, Outcome>: @unchecked Sendable {
  // Unchecked, because the compiler does not see that the one action takes it.
  private var body: ((inout Value) throws -> Outcome)?

  init(_ body: sending @escaping (inout Value) throws -> Outcome) { self.body = body }

  func takeBody() -> (inout Value) throws -> Outcome { body.take()! }
}

/// The value's place. Touched on the thread alone.
private final class ConfinedBox<Value>: @unchecked Sendable {
  // Unchecked, because the compiler does not know the thread. All callers are on it.
  private var value: Result<Value, any Error> = .failure(SchedulerError.stopped)
  private var make: (() throws -> Value)?
  private var isInUse = false
  private var isReleased = false

  init(_ make: sending @escaping () throws -> Value) { self.make = make }

  func fill() {
    if let make = make.take() { value = Result(catching: make) }
  }

  func release() {
    isReleased = true
    make = nil
    value = .failure(SchedulerError.stopped)
  }

  func use<Outcome>(_ body: (inout Value) throws -> Outcome) throws -> Outcome {
    if isInUse { misuse("Confined.withValue", "called inside of a use of the same value. Hand on what that one has.") }
    var taken = try value.get()
    value = .failure(SchedulerError.stopped)  // the only reference goes to the body
    isInUse = true
    defer {
      isInUse = false
      if !isReleased { value = .success(taken) }  // which a wait inside of the use may have come to
    }
    return try body(&taken)
  }
}
