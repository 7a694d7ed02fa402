internal import CScheduler

/// In the main loop of another library, which waits for descriptors. (Dispatch's has a way of its own, in module `SchedulerMainLoop`.)
extension MainScheduler {
  /// Has another library's main loop run the main scheduler, in place of ``run()``: GLib's, libuv's, one around `poll`.
  ///
  /// ```swift
  /// let descriptor = try MainScheduler.hostedDescriptor()
  /// // and whenever that can be read, on the main thread:
  /// if !MainScheduler.runReady() { endTheLoop() }
  /// ```
  ///
  /// Nothing polls: the descriptor can be read as soon as an action is scheduled, on whichever thread, a delayed one is due, a source has something,
  /// or ``stop()`` is called; so the host needs no timer for us.
  ///
  /// - Returns: the descriptor for the host to wait for, until it can be read. It stays the main scheduler's: neither read nor close it. In a child of
  ///   fork it has the same number; a host that keeps its set in the kernel (epoll) has to be told of it again there.
  /// - Throws: ``SchedulerError/system(_:)`` when the system has no descriptors to give; then nothing has changed. On the main thread only.
  public static func hostedDescriptor() throws(SchedulerError) -> Int32 {
    MainCore.shared.requireMain("hostedDescriptor")
    if csched_main_loop_is_hosted_() {
      misuse(
        "MainScheduler.hostedDescriptor", "Dispatch's main queue runs the main scheduler already. Give it to one host.")
    }
    let (descriptor, error) = hostDescriptor()
    if error != 0 { throw SchedulerError.system(error) }
    return descriptor
  }

  /// Runs what is ready, and returns: for the host, when the descriptor can be read. What is left after 256 actions waits for the next call,
  /// so that the host's own work has its turn; the descriptor can be read then. On the main thread only.
  ///
  /// - Returns: whether to go on. False once after ``stop()`` was called while no action ran the main scheduler itself, for the host to end its own loop; and
  ///   after ``Schedulers/shutdown(_:)``.
  public static func runReady() -> Bool {
    MainCore.shared.requireMain("runReady")
    let loop = MainCore.shared.loop
    csched_loop_run_ready(loop, 256)
    let result = csched_loop_run_until(loop, 0)  // runs nothing, and takes a stop
    if result == CSCHED_RUN_CLOSED { MainCore.endIfClosed() }
    return result == CSCHED_RUN_TIMED_OUT
  }
}
