internal import CScheduler

/// Owns the core's thread, and with it the memory of its loop. The thread keeps it until its end.
final class ThreadCore: TargetCore, @unchecked Sendable {
  // Unchecked, as its superclass is.
  let thread: OpaquePointer

  /// What the thread gives back at its end.
  private typealias Held = UnsafeMutablePointer<Unmanaged<ThreadCore>?>

  init(name: String, stackSize: Int) throws(ThreadScheduler.StartError) {
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
      throw ThreadScheduler.StartError(code: error)
    }
    self.thread = thread
    super.init(csched_loop_target(csched_thread_loop(thread)))
    held.pointee = .passRetained(self)
  }

  deinit { csched_thread_destroy(thread) }

  override func makeScheduler() -> any ImmediateSchedulerType & AnyObject { ThreadScheduler(core: self) }

  func stop(_ policy: ThreadScheduler.StopPolicy) { csched_thread_stop(thread, policy.core) }
}

extension ThreadScheduler.StopPolicy {
  var core: csched_stop_policy { self == .runOutstanding ? CSCHED_STOP_RUN : CSCHED_STOP_DROP }
}
