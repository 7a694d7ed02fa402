internal import CSchedulerVirtualTime
internal import Dispatch
internal import Scheduler

/// A thread that makes one call.
///
/// It belongs to no scheduler. On a scheduler's thread a cancelled sleep resumes its task in the pool, because the task's cancellation
/// handler may wait for the scheduler. That job would then reach virtual time from another thread.
final class DrivingThread: @unchecked Sendable {
  // Unchecked: `thread` is written once, before any other thread can see it.
  private var thread: UInt = 0
  private let call = Protected<(@Sendable () -> Void)?>(nil)
  private let isGiven = DispatchSemaphore(value: 0)

  /// Starts the thread, which waits for ``run(_:)``.
  init() throws(SchedulerError) {
    let own = Unmanaged.passRetained(self)
    let error = csched_testing_start_(
      &thread,
      { context in
        let own = Unmanaged<DrivingThread>.fromOpaque(context!).takeRetainedValue()
        own.isGiven.wait()
        own.call.exchange(nil)?()
      }, own.toOpaque())
    if error == 0 { return }
    own.release()
    throw .system(error)
  }

  /// Makes the thread call `call`. May be called once.
  func run(_ call: @escaping @Sendable () -> Void) {
    self.call.write(call)
    isGiven.signal()
  }

  /// Waits until the thread has ended, which is soon after the call.
  func join() { csched_testing_join_(thread) }
}
