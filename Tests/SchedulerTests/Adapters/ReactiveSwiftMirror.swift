import Foundation

/// What ReactiveSwift declares for its schedulers, as far as an adapter needs it: the package is not fetched for a
/// test.
enum ReactiveSwift {
  protocol Disposable: AnyObject {
    var isDisposed: Bool { get }
    func dispose()
  }

  protocol Scheduler: AnyObject {
    @discardableResult
    func schedule(_ action: @escaping () -> Void) -> (any Disposable)?
  }

  protocol DateScheduler: Scheduler {
    var currentDate: Date { get }
    @discardableResult
    func schedule(after date: Date, action: @escaping () -> Void) -> (any Disposable)?
    @discardableResult
    func schedule(
      after date: Date, interval: DispatchTimeInterval, leeway: DispatchTimeInterval, action: @escaping () -> Void
    ) -> (any Disposable)?
  }
}
