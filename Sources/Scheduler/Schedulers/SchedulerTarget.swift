internal import CScheduler

/// The base class of schedulers that have their own target. They support delayed and periodic actions, and can be the target of a
/// ``SerialScheduler``.
///
/// The subclasses are ``ThreadScheduler``, ``SerialScheduler``, ``ConcurrentScheduler``, ``MainScheduler``, ``VirtualTimeScheduler`` and
/// ``CustomScheduler``. ``CustomScheduler`` makes a scheduler from anything that accepts a closure.
public class SchedulerTarget: SchedulerType, @unchecked Sendable {
  // Unchecked, because a class with subclasses cannot be checked. Apart from `executorOfActors`, all stored properties are constant and Sendable.
  /// The core to which actions are submitted.
  let core: TargetCore
  /// Identifies this scheduler if several schedulers share the core; otherwise nil.
  let marker: TargetCore?

  /// Created at first use under the core's lock. A job enqueued through this executor reads the property without the lock.
  @exclusivity(unchecked) private(set) final var executorOfActors: ActorExecutor?

  /// The executor for actors, created on demand.
  final var actorExecutor: ActorExecutor {
    core.lock.withLock {
      if let executorOfActors { return executorOfActors }
      let made = ActorExecutor(self)
      executorOfActors = made
      return made
    }
  }

  /// The C job types of its task jobs.
  final let jobTypes = JobTypes()

  /// Creates a scheduler, and publishes it as the current one in its actions.
  init(core: TargetCore, marker: TargetCore? = nil) {
    self.core = core
    self.marker = marker
    (marker ?? core).publish(self)
  }

  public var now: MonotonicTime { core.timeline?.now ?? .now }

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

  /// Schedules `work`, which stores the disposable that it returns in `returning`.
  package func submit(_ work: @escaping @Sendable () -> Void, of returning: ReturningAction) {
    core.submit(work, inside: marker, of: returning)
  }

  /// Schedules `work` for `delay` from now. It stores the disposable that it returns in `returning`.
  package final func submit(
    _ work: @escaping @Sendable () -> Void, after delay: Duration, of returning: ReturningAction
  ) {
    core.submit(work, after: delay, inside: marker, of: returning)
  }
}

/// A target that can be current, but receives no work. It identifies the scheduler of an action if several schedulers share a core, or if actions
/// run on the caller's stack.
final class SchedulerMarker: TargetCore, @unchecked Sendable {
  // Unchecked, as its superclass is.
  typealias Maker = @Sendable (SchedulerMarker) -> any ImmediateSchedulerType & AnyObject
  private let make: Maker?

  /// Creates a marker. `make` makes a new scheduler if the first one was released. Without `make`, the scheduler must outlive its actions.
  init(madeBy make: Maker? = nil) {
    self.make = make
    let target = UnsafeMutablePointer<csched_target>.allocate(capacity: 1)
    target.initialize(to: csched_target(type: markerType, owner: nil, waits_for: nil))
    super.init(target)
  }

  deinit { target.deallocate() }

  override func makeScheduler() -> any ImmediateSchedulerType & AnyObject { make?(self) ?? super.makeScheduler() }
}

/// A scheduler marker for schedulers in other modules of this package.
package struct CurrentScope: Sendable {
  private let marker = SchedulerMarker()

  package init() {}

  /// Makes `scheduler` the value of ``Schedulers/current`` in closures that run here.
  package func publish(_ scheduler: any ImmediateSchedulerType & AnyObject) { marker.publish(scheduler) }

  package func run(_ body: () -> Void) { marker.run(body) }
}

/// The replacement of the shared pool for schedulers that are created in virtual time. The module `SchedulerVirtualTime` sets it.
package enum SharedPool {
  private static let find = Protected<(@Sendable () -> SchedulerTarget?)?>(nil)

  /// Sets `find`, which returns the target for schedulers that the calling thread or task creates; `nil`: the shared pool.
  package static func replace(with find: @escaping @Sendable () -> SchedulerTarget?) { self.find.write(find) }

  static var replacement: SchedulerTarget? { find.read()?() }
}

/// A function table without entries, because no job is submitted to a marker.
private nonisolated(unsafe) let markerType = constantTable(csched_target_type())
