internal import CScheduler

/// Counts what is under way, on any schedulers and threads: to wait until nothing is, to be told of it, or to cancel it.
///
/// ```swift
/// let group = ActionGroup()
/// for page in pages { group.schedule(on: downloads) { page.fetch() } }
/// group.notify(on: MainScheduler.instance) { view.reload() }
/// guard group.wait(for: .seconds(5)) else { return group.cancelAll() }
/// ```
///
/// 1. An action that is scheduled through the group is in it from then until it has run, with its captures, or has been dropped. What is not
///    an action enters and leaves by ``enter()`` and ``leave()``.
/// 2. Who waits, or is told, sees what was done before each leave. A group that is empty may be entered again; who waited for it is
///    through all the same.
/// 3. On a thread of the pool another one takes the waiter's place. On the thread of a ``ThreadScheduler``, and on the main thread, the
///    wait holds the scheduler up: what the group waits for must run elsewhere.
/// 4. A leave without an enter, and a group that is let go while something has entered and not left, stop the process with a message.
///
/// In a child of fork nobody waits; the count is there.
public final class ActionGroup: Sendable {
  // The core's, which any thread may call.
  nonisolated(unsafe) private let group = UnsafeMutablePointer<csched_group>.allocate(capacity: 1)
  /// Those that ``cancelAll()`` cancels.
  let members = GroupMembers()

  /// Makes a group that waits for `entered` calls of ``leave()``, as a latch does.
  ///
  /// ```swift
  /// let ready = ActionGroup(entered: 3)
  /// for part in parts { queue.schedule { part.load(); ready.leave() } }
  /// guard ready.wait(for: .seconds(5)) else { throw LoadError.tooSlow }
  /// ```
  ///
  /// If the queue drops an action, its `leave()` is not called: the group stays entered, and its release stops the process. An action that is
  /// scheduled by ``schedule(on:_:)`` leaves also when it is dropped.
  ///
  /// - Parameter entered: how many, 0 up to 2^31 - 1; others stop the process with a message.
  public init(entered: Int = 0) {
    let entered = checked(entered, "ActionGroup.init", "entered")
    csched_group_init(group)
    if entered > 0 { csched_group_enter(group, entered) }
  }

  deinit {
    csched_group_destroy(group)
    group.deallocate()
  }

  /// Enters the group for something that is to ``leave()`` once.
  public func enter() { csched_group_enter(group, 1) }

  /// Leaves the group. The last one out wakes all who wait, and schedules what is to be told.
  public func leave() { csched_group_leave(group) }

  /// How many have entered and not left.
  public var pendingCount: Int { Int(csched_group_count(group)) }

  /// Whether nothing is under way. What was done before is then seen.
  public var isIdle: Bool { pendingCount == 0 }

  // MARK: waiting

  /// Waits until the group is empty.
  @available(*, noasync, message: "it blocks a thread of Swift's own: use await waitForAll")
  public func wait() { csched_group_wait(group) }

  /// Waits until the group is empty, for `timeout` at the most, and tells whether it was. A timeout that is not positive does not wait.
  ///
  /// - Parameter timeout: how long to wait at the most. One that is not positive does not wait.
  @available(*, noasync, message: "it blocks a thread of Swift's own: use await waitForAll")
  public func wait(for timeout: Duration) -> Bool { csched_group_wait_until(group, timeout.deadline) }

  /// Waits until the group is empty, until `deadline` at the most, and tells whether it was. A deadline in the past does not wait.
  ///
  /// - Parameter deadline: until when to wait at the most. One in the past does not wait.
  @available(*, noasync, message: "it blocks a thread of Swift's own: use await waitForAll")
  public func wait(until deadline: MonotonicTime) -> Bool { csched_group_wait_until(group, deadline.nanoseconds) }

  /// Suspends the task until the group is empty.
  ///
  /// - Parameter isolation: the caller's, which it keeps.
  /// - Throws: `CancellationError` as soon as the task is cancelled. What is in the group goes on.
  public func waitForAll(isolation: isolated (any Actor)? = #isolation) async throws {
    let resumption = Resumption<Void>()
    let notice = GroupNotice { resumption.finish(.success(())) }
    try await withTaskCancellationHandler {
      try await resumption.outcome(isolation: isolation) {
        notice.give(to: group)
        if resumption.isOver { notice.takeBack(from: group) }  // the handler came before it
      }
    } onCancel: {
      resumption.finish(.failure(CancellationError()))
      notice.takeBack(from: group)
    }
  }

  /// Schedules `action` on `scheduler` when the group is empty, once: at once if it is, else from the thread that is the last to leave.
  /// Several are scheduled in the order in which they were given.
  ///
  /// - Parameters:
  ///   - scheduler: where `action` runs.
  ///   - action: what to run, once.
  public func notify(on scheduler: some ImmediateSchedulerType, _ action: @escaping @Sendable () -> Void) {
    GroupNotice { scheduler.schedule(action) }.give(to: group)
  }
}

/// A call that a group makes when it is empty, once, unless it is taken back before.
private final class GroupNotice: @unchecked Sendable {
  // Unchecked, because the group has the memory, and who is in it, under a lock of the core's.
  private struct Memory {
    var core = csched_group_notice()  // first: its address is the notice's
    var owner: Unmanaged<GroupNotice>?
  }

  private let memory = UnsafeMutablePointer<Memory>.allocate(capacity: 1)
  private let call: @Sendable () -> Void

  init(_ call: @escaping @Sendable () -> Void) {
    self.call = call
    memory.initialize(to: Memory())
  }

  deinit { memory.deallocate() }

  private var core: UnsafeMutablePointer<csched_group_notice> {
    UnsafeMutableRawPointer(memory).assumingMemoryBound(to: csched_group_notice.self)
  }

  /// Once. The group keeps it until it is called or taken back.
  func give(to group: UnsafeMutablePointer<csched_group>) {
    memory.pointee.owner = .passRetained(self)
    csched_group_call_(group, core) {
      let memory = UnsafeMutableRawPointer($0!).assumingMemoryBound(to: Memory.self)
      memory.pointee.owner!.takeRetainedValue().call()
    }
  }

  func takeBack(from group: UnsafeMutablePointer<csched_group>) {
    if csched_group_take_back(group, core) { memory.pointee.owner!.release() }
  }
}
