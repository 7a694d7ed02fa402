internal import CScheduler

/// A target that is only ever current, and that nothing is delivered to: it tells which scheduler an action belongs to, where several
/// share a core, or run their actions on the caller's stack.
final class CurrentTag: TargetCore, @unchecked Sendable {
  // Unchecked, as its superclass is.
  typealias Maker = @Sendable (CurrentTag) -> any ImmediateSchedulerType & AnyObject
  private let make: Maker?

  /// Makes one whose scheduler `make` makes anew, should it be gone; without `make`, one whose scheduler outlives its actions.
  init(madeBy make: Maker? = nil) {
    self.make = make
    let target = UnsafeMutablePointer<csched_target>.allocate(capacity: 1)
    target.initialize(to: csched_target(type: undelivered, owner: nil, waits_for: nil))
    super.init(target)
  }

  deinit { target.deallocate() }

  override func makeScheduler() -> any ImmediateSchedulerType & AnyObject { make?(self) ?? super.makeScheduler() }
}

/// The same for a scheduler of another module of this package.
package struct CurrentScope: Sendable {
  private let tag = CurrentTag()

  package init() {}

  /// Makes `scheduler` the one that ``Schedulers/current`` is in what runs here.
  package func publish(_ scheduler: any ImmediateSchedulerType & AnyObject) { tag.publish(scheduler) }

  package func run(_ body: () -> Void) { tag.run(body) }
}

/// A table without functions.
private nonisolated(unsafe) let undelivered = constantTable(csched_target_type())
