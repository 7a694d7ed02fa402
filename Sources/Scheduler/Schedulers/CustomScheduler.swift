/// A scheduler that runs work through your own closure.
///
/// ```swift
/// let widgets = CustomScheduler(name: "widgets") { work in toolkit.performOnMainLoop(work) }
/// widgets.schedule(after: .seconds(1)) { assert(Schedulers.current === widgets) }
/// let queue = SerialScheduler(target: widgets)   // serial even if the toolkit is concurrent
/// ```
///
/// You provide the delivery of work. The library provides ``Schedulers/current``, disposal before the start, delayed,
/// periodic and recursive actions, and serial queues that target this scheduler.
///
/// 1. The closure is called on any thread. Each call passes one piece of work, which the closure must cause to be
///    called once, later or at once. If the closure releases the work without a call, the action is dropped: its
///    closure is released, and nothing runs.
/// 2. The closure decides on order and threads.
public final class CustomScheduler: SchedulerTarget, @unchecked Sendable {
  // Unchecked, as its superclass is.
  /// The scheduler's name.
  public let name: String

  /// Creates a scheduler that passes each piece of work to `enqueue`.
  ///
  /// - Parameters:
  ///   - name: the value of ``name``, of any length.
  ///   - enqueue: called for each piece of work. It must call the work once, later or at once.
  public convenience init(
    name: String = "", enqueue: @escaping @Sendable (_ work: @escaping @Sendable () -> Void) -> Void
  ) {
    self.init(core: CustomCore(name: name, enqueue: enqueue), name: name)
  }

  init(core: CustomCore, name: String) {
    self.name = name
    super.init(core: core)
  }
}
