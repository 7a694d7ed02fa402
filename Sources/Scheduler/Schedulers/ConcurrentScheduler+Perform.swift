internal import CScheduler

extension ConcurrentScheduler {
  /// Calls `body` once with each number from 0 up to `iterations`, on this thread and on others of the pool. Returns
  /// when all calls have returned; their effects are then visible to the caller.
  ///
  /// ```swift
  /// let image = Image(…), scheduler = ConcurrentScheduler()
  /// scheduler.concurrentPerform(iterations: image.rows, grain: 16) { row in image.brighten(row) }
  /// ```
  ///
  /// 1. The calling thread takes part, and does not wait for another thread to start. So the call ends also on one
  ///    processor, in an action of any scheduler, when nested, and on a scheduler that was shut down. The calling
  ///    thread makes calls of this loop, and of loops inside of it, but runs no other work. So a loop under a lock, or
  ///    in an action of a queue, meets no action that it did not start.
  /// 2. On a scheduler with a limit, the other threads count toward the limit. The calling thread does not.
  /// 3. ``Schedulers/current`` is this scheduler in each call.
  /// 4. In an action of a queue, calls on the calling thread are inside of that queue: `isCurrent` is true there. On
  ///    other threads it is false.
  /// 5. A thread claims many numbers at first and fewer later. So the cost of a call is low, and all threads end at
  ///    about the same time.
  ///
  /// It corresponds to Dispatch's `concurrentPerform`. If `body` calls `fork`, the caller makes the remaining calls
  /// alone in the child. If other threads had started calls, the child stops with a message.
  ///
  /// - Parameters:
  ///   - iterations: the number of calls. 0 calls nothing; a negative number stops the process with a message.
  ///   - grain: the least number of iterations that a thread claims at once. Use a larger grain for calls of a few
  ///     nanoseconds. With fewer than twice as many iterations, all calls are on this thread. A grain below 1 stops the
  ///     process with a message.
  ///   - body: the work. It is called on several threads at a time.
  public func concurrentPerform(iterations: Int, grain: Int = 1, _ body: @Sendable (_ iteration: Int) -> Void) {
    if iterations < 0 {
      misuse("ConcurrentScheduler.concurrentPerform", of: name, "\(iterations) iterations: give 0 or more.")
    }
    if grain < 1 { misuse("ConcurrentScheduler.concurrentPerform", of: name, "a grain of \(grain): give 1 or more.") }
    withoutActuallyEscaping(body) { body in
      var numbers = Numbers(body: body, target: (marker ?? core).target)
      withUnsafeMutablePointer(to: &numbers) {  // valid until csched_apply returns: then all calls have returned
        csched_apply(core.target, threadsToPerform, iterations, grain, Numbers.perform, $0)
      }
    }
  }

  /// The context of the C callback that runs one range of numbers.
  private struct Numbers {
    let body: @Sendable (Int) -> Void
    let target: UnsafeMutablePointer<csched_target>  // entered for each call of `body`: determines `Schedulers.current`

    /// The callback of csched_apply: calls `body` with the numbers `from..<to`.
    static let perform: @convention(c) (UnsafeMutableRawPointer?, Int, Int) -> Void = { context, from, to in
      let numbers = context!.assumingMemoryBound(to: Numbers.self).pointee
      TargetCore.run({ for iteration in from..<to { numbers.body(iteration) } }, inside: numbers.target)
    }
  }

  /// How many threads may take part: the pool's number of threads, or with a limit the caller and as many other threads
  /// as the limit allows.
  private var threadsToPerform: Int {
    let limit = core as? LimitCore
    let workers = ((limit?.base ?? core) as? PoolCore)?.workers ?? 1  // 1: in virtual time
    return limit.map { min($0.most, workers - 1) + 1 } ?? workers  // + 1: the caller, which the limit does not count
  }
}
