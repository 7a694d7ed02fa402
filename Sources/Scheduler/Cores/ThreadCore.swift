internal import CScheduler
internal import Synchronization

/// Owns a thread of the C core and the thread's loop. The thread retains this object until its end.
final class ThreadCore: TargetCore, @unchecked Sendable {
  // Unchecked, as its superclass is.
  let thread: OpaquePointer
  // the schedulers of this core, and the delayed actions that wait. At 0 the thread stops.
  private let users = Atomic<Int>(0)
  // how to treat jobs of tasks that are submitted after the thread's end
  private let lateJobs: ThreadScheduler.LateJobPolicy
  let end = ThreadEnd()  // releases the values confined to the thread, and resumes tasks that wait for its end
  /// During `finishThread`, when csched_thread_is_current is already false: the thread's number
  /// (csched_swift_thread_number_); otherwise 0.
  private let endingThread = Atomic<UInt>(0)

  /// Memory for the thread's reference to this object; nil until `init` is done. The `at_end` callback releases the
  /// reference and frees the memory.
  private typealias ThreadReference = UnsafeMutablePointer<Unmanaged<ThreadCore>?>

  /// Starts the thread. Throws the system's error if it does not start.
  init(
    name: String, stackSize: Int, lateJobs: ThreadScheduler.LateJobPolicy, processors: [Int],
    priority: ThreadScheduler.Priority
  ) throws(SchedulerError) {
    self.lateJobs = lateJobs
    let held = ThreadReference.allocate(capacity: 1)
    held.initialize(to: nil)
    var thread: OpaquePointer?
    let numbers = processors.map { UInt32(exactly: $0) ?? .max }  // .max: no such processor: csched_thread_start fails
    let error = numbers.withUnsafeBufferPointer { numbers in
      name.withCString { name in
        var options = csched_thread_options(
          name: name,
          at_end: {  // called on the thread, after its final job
            let held = $0!.assumingMemoryBound(to: Unmanaged<ThreadCore>?.self)
            held.pointee?._withUnsafeGuaranteedRef { $0.finishThread() }
            held.pointee?.release()
            held.deallocate()  // `held` belongs to the thread once it has started
          }, context: held, stack_size: stackSize, processors: numbers.baseAddress, processor_count: numbers.count,
          policy: priority.core.policy, priority: priority.core.priority)
        return csched_thread_start(&thread, &options)
      }
    }
    guard let thread, error == 0 else {
      held.deallocate()
      throw SchedulerError.system(error)
    }
    self.thread = thread
    super.init(csched_loop_target(csched_thread_loop(thread)), name: name)
    held.pointee = .passRetained(self)  // before the thread can end: without this object, nothing can stop it
  }

  deinit { csched_thread_destroy(thread) }
  override func makeScheduler() -> any ImmediateSchedulerType & AnyObject { ThreadScheduler(core: self) }
  // relaxed: the count cannot reach 0 meanwhile, because the caller is a user already or retains the core
  override func use() { users.add(1, ordering: .relaxed) }

  /// Ends one ``use()``. With the final user the thread stops, after its outstanding work.
  override func endUse() {
    // acquire-release: the stop comes after everything that the other users did before their `endUse`
    if users.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { stop(.runOutstanding) }
  }

  /// Whether the caller is on this core's thread.
  var isOnThread: Bool {
    // relaxed: only the thread itself stores its number, so the comparison is false on every other thread
    csched_thread_is_current(thread) || endingThread.load(ordering: .relaxed) == csched_swift_thread_number_()
  }

  override var isOrphaned: Bool { csched_thread_is_orphaned(thread) }

  /// Does the final work on the thread: runs late jobs, then releases the values confined to the thread. The number of
  /// rounds is bounded, because late jobs may submit more late jobs for ever.
  private func finishThread() {
    endingThread.store(csched_swift_thread_number_(), ordering: .relaxed)  // relaxed: only this thread needs the value
    run {
      for _ in 0..<64 {  // 64 rounds, then `endExclusion` passes the remaining late jobs to the pool
        let jobs = withLateJobs { $0.take() }
        if jobs.isEmpty { break }
        for job in jobs { job.runLate() }
      }
      end.releaseValues()
    }
    endingThread.store(0, ordering: .relaxed)  // relaxed: only this thread needs the value
    endExclusion()  // from now on late jobs run on the pool. The values must be released before.
    end.finish()  // resumes the tasks that wait for the thread's end
  }

  override var isExclusive: Bool { true }
  // hidden: the thread waits in an action of this scheduler, and meanwhile runs an action of another one
  override var isCallerIsolated: Bool {
    isOnThread ? !csched_swift_is_hidden_(target) : csched_target_is_inside(target)
  }

  // The thread has ended, and `job` is about to run on the pool: stops the process if the scheduler's policy is `trap`,
  // else notifies observers.
  override func noteLateJob(_ job: TaskJob) {
    if lateJobs == .trap {
      misuse(
        "ThreadScheduler.enqueue", of: name,
        "a task goes on here, but the thread has ended, and the scheduler was made to trap then. Stop it when its tasks are over."
      )
    }
    if let scheduler = scheduler as? ThreadScheduler { Schedulers.reportLateJob(on: scheduler) }
  }

  func stop(_ policy: Schedulers.StopPolicy) { csched_thread_stop(thread, policy.core) }
}
