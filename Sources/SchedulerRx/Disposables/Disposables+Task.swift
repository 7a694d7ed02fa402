public import Scheduler

extension Disposables {
  /// Returns a disposable that cancels `task` once, then releases it. Disposing does not wait for the task to end.
  ///
  /// Releasing the disposable without disposing it does not cancel the task.
  public static func create<Success, Failure: Error>(_ task: Task<Success, Failure>) -> any Disposable {
    task.asDisposable
  }
}
