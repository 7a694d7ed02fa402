internal import CScheduler

extension ConcurrentScheduler {
  /// Calls `body` once with each number from 0 up to `iterations`, on this thread and on others of the pool, and returns when all calls have:
  /// what they did is then seen.
  ///
  /// ```swift
  /// let image = Image(…), scheduler = ConcurrentScheduler()
  /// scheduler.concurrentPerform(iterations: image.rows, grain: 16) { row in image.brighten(row) }
  /// ```
  ///
  /// 1. The calling thread takes part, and nothing waits for another one to begin: so it ends on one processor, in an action of any scheduler, nested, and
  ///    on a scheduler that was shut down. Inside of an action of the pool it waits as forked jobs do, and runs others of these meanwhile.
  /// 2. Of a scheduler with a limit, the other threads take that many places at the most; the calling one takes none.
  /// 3. ``Schedulers/current`` is this scheduler in each call.
  /// 4. A thread takes many numbers at first, and fewer and fewer, so that a call costs little and all end together.
  ///
  /// As Dispatch's `concurrentPerform`. In a child of fork it goes on alone, or stops the process with a message where other threads had begun.
  ///
  /// - Parameters:
  ///   - iterations: how many. 0 calls nothing; less stops the process with a message.
  ///   - grain: how many a thread takes at the least. More for calls of some nanoseconds; fewer than twice as many iterations stay on this thread.
  ///     Less than 1 stops the process with a message.
  ///   - body: called on several threads at a time.
  public func concurrentPerform(iterations: Int, grain: Int = 1, _ body: @Sendable (_ iteration: Int) -> Void) {
    if iterations < 0 {
      misuse("ConcurrentScheduler.concurrentPerform", of: name, "\(iterations) iterations: give 0 or more.")
    }
    if grain < 1 { misuse("ConcurrentScheduler.concurrentPerform", of: name, "a grain of \(grain): give 1 or more.") }
    withoutActuallyEscaping(body) { body in
      var numbers = Numbers(body: body, place: (tag ?? core).target)
      withUnsafeMutablePointer(to: &numbers) {
        csched_apply(core.target, threadsToPerform, iterations, grain, Numbers.perform, $0)
      }
    }
  }

  /// What the core calls for each part.
  private struct Numbers {
    let body: @Sendable (Int) -> Void
    let place: UnsafeMutablePointer<csched_target>

    static let perform: @convention(c) (UnsafeMutableRawPointer?, Int, Int) -> Void = { context, from, to in
      let numbers = context!.assumingMemoryBound(to: Numbers.self).pointee
      TargetCore.run({ for iteration in from..<to { numbers.body(iteration) } }, inside: numbers.place)
    }
  }

  private var threadsToPerform: Int {
    let limit = core as? LimitCore
    let workers = ((limit?.base ?? core) as? PoolCore)?.workers ?? 1
    return limit.map { min($0.most, workers - 1) + 1 } ?? workers
  }
}
