public import Scheduler

extension Disposables {
  /// Returns a disposable that cancels `task` once, and then releases it. The disposal does not wait for the task to end.
  ///
  /// Releasing it undisposed does not cancel the task.
  public static func create<Success, Failure: Error>(_ task: Task<Success, Failure>) -> any Disposable {
    task.asDisposable
  }
}
