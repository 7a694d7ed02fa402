/// A scheduler of your own: you say how work gets to where it runs, and get everything else.
///
/// ```swift
/// let widgets = CustomScheduler(name: "widgets") { work in toolkit.performOnMainLoop(work) }
/// widgets.schedule(after: .seconds(1)) { assert(Schedulers.current === widgets) }
/// let queue = SerialScheduler(target: widgets)   // if the toolkit is concurrent, this is serial all the same
/// ```
///
/// ``Schedulers/current``, disposal before the turn, delayed, periodic and recursive actions, serial queues on top: all come from here.
///
/// 1. The closure is called on any thread, for one piece of work at a time; it must see to it that the work is called once, later or
///    at once. If it lets go of the work uncalled, the action is dropped: its closure is released, and nothing runs.
/// 2. Order and threads are the closure's to give.
public final class CustomScheduler: SchedulerTarget, @unchecked Sendable {
  // Unchecked, as its superclass is.
  /// What it was called.
  public let name: String

  /// Makes one whose work goes to `enqueue`.
  ///
  /// - Parameters:
  ///   - name: for ``name``, any length.
  ///   - enqueue: called for each piece of work, which it is to call once, later or at once.
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
