internal import CScheduler
internal import Synchronization

/// The core of the main thread's schedulers: one loop for all of them, and how much waits in it.
final class MainCore: TargetCore, @unchecked Sendable {
  // Unchecked, as its superclass is.
  static let shared = MainCore()
  let loop: OpaquePointer
  /// How many actions are waiting or running.
  private let outstanding = Atomic<Int>(0)

  private init() {
    guard let loop = csched_main_loop() else { misuse("MainScheduler.instance", "no memory for its loop") }
    self.loop = loop
    super.init(csched_loop_target(loop))
  }

  override func makeScheduler() -> any ImmediateSchedulerType & AnyObject { MainScheduler.instance }

  /// Whether the caller is on the main thread, or on the one that has taken its place in a host.
  var isHere: Bool { csched_is_main_thread() || csched_loop_is_on_thread(loop) }

  /// What an outstanding action holds until it has run, or was dropped.
  final class Ticket: Sendable {
    fileprivate init() {}
    deinit { MainCore.shared.outstanding.subtract(1, ordering: .acquiringAndReleasing) }
  }

  /// A ticket, and whether nothing else is outstanding.
  func takeTicket() -> (ticket: Ticket, isFirst: Bool) {
    let isFirst = outstanding.add(1, ordering: .acquiringAndReleasing).oldValue == 0
    return (Ticket(), isFirst)
  }

  /// Makes sure that the loop knows its thread, which must be the main one.
  func requireMain(_ function: String) {
    if !isHere {
      misuse(
        "MainScheduler.\(function)",
        "called on another thread. Only the main thread runs the main scheduler: call it there.")
    }
    if !csched_loop_is_on_thread(loop) { csched_loop_attach(loop) }
  }
}
