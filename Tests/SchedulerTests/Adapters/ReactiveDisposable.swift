import Scheduler

/// One of our disposables, for ReactiveSwift.
final class ReactiveDisposable: ReactiveSwift.Disposable {
  private let base: any Disposable
  init(_ base: any Disposable) { self.base = base }
  var isDisposed: Bool { base.isDisposed }
  func dispose() { base.dispose() }
}
