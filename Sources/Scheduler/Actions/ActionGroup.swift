internal import CScheduler

/// Counts unfinished work on any schedulers and threads. You can wait until the group is empty, be notified of it, or
/// cancel the work.
///
/// ```swift
/// let group = ActionGroup()
/// for page in pages { group.schedule(on: downloads) { page.fetch() } }
/// group.notify(on: MainScheduler.instance) { view.reload() }
/// guard group.wait(for: .seconds(5)) else { return group.cancelAll() }
/// ```
///
/// 1. An action scheduled through the group is a member from its submission until it has run and its captures are
///    released, or it was dropped.
///    Other work enters and leaves with ``enter()`` and ``leave()``.
/// 2. A waiter, or a notified action, sees everything that was done before each leave. An empty group may be entered
///    again; threads that already wait return all the same.
/// 3. While a pool thread waits, another thread replaces it in the pool. On the thread of a ``ThreadScheduler`` and on
///    the main thread, the wait blocks the scheduler: the members must run elsewhere.
/// 4. A leave without an enter stops the process with a message. So does the release of a group that is not empty.
///
/// In a child process of fork, the count stays as it was, and no thread waits.
public final class ActionGroup: Sendable {
  // Unsafe, because of the pointer: the C core's group synchronises all access (group.h).
  nonisolated(unsafe) private let group = UnsafeMutablePointer<csched_group>.allocate(capacity: 1)
  /// The members that ``cancelAll()`` cancels.
  let members = GroupMembers()

  /// Creates a group that waits for `entered` calls of ``leave()``, like a latch.
  ///
  /// ```swift
  /// let ready = ActionGroup(entered: 3)
  /// for part in parts { queue.schedule { part.load(); ready.leave() } }
  /// guard ready.wait(for: .seconds(5)) else { throw LoadError.tooSlow }
  /// ```
  ///
  /// If the queue drops an action of this example, its `leave()` is not called: the group stays entered, and its
  /// release stops the process. An action that is scheduled with ``schedule(on:_:)-(_,()->Void)`` leaves the group also
  /// when it is dropped.
  ///
  /// - Parameter entered: the initial count, from 0 to 2^31 - 1; other values stop the process with a message.
  public init(entered: Int = 0) {
    let entered = checked(entered, "ActionGroup.init", "entered")  // stops the process if out of range
    csched_group_init(group)
    if entered > 0 { csched_group_enter(group, entered) }
  }

  deinit {
    csched_group_destroy(group)
    group.deallocate()
  }

  /// Enters the group. Each call needs one call of ``leave()``.
  public func enter() { csched_group_enter(group, 1) }

  /// Leaves the group. The leave that empties the group wakes all waiters, and schedules the actions of
  /// ``notify(on:_:)``.
  public func leave() { csched_group_leave(group) }

  /// The number of enters without a leave.
  public var pendingCount: Int { Int(csched_group_count(group)) }

  /// Whether the group is empty. If so, the caller sees everything that was done before each leave.
  public var isIdle: Bool { pendingCount == 0 }

  // MARK: Waiting

  /// Waits until the group is empty.
  @available(*, noasync, message: "it blocks a thread of Swift's own: use await waitForAll")
  public func wait() { csched_group_wait(group) }

  /// Waits at most `timeout` until the group is empty. Returns whether it is empty.
  ///
  /// - Parameter timeout: how long to wait at most. A timeout that is not positive does not wait.
  @available(*, noasync, message: "it blocks a thread of Swift's own: use await waitForAll")
  public func wait(for timeout: Duration) -> Bool { csched_group_wait_until(group, timeout.deadline) }

  /// Waits at most until `deadline` for the group to be empty. Returns whether it is empty.
  ///
  /// - Parameter deadline: the latest instant to wait for. A deadline in the past does not wait.
  @available(*, noasync, message: "it blocks a thread of Swift's own: use await waitForAll")
  public func wait(until deadline: MonotonicTime) -> Bool { csched_group_wait_until(group, deadline.nanoseconds) }

  /// Suspends the task until the group is empty.
  ///
  /// - Parameter isolation: the caller's isolation, in which this function runs.
  /// - Throws: `CancellationError` as soon as the task is cancelled. The work in the group continues.
  public func waitForAll(isolation: isolated (any Actor)? = #isolation) async throws {
    let resumption = Resumption<Void>()  // resumes this task at its first `finish`
    let notice = GroupNotice { resumption.finish(.success(())) }
    try await withTaskCancellationHandler {
      try await resumption.outcome(isolation: isolation) {
        notice.add(to: group)
        // a cancellation before `add` found no notice to remove: without this, the group would retain the notice until
        // it is empty
        if resumption.isOver { notice.remove(from: group) }
      }
    } onCancel: {
      resumption.finish(.failure(CancellationError()))
      notice.remove(from: group)
    }
  }

