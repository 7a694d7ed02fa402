public import Scheduler

extension Disposables {
  /// Returns a disposable that cancels `task` once, and lets go of it. As with every task, cancelling asks and does not wait.
  ///
  /// Releasing it undisposed does not cancel the task.
  public static func create<Success, Failure: Error>(_ task: Task<Success, Failure>) -> any Disposable {
    task.asDisposable
  }
}
