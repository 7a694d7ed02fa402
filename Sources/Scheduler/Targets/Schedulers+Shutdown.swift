internal import CScheduler

extension Schedulers {
  /// Ends what this module keeps for the whole process, and frees it: the last thing a program does that wants tools for memory and
  /// threads to find nothing of ours.
  ///
  /// ```swift
  /// database.stop()
  /// database.join()
  /// Schedulers.shutdown()
  /// ```
  ///
  /// 1. What is queued or due on the shared pool and on the main scheduler gets what `policy` says; delayed actions whose time has not
  ///    come are dropped. What those that run schedule there is refused, and so is what a serial queue has beyond its batch (64 actions):
  ///    wait for work that must be done.
  /// 2. It returns when the pool's threads are gone.
  /// 3. Afterwards ``MainScheduler``, and whatever has the old pool as its target, refuses: an action is released at once, and its
  ///    disposable says that it is disposed. Schedulers that are made afterwards work, on a pool of their own that asks for another call,
  ///    and so do tasks that are waited for. A task or an actor that is on one of the old ones goes on, on such a pool, isolated as before.
  /// 4. A ``ThreadScheduler`` is its owner's to stop and to join; what another thread keeps for ``CurrentThreadScheduler`` is freed when
  ///    that thread ends.
  ///
  /// Call it on the main thread. On another one the main scheduler is closed, and what waits there is left to the main thread. Inside of
  /// an action it would wait for itself: that stops the process with a message. Any number of times. Where `SchedulerExecutors` has been installed,
  /// all tasks run here: that stops the process with a message, too.
  ///
  /// - Parameter policy: what becomes of the actions of the pool and of the main scheduler that have not begun.
  public static func shutdown(_ policy: Schedulers.StopPolicy = .runOutstanding) {
    guard csched_target_current() == nil, csched_loop_current() == nil, csched_trampoline_is_required() else {
      misuse(
        "Schedulers.shutdown",
        "called inside of an action, which it would have to wait for. Call it outside of all actions.")
    }
    if GlobalJobs.isInstalled {
      misuse(
        "Schedulers.shutdown",
        "called after GlobalExecutors.install: all tasks and the main actor run here, and could end no more. Leave the call out."
      )
    }
    SubscriptionScheduler.instance.letGo()
    PoolCore.shutDown(policy.core)
    csched_shutdown(policy.core)
    if MainCore.isHere { MainCore.endIfClosed() }
    PoolCore.shutDown(policy.core)  // the main scheduler's last actions may have made another
  }

  /// Gives memory of actions that are over back to the system, in whole pages: useful after very many have waited at once. ``shutdown(_:)``
  /// does it, too.
  ///
  /// It takes about 10 ns for each action that there is room for; other threads that schedule may have to wait meanwhile. Any thread, at any time.
  public static func trim() { csched_trim() }
}