  /// Suspends the task until the group is empty, until `deadline` at the latest.
  ///
  /// - Parameters:
  ///   - deadline: the end of the wait.
  ///   - clock: the clock of `deadline`; for the time of a scheduler its ``SchedulerType/clock``.
  ///   - isolation: the caller's isolation, in which this function runs.
  /// - Throws: ``SchedulerError/timeout`` at the deadline; `CancellationError` if the task is cancelled first. The work
  ///   in the group continues.
  public func waitForAll<C: Clock>(
    deadline: C.Instant, clock: C = ContinuousClock(), isolation: isolated (any Actor)? = #isolation
  ) async throws {
    try await withDeadline(deadline, clock: clock, isolation: isolation) { try await waitForAll() }
  }

  /// Waits as ``waitForAll(deadline:clock:isolation:)`` does, without a clock; inside `withVirtualTime` on that time.
  ///
  /// - Parameters:
  ///   - deadline: the end of the wait.
  ///   - isolation: the caller's isolation, in which this function runs.
  /// - Throws: what ``waitForAll(deadline:clock:isolation:)`` throws.
  public func waitForAll(deadline: Deadline, isolation: isolated (any Actor)? = #isolation) async throws {
    try await waitForAll(deadline: deadline, clock: DeadlineClock(), isolation: isolation)
  }

  /// Schedules `action` on `scheduler` once, when the group is empty. If the group is empty already, this call
  /// schedules the action. Otherwise the ``leave()`` that empties the group does. Several actions are scheduled in the
  /// order of the calls.
  ///
  /// - Parameters:
  ///   - scheduler: where `action` runs.
  ///   - action: what to run, once.
  public func notify(on scheduler: some ImmediateSchedulerType, _ action: @escaping @Sendable () -> Void) {
    GroupNotice { scheduler.schedule(action) }.add(to: group)
  }
}

/// A closure that a group calls once, when the group is empty, unless the notice is removed before.
private final class GroupNotice: @unchecked Sendable {
  // Unchecked: a lock of the C core guards `memory` and its link in the group's list of notices.
  private struct Memory {
    var notice = csched_group_notice()  // first field: a pointer to it is a pointer to this Memory
    var owner: Unmanaged<GroupNotice>?  // the retained reference of the C group; set by `add`
  }

  private let memory = UnsafeMutablePointer<Memory>.allocate(capacity: 1)
  private let call: @Sendable () -> Void

  init(_ call: @escaping @Sendable () -> Void) {
    self.call = call
    memory.initialize(to: Memory())
  }

  deinit { memory.deallocate() }

  private var notice: UnsafeMutablePointer<csched_group_notice> {
    UnsafeMutableRawPointer(memory).assumingMemoryBound(to: csched_group_notice.self)
  }

  /// Adds the notice to the group. Call this once. The group retains the notice until it has called or removed it.
  func add(to group: UnsafeMutablePointer<csched_group>) {
    memory.pointee.owner = .passRetained(self)
    csched_group_call_(group, notice) {  // the group calls this closure when it is empty
      let memory = UnsafeMutableRawPointer($0!).assumingMemoryBound(to: Memory.self)
      memory.pointee.owner!.takeRetainedValue().call()
    }
  }

  /// Removes the notice from the group, unless the group has called it.
  func remove(from group: UnsafeMutablePointer<csched_group>) {
    // true: removed before the call, so the group's reference is released here
    if csched_group_take_back(group, notice) { memory.pointee.owner!.release() }
  }
}

/// A count-down latch: it opens at zero. You may release a latch that is not open; an ``ActionGroup`` must be empty
/// when it is released.
@available(*, deprecated, message: "use ActionGroup(entered:), whose leave() counts down")
public final class Latch: Sendable {
  private let group: ActionGroup

  public init(count: Int) { group = ActionGroup(entered: count) }
  deinit { countDown(by: group.pendingCount) }  // the release of a group that is not empty stops the process
  public func countDown(by count: Int = 1) { for _ in 0..<count { group.leave() } }
  public var count: Int { group.pendingCount }
  public var isOpen: Bool { group.isIdle }

  @available(*, noasync, message: "it blocks a thread of Swift's own: use await waitForAll of an ActionGroup")
  public func wait() { group.wait() }

  @available(*, noasync, message: "it blocks a thread of Swift's own: use await waitForAll of an ActionGroup")
  public func wait(for timeout: Duration) -> Bool { group.wait(for: timeout) }

  @available(*, noasync, message: "it blocks a thread of Swift's own: use await waitForAll of an ActionGroup")
  public func wait(until deadline: MonotonicTime) -> Bool { group.wait(until: deadline) }
}
