internal import CScheduler

/// The base class of schedulers that have their own target. They support delayed and periodic actions, and a
/// ``SerialScheduler`` can target them.
///
/// The subclasses are ``ThreadScheduler``, ``SerialScheduler``, ``ConcurrentScheduler``, ``MainScheduler``,
/// ``VirtualTimeScheduler`` and ``CustomScheduler``. ``CustomScheduler`` makes a scheduler from anything that accepts a
/// closure.
public class SchedulerTarget: SchedulerType, @unchecked Sendable {
  // Unchecked, because a class with subclasses cannot be checked. All stored properties are constant and Sendable,
  // except `executorOfActors`.
  /// The core to which actions are submitted.
  let core: TargetCore
  /// Identifies this scheduler in `Schedulers.current` if several schedulers share the core; otherwise nil.
  let marker: TargetCore?

  /// The value of `actorExecutor`; nil before its first use. Set once, under the core's lock. Jobs of the executor read
  /// it later, without the lock.
  @exclusivity(unchecked) private(set) final var executorOfActors: ActorExecutor?

  /// The executor for actors on this scheduler, created at first use.
  final var actorExecutor: ActorExecutor {
    core.lock.withLock {  // so that all callers get the same one
      if let executorOfActors { return executorOfActors }
      let made = ActorExecutor(self)
      executorOfActors = made
      return made
    }
  }

  /// The C core's function tables for jobs of tasks and actors on this scheduler.
  final let jobTypes = JobTypes()

  /// Creates a scheduler on `core`. In its actions `Schedulers.current` returns it, unless the core (or `marker`, if
  /// given) has a scheduler already.
  init(core: TargetCore, marker: TargetCore? = nil) {
    self.core = core
    self.marker = marker
    (marker ?? core).publish(self)
  }

  public var now: MonotonicTime { core.timeline?.now ?? .now }  // timeline: nil outside of virtual time

  @discardableResult
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    core.submit(action, inside: marker).task
  }

  @discardableResult
  public final func schedule(_ timing: ActionTiming, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    core.submit(action, timing, inside: marker)
  }

  @discardableResult
  public final func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    core.submit(action, after: delay, inside: marker)
  }

  /// Schedules `work`, which calls the user's action, and stores the disposable that the action returns in `chain`.
  package func submit(_ work: @escaping @Sendable () -> Void, of chain: ReturningAction) {
    core.submit(work, inside: marker, of: chain)
  }

  /// As `submit(_:of:)`, for `delay` from now.
  package final func submit(
    _ work: @escaping @Sendable () -> Void, after delay: Duration, of chain: ReturningAction
  ) {
    core.submit(work, after: delay, inside: marker, of: chain)
  }
}

/// A target that receives no work. It identifies the current scheduler if several schedulers share a core, or if
/// actions run on the caller's stack.
final class SchedulerMarker: TargetCore, @unchecked Sendable {
  // Unchecked, as its superclass is.
  /// Returns a scheduler that the given marker identifies.
  typealias Maker = @Sendable (SchedulerMarker) -> any ImmediateSchedulerType & AnyObject
  private let make: Maker?

  /// Creates a marker. `make` makes a new scheduler if an action reads `Schedulers.current` after its scheduler's
  /// release; nil: no action does.
  init(madeBy make: Maker? = nil) {
    self.make = make
    let target = UnsafeMutablePointer<csched_target>.allocate(capacity: 1)
    target.initialize(to: csched_target(type: markerType, owner: nil, waits_for: nil))
    super.init(target)  // sets `owner`
  }

  deinit { target.deallocate() }

  override func makeScheduler() -> any ImmediateSchedulerType & AnyObject { make?(self) ?? super.makeScheduler() }
}

/// A scheduler marker for schedulers in other modules of this package, which run closures inside it.
package struct CurrentScope: Sendable {
  private let marker = SchedulerMarker()
  package init() {}

  /// Makes `scheduler` the value of ``Schedulers/current`` in closures that ``run(_:)`` calls.
  package func publish(_ scheduler: any ImmediateSchedulerType & AnyObject) { marker.publish(scheduler) }

  /// Calls `body` with the published scheduler as the current one.
  package func run(_ body: () -> Void) { marker.run(body) }
}

/// The virtual time of a task or thread.
package protocol SurroundingTime: AnyObject, Sendable {
  /// The scheduler with this time.
  var target: SchedulerTarget { get }
  /// Whether the calling thread runs a job of this time.
  var isHere: Bool { get }
  /// Returns the estimated duration of a wait that ends in `remaining`, which the calling task has computed from the
  /// `now` of a clock of Swift's.
  func duration(ofWaitEndingIn remaining: Duration) -> Duration
}

/// The virtual time of the caller, whose scheduler replaces the shared pool for schedulers created there. The module
/// `SchedulerVirtualTime` sets it.
package enum SharedPool {
  // Not a `Protected`: see `PoolCore.Pools`.
  private final class Storage: @unchecked Sendable {
    // Unchecked: `lock` guards `find`.
    let lock = InlineLock()
    @exclusivity(unchecked) var find: (@Sendable () -> (any SurroundingTime)?)?

    init() { csched_swift_hold_in_forks_(lock.pointer, false) }
  }
  private static let storage = Storage()

  /// Stores `find`, which returns the virtual time of the calling thread or task; `nil` outside of virtual time.
  @inline(never) package static func replace(with find: @escaping @Sendable () -> (any SurroundingTime)?) {
    storage.lock.withLock { storage.find = find }
  }

  /// The target for a scheduler that the caller creates; `nil`: the shared pool.
  static var replacement: SchedulerTarget? { surroundingTime?.target }
  /// The virtual time of the caller; `nil` outside of virtual time.
  static var surroundingTime: (any SurroundingTime)? { find?() }
  private static var find: (@Sendable () -> (any SurroundingTime)?)? {
    @inline(never) get { storage.lock.withLock { storage.find } }
  }
}

/// The C core's function table for markers. All entries are NULL, because no job is submitted to a marker.
private nonisolated(unsafe) let markerType = constantTable(csched_target_type())
