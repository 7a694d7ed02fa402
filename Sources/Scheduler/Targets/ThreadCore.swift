internal import CScheduler
internal import Synchronization

/// Owns the core's thread, and with it the memory of its loop. The thread keeps it until its end.
final class ThreadCore: TargetCore, @unchecked Sendable {
  // Unchecked, as its superclass is.
  let thread: OpaquePointer
  /// The schedulers that stand for it, and its delayed actions.
  private let users = Atomic<Int>(0)

  /// What the thread gives back at its end.
  private typealias Held = UnsafeMutablePointer<Unmanaged<ThreadCore>?>

  init(name: String, stackSize: Int) throws(StartError) {
    let held = Held.allocate(capacity: 1)
    held.initialize(to: nil)
    var thread: OpaquePointer?
    let error = name.withCString { name in
      var options = csched_thread_options(
        name: name,
        at_end: {
          let held = $0!.assumingMemoryBound(to: Unmanaged<ThreadCore>?.self)
          held.pointee?.release()
          held.deallocate()
        }, context: held, stack_size: stackSize)
      return csched_thread_start(&thread, &options)
    }
    guard let thread, error == 0 else {
      held.deallocate()
      throw StartError(code: error)
    }
    self.thread = thread
    super.init(csched_loop_target(csched_thread_loop(thread)), name: name)
    held.pointee = .passRetained(self)
  }

  deinit { csched_thread_destroy(thread) }

  override func makeScheduler() -> any ImmediateSchedulerType & AnyObject { ThreadScheduler(core: self) }

  override func use() { users.add(1, ordering: .relaxed) }  // by one who is a user, or holds the core

  /// Ends the thread when nobody uses it any more.
  override func letGo() {
    if users.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { stop(.runOutstanding) }
  }

  func stop(_ policy: StopPolicy) { csched_thread_stop(thread, policy.core) }
}
