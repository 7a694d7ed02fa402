internal import CScheduler

/// A scheduler marker: a target that can be current, but receives no work. It identifies the scheduler of an action where several schedulers share
/// a core, or where actions run on the caller's stack.
final class CurrentTag: TargetCore, @unchecked Sendable {
  // Unchecked, as its superclass is.
  typealias Maker = @Sendable (CurrentTag) -> any ImmediateSchedulerType & AnyObject
  private let make: Maker?

  /// Creates a marker. `make` makes a new scheduler if the first one was released. Without `make`, the scheduler must outlive its actions.
  init(madeBy make: Maker? = nil) {
    self.make = make
    let target = UnsafeMutablePointer<csched_target>.allocate(capacity: 1)
    target.initialize(to: csched_target(type: undelivered, owner: nil, waits_for: nil))
    super.init(target)
  }

  deinit { target.deallocate() }

  override func makeScheduler() -> any ImmediateSchedulerType & AnyObject { make?(self) ?? super.makeScheduler() }
}

/// A scheduler marker for schedulers in other modules of this package.
package struct CurrentScope: Sendable {
  private let tag = CurrentTag()

  package init() {}

  /// Makes `scheduler` the value of ``Schedulers/current`` in closures that run here.
  package func publish(_ scheduler: any ImmediateSchedulerType & AnyObject) { tag.publish(scheduler) }

  package func run(_ body: () -> Void) { tag.run(body) }
}

/// A function table without entries.
private nonisolated(unsafe) let undelivered = constantTable(csched_target_type())
