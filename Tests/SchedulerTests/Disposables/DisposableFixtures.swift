// Shared by the tests of the disposables.

import Foundation
import Scheduler
import SchedulerRx
import Synchronization
import TestSupport

/// Counts, from any thread.
final class DisposalCounter: Disposable {
  private let count = Atomic(0)

  var value: Int { count.load(ordering: .acquiring) }

  var isDisposed: Bool { value > 0 }

  func dispose() { count.wrappingAdd(1, ordering: .acquiringAndReleasing) }
}

/// Writes down what happened, in order.
final class DisposalLog: Sendable {
  private let lines = Protected<[String]>([])

  var all: [String] { lines.withLock { $0 } }

  func add(_ line: String) { lines.withLock { $0.append(line) } }

  /// Returns a disposable that writes `line`.
  func entry(_ line: String) -> any Disposable { Disposables.create { self.add(line) } }
}

/// Something for a closure to capture.
final class Capture: Sendable {
  func touch() {}
}

/// Runs a closure in its deinit.
final class DeathNotice: Sendable {
  private let body: @Sendable () -> Void

  init(_ body: @escaping @Sendable () -> Void) { self.body = body }

  deinit { body() }
}

/// Runs `body` on `threads` threads that set off together, and returns when all are through and hold it no more.
func raceDisposal(threads: Int, _ body: @escaping @Sendable (Int) -> Void) {
  let ready = DisposalCounter()
  let group = DispatchGroup()
  for index in 0..<threads {
    let work = Protected<(@Sendable (Int) -> Void)?>(body)
    group.enter()
    Thread.detachNewThread {
      ready.dispose()
      waitWhile { ready.value < threads }
      run(work.withLock { $0.take() }, index)
      group.leave()
    }
  }
  group.wait()
}

private func run(_ body: consuming (@Sendable (Int) -> Void)?, _ index: Int) {
  body?(index)
}

#if DEBUG
  /// How deep the deep chains are: a recursion would overflow the stack.
  let deepChain = Scale.sanitizer == .thread ? 20_000 : 50_000
#else
  /// How deep the deep chains are: a recursion would overflow the stack.
  let deepChain = 10_000_000
#endif
