internal import CScheduler

extension Schedulers {
  /// Ends the threads, and frees the memory, that this module keeps for the whole process. Call it as the last step of
  /// a program, so that memory and thread checkers find nothing of this module.
  ///
  /// ```swift
  /// database.stop()
  /// database.join()
  /// Schedulers.shutdown()
  /// ```
  ///
  /// 1. Queued and due actions of the shared pool and of the main scheduler, and of queues and limits on these, are
  ///    handled as `policy` says. Delayed actions that are not due are dropped. Actions that running actions schedule
  ///    there are refused or dropped.
  /// 2. The call returns when the pool's threads have ended.
  /// 3. Afterwards ``MainScheduler``, and schedulers whose target is the old pool, refuse actions. A refused action is
  ///    released at once, and its disposable reports that it is disposed. Schedulers made afterwards, and awaited
  ///    tasks, start a new pool, which needs another call of this function. A task or actor on an old scheduler
  ///    continues on a new pool, isolated as before.
  /// 4. The owner of a ``ThreadScheduler`` must stop and join it. A thread's memory for ``CurrentThreadScheduler`` is
  ///    freed when that thread ends.
  ///
  /// Call it on the main thread, any number of times. On another thread it closes the main scheduler, and leaves its
  /// waiting actions to the main thread. Inside an action it would wait for itself, so it stops the process with a
  /// message. It also stops the process if `SchedulerExecutors` has been installed, because all tasks then run on this
  /// module's threads.
  ///
  /// - Parameter policy: how to treat actions of the pool and of the main scheduler that have not started.
  public static func shutdown(_ policy: Schedulers.StopPolicy = .runOutstanding) {
    // Inside an action one of these is false. The third: inside an action of `CurrentThreadScheduler`.
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
    SubscriptionScheduler.instance.releaseBackground()  // the next use makes a queue on the next pool
    PoolCore.shutDown(policy.core)
    csched_shutdown(policy.core)  // ends the clocks' thread, closes the main loop, frees cached memory
    // late jobs of the closed main loop may now run on a pool
    if MainCore.isOnThread { MainCore.endExclusionIfClosed() }
    PoolCore.shutDown(policy.core)  // again: actions that csched_shutdown ran may have started another pool
  }

  /// Returns the memory of completed actions to the system, in whole pages, as ``shutdown(_:)`` does. Use it after very
  /// many actions have waited.
  ///
  /// It takes about 10 ns for each action for which memory was allocated. Other threads that schedule may wait
  /// meanwhile. Thread: any, at any time.
  public static func trim() { csched_trim() }
}
