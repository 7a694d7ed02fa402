internal import CScheduler

/// Runs the main scheduler in another library's main loop, through a descriptor. For Dispatch's main queue use the
/// module `SchedulerDispatch`.
extension MainScheduler {
  /// Lets another library's main loop run the main scheduler, in place of ``run()``: GLib's, libuv's, or a loop around
  /// `poll`.
  ///
  /// ```swift
  /// let descriptor = try MainScheduler.hostedDescriptor()
  /// // and whenever that can be read, on the main thread:
  /// if !MainScheduler.runReady() { endTheLoop() }
  /// ```
  ///
  /// Nothing polls. The descriptor becomes readable when any thread schedules an action, a delayed action is due, a
  /// source has an event, or ``stop()`` is called. So the host needs no timer for this library.
  ///
  /// - Returns: the descriptor. The host waits until it is readable. The main scheduler owns it: do not read or close
  ///   it. In a child of `fork` it has the same number. A host that keeps its set in the kernel (epoll) must add it
  ///   again in the child.
  /// - Throws: ``SchedulerError/system(_:)`` if the system provides no descriptors; then nothing has changed. On the
  ///   main thread only.
  public static func hostedDescriptor() throws(SchedulerError) -> Int32 {
    MainCore.shared.requireMainThread("hostedDescriptor")
    if csched_main_loop_is_hosted_() {
      misuse(
        "MainScheduler.hostedDescriptor", "Dispatch's main queue runs the main scheduler already. Give it to one host.")
    }
    let (descriptor, error) = hostDescriptor()  // error: an errno value, or 0
    if error != 0 { throw SchedulerError.system(error) }
    return descriptor
  }

  /// Runs the ready actions, and returns. The host calls it when the descriptor is readable. A call runs at most 256
  /// actions, so that the host can run its own work. If actions remain, the descriptor stays readable. On the main
  /// thread only.
  ///
  /// - Returns: whether the host continues its loop. False once for a ``stop()`` that no nested ``run()`` consumed;
  ///   false after a shutdown.
  public static func runReady() -> Bool {
    MainCore.shared.requireMainThread("runReady")
    let loop = MainCore.shared.loop
    csched_loop_run_ready(loop, 256)
    // After that call, a run with a past deadline runs nothing. If `stop` was called, it consumes the request and
    // returns ENDED, otherwise TIMED_OUT.
    let result = csched_loop_run_until(loop, 0)
    // after a shutdown: late jobs (of Swift tasks) of the closed loop may now run on the pool
    if result == CSCHED_RUN_CLOSED { MainCore.endExclusionIfClosed() }
    return result == CSCHED_RUN_TIMED_OUT
  }
}
