import Foundation
import Scheduler
import SchedulerRx

struct Failure: Error, Equatable { var code = 1 }

/// A source made of a closure, which counts its subscriptions and disposals.
final class Source<Element: Sendable>: EventSource, Sendable {
  typealias Handler = @Sendable (SourceEvent<Element>) -> Void
  let subscriptions = Counter(), disposals = Counter()
  private let begin: @Sendable (@escaping Handler) -> Void

  init(_ begin: @escaping @Sendable (@escaping Handler) -> Void) { self.begin = begin }

  func subscribe(_ handler: @escaping Handler) -> any Disposable {
    subscriptions.increment()
    begin(handler)
    return Disposables.create { [disposals] in disposals.increment() }
  }
}

extension Source where Element == Int {
  /// Emits at once.
  static func just(_ elements: Int..., then end: SourceEvent<Int> = .completed) -> Source<Int> {
    Source { handler in
      for element in elements { handler(.next(element)) }
      handler(end)
    }
  }

  /// Emits on another thread, a millisecond apart.
  static func later(_ elements: Int..., then end: SourceEvent<Int> = .completed) -> Source<Int> {
    Source { handler in
      Thread.detachNewThread {
        for element in elements {
          usleep(1_000)
          handler(.next(element))
        }
        handler(end)
      }
    }
  }
}

/// Runs `body` on a new thread, and returns what it gave, `nil` if that took more than ten seconds.
@discardableResult
func onBareThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) -> Value? {
  let result = Log<Value>(), done = Gate()
  Thread.detachNewThread {
    result.add(body())
    done.open()
  }
  return done.wait() ? result.entries.first : nil
}

/// Records how a run ended.
func outcome(_ lock: RunLoopLock) -> String {
  do {
    try lock.run()
    return "stopped"
  } catch { return "\(error == .timeout ? "timeout" : "other")" }
}

/// The error that `body` throws.
func thrown(_ body: () throws -> some Any) -> (any Error)? {
  do { _ = try body() } catch { return error }
  return nil
}
