extension ThreadScheduler {
  /// A value that is made, used and released on one thread: a database handle, a GL context, an interpreter. It need
  /// not be `Sendable`.
  ///
  /// ```swift
  /// let thread = try ThreadScheduler(name: "database")
  /// let database = thread.confine { try Database("notes.db") }
  /// let found = try await database.perform { database in database.search("a") }
  /// ```
  ///
  /// 1. The value is released on the thread: by an action when the last reference to this object is released, or at the
  ///    thread's end, after the final action and the final job of a task. At the thread's end, the newest value is
  ///    released first.
  /// 2. A use after the release throws ``SchedulerError/stopped``.
  /// 3. This object retains the scheduler.
  /// 4. In a child of `fork` the value's thread does not exist. A use stops the process with a message. The value is
  ///    not released in the child.
  public final class Confined<Value>: Sendable {
    /// The scheduler of the value's thread.
    public let scheduler: ThreadScheduler
    private let box: ConfinedBox<Value>
    private let key: Int  // of the function that releases the value at the thread's end (`ThreadEnd`)

    init(to scheduler: ThreadScheduler, _ make: sending @escaping () throws -> Value) {
      let box = ConfinedBox(consume make)
      self.scheduler = scheduler
      self.box = box
      key = scheduler.thread.end.add { box.release() }
      withoutRefusalLine { _ = scheduler.schedule { box.fill() } }  // no line for a refusal: each use throws `stopped`
    }

    deinit {
      let thread = scheduler.thread
      // releases the value on the thread; `submitInternal` does nothing in a fork child (guarantee 4)
      thread.submitInternal { [box, key] in
        box.release()
        thread.end.remove(key)
      }
    }

    /// Calls `body` with the value on its thread, suspends the task until it has returned, and returns its result or
    /// throws its error.
    ///
    /// - Parameters:
    ///   - isolation: the caller's isolation, in which this function runs.
    ///   - body: the function to call. The value must not escape from it. Its captures need not be `Sendable`: they are
    ///     transferred to the thread.
    /// - Returns: the result of `body`.
    /// - Throws: the error of `body`, or the error of making the value; `CancellationError` if the task was cancelled
    ///   before `body` started; ``SchedulerError/stopped`` if the thread was stopped.
    public func perform<Result: Sendable>(
      isolation: isolated (any Actor)? = #isolation, _ body: sending @escaping (inout Value) throws -> Result
    ) async throws -> Result {
      let use = ConfinedUse(consume body)
      return try await scheduler.perform(isolation: isolation) { [box] in try box.use(use.takeBody()) }
    }

    /// Calls `body` with the value, on the value's thread.
    ///
    /// On another thread, or inside another use, it stops the process with a message. After the thread's end it throws
    /// on every thread, because a task of an actor of that thread may still continue.
    ///
    /// - Parameter body: the function to call. The compiler refuses a body from which the value escapes, or that stores
    ///   an object of its caller.
    /// - Returns: the result of `body`.
    /// - Throws: the error of `body`, or the error of making the value; ``SchedulerError/stopped`` if the value has
    ///   been released.
    public func withValue<Result: Sendable>(_ body: (inout sending Value) throws -> Result) throws -> Result {
      guard scheduler.isOnThread else {
        if scheduler.thread.end.areValuesReleased { throw SchedulerError.stopped }
        misuse(
          "Confined.withValue", of: scheduler.thread.name,
          "called on another thread than the value's. Use await perform."
        )
      }
      // A function that takes its argument as `sending` promises more to its caller, and is called in the same way.
      return try withoutActuallyEscaping(body) {
        try box.use(unsafeBitCast($0, to: ((inout Value) throws -> Result).self))
      }
    }
  }
}

/// Holds the body of one `perform`. The task itself does not retain the body, so the body's captures are released on
/// the thread.
private final class ConfinedUse<Value, Outcome>: @unchecked Sendable {
  // Unchecked, because the compiler does not see that only the action accesses the body.
  private var body: ((inout Value) throws -> Outcome)?

  init(_ body: sending @escaping (inout Value) throws -> Outcome) { self.body = body }

  /// Returns the body, and gives up this object's reference to it. Called once, by the action on the thread.
  func takeBody() -> (inout Value) throws -> Outcome { body.take()! }
}

/// The storage of a confined value. Only the value's thread accesses it.
private final class ConfinedBox<Value>: @unchecked Sendable {
  // Unchecked, because the compiler does not see that all callers are on the thread.
  // `fill` stores the value, or the error of `make`
  private var value: Result<Value, any Error> = .failure(SchedulerError.stopped)
  private var make: (() throws -> Value)?  // nil after `fill`
  private var isInUse = false  // `use` is calling its body
  // `release` was called, perhaps during a use, which then must not store the value again
  private var isReleased = false

  init(_ make: sending @escaping () throws -> Value) { self.make = make }

  /// Makes the value, or stores the error of `make`. Does nothing if `release` was called before.
  func fill() {
    if let make = make.take() { value = Result(catching: make) }
  }

  /// Releases the value; later uses throw `stopped`. During a use, the end of that use releases the value.
  func release() {
    isReleased = true
    make = nil  // a later `fill` makes no value
    value = .failure(SchedulerError.stopped)
  }

  /// Calls `body` with the value, which is moved out of the box during the call.
  func use<Outcome>(_ body: (inout Value) throws -> Outcome) throws -> Outcome {
    if isInUse { misuse("Confined.withValue", "called inside of a use of the same value. Hand on what that one has.") }
    var taken = try value.get()
    value = .failure(SchedulerError.stopped)  // `taken` is now the only reference, so `body` changes the value in place
    isInUse = true
    defer {
      isInUse = false
      // `body` may have run the action that calls `release`, in a nested wait
      if !isReleased { value = .success(taken) }
    }
    return try body(&taken)
  }
}
