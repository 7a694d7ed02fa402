import Scheduler
import SchedulerRx
import TestSupport
import Testing

@Suite("Disposables and tasks", .nothingIsLeft)
struct TaskDisposableTests {
  @Test("disposing cancels the task")
  func cancels() async {
    for token in 0..<2 {
      let task = Task {
        while !Task.isCancelled { await Task.yield() }
        return true
      }
      let disposable = token == 0 ? Disposables.create(task) : task.asDisposable
      #expect(!disposable.isDisposed)
      disposable.dispose()
      disposable.dispose()
      #expect(disposable.isDisposed)
      #expect(await task.value)
    }
  }

  @Test("releasing the disposable undisposed does not cancel the task")
  func released() async {
    let task = Task {
      await Task.yield()
      return Task.isCancelled
    }
    _ = task.asDisposable
    #expect(await task.value == false)
  }

  @Test("the cancellation of the surrounding task disposes, while the operation waits")
  func whileWaiting() async {
    let child = DisposalCounter()
    let task = Task {
      await withTaskCancellationHandler(disposing: child) {
        while child.value == 0 { await Task.yield() }
        return Task.isCancelled
      }
    }
    task.cancel()
    #expect(await task.value)
    #expect(child.value == 1)
  }

  @Test("a task that was cancelled before disposes before the operation begins")
  func before() async {
    let child = DisposalCounter()
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return await withTaskCancellationHandler(disposing: child) { child.value }
    }
    task.cancel()
    #expect(await task.value == 1)
  }

  @Test("an operation that ends, or throws, leaves the disposable alone")
  func ends() async {
    struct Failure: Error {}
    let child = DisposalCounter()
    let seven = await withTaskCancellationHandler(disposing: child) { 7 }
    #expect(seven == 7)
    await #expect(throws: Failure.self) {
      try await withTaskCancellationHandler(disposing: child) { throw Failure() }
    }
    #expect(child.value == 0)
  }
}
