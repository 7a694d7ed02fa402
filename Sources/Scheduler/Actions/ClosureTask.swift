internal import CScheduler

/// A closure that waits in a queue of the core, perhaps for a time: what cancels it, as a value. Nothing is allocated but what the closure
/// captures.
///
/// It is a task of the core, in whose memory the closure lies (task.h has its laws). Where the closure returns a disposable, an object keeps
/// that: ``ReturningAction``.
struct ClosureTask: Disposable, @unchecked Sendable {
  // Unchecked, because a pointer is not Sendable; the core takes the value on any thread.
  let task: csched_task

  /// What lies in the task's memory until it runs or is dropped.
  struct Held: ~Copyable {
    private let work: HeldClosure
    private let origin: ActionOrigin

    /// What a drop that is put off must keep.
    var unowned: UnsafeMutableRawPointer? { origin.unowned }

    init(_ work: @escaping @Sendable () -> Void, _ origin: consuming ActionOrigin) {
      self.work = HeldClosure(work)
      self.origin = origin
    }

    /// Writes the address of the code that the closure calls, and 1, where the core's recorder looks. `held`, which begins with the closure, is in the
    /// memory of `job`.
    @inline(__always)
    static func tell(_ job: UnsafeMutablePointer<csched_job>, _ held: UnsafeMutableRawPointer) {
      job.pointee.context = UnsafeMutableRawPointer(bitPattern: held.load(as: UInt.self) | 1)
    }

    /// Calls the closure, inside of the tag if there is one.
    @inline(__always)
    func call() { if origin.isTagged { origin.run(work.call) } else { work.call() } }

    /// Lets go of it, and then tells those who ask, unless somebody cancelled it.
    consuming func drop(_ reason: csched_drop_reason, of action: ReturningAction?) {
      let origin = origin
      _ = consume work  // the captures are gone before anybody is told
      action?.drop()
      if DropObservers.areThere, reason != CSCHED_DROP_CANCELLED {
        origin.tell(reason == CSCHED_DROP_REFUSED ? .refused : .stopped)
      }
    }
  }

  init(_ task: csched_task = csched_task()) { self.task = task }

  /// Makes one for `core` that runs `work`, inside of `tag` if there is one; `action` is told of a drop. Drops of one for nobody are not told
  /// to those who ask, nor is a refusal that its submitter tells of.
  init(
    _ work: @escaping @Sendable () -> Void, for core: TargetCore? = nil, inside tag: TargetCore? = nil,
    of action: ReturningAction? = nil, tellsOfRefusal: Bool = true
  ) {
    task = csched_task.made(plainType, CSCHED_TASK_PLAIN, for: core, of: action)
    let held = Held.plain(task.job)
    held.initialize(to: Held(work, ActionOrigin(core, tag: tag, tellsOfRefusal: tellsOfRefusal)))
    if action == nil { Held.tell(task.job, held) }
  }

  /// Makes one that can be delayed. It keeps `core`, and with that whatever it waits in, until it is over.
  init(
    delayed work: @escaping @Sendable () -> Void, for core: TargetCore, inside tag: TargetCore?,
    of action: ReturningAction?
  ) {
    task = csched_task.made(timedType, CSCHED_TASK_TIMED, for: core, of: action)
    let held = Held.timed(task.job)
    held.initialize(to: Held(work, ActionOrigin(core, tag: tag)))
    if action == nil { Held.tell(task.job, held) }
    core.beginKeeping()
  }

  /// Submits it to `target`, once. Returns whether it was accepted; if not, the closure has been dropped.
  @discardableResult
  func submit(to target: UnsafeMutablePointer<csched_target>) -> Bool { csched_task_submit_(target, task) == 0 }

  /// The same for one that can be delayed, at an instant of `clock`.
  func submit(
    to target: UnsafeMutablePointer<csched_target>, at deadline: csched_time, on clock: csched_clock,
    tolerance: csched_time
  ) -> Bool { csched_task_submit_at_(target, task, clock, deadline, tolerance) == 0 }

  /// The same to the thread's trampoline.
  func submitToTrampoline() { csched_trampoline_run(task.job) }

  // MARK: the user's side

  var isDisposed: Bool { csched_task_is_cancelled_(task) }

  func dispose() { csched_task_cancel(task) }

  func disposeAndWait() {
    dispose()
    if csched_task_is_over(task) { return }
    csched_pool_blocking_begin()
    csched_task_cancel_and_wait(task)
    csched_pool_blocking_end()
  }
}

extension csched_task {
  /// Makes one whose room is not initialised yet.
  @inline(__always)
  static func made(
    _ type: JobType, _ size: csched_task_size, for core: TargetCore?, of action: ReturningAction? = nil
  ) -> csched_task {
    let task = csched_task_make_(type.pointer, size)
    guard let job = task.job else {
      misuse("schedule", of: core?.name ?? "", "no memory for an action. Schedule fewer at a time, or dispose of some.")
    }
    job.pointee.context = action.map { Unmanaged.passUnretained($0).toOpaque() }  // which its closure holds
    Counted.jobs(1)
    return task
  }
}

// MARK: - the core's side

extension ClosureTask.Held {
  fileprivate static func plain(_ job: UnsafeMutablePointer<csched_job>?) -> UnsafeMutablePointer<Self> {
    csched_task_room_(job).assumingMemoryBound(to: Self.self)
  }

  fileprivate static func timed(_ job: UnsafeMutablePointer<csched_job>?) -> UnsafeMutablePointer<Self> {
    csched_task_timer_room_(job).assumingMemoryBound(to: Self.self)
  }

  /// Moves it out, and drops it.
  fileprivate static func drop(_ held: UnsafeMutablePointer<Self>, of job: UnsafeMutablePointer<csched_job>?) {
    let context = job!.pointee.context.flatMap { UInt(bitPattern: $0) & 1 == 0 ? $0 : nil }
    let action = context.map { Unmanaged<ReturningAction>.fromOpaque($0).takeUnretainedValue() }
    held.move().drop(csched_task_drop_reason_(), of: action)
  }
}

private let plainType: JobType = {
  // A plain task's core may end before a drop that is put off. (A timed task keeps its core.)
  csched_swift_on_put_off_(
    { job in
      guard job!.pointee.type == plainType.pointer else { return nil }
      return UnsafeRawPointer(ClosureTask.Held.plain(UnsafeMutablePointer(mutating: job)).pointee.unowned)
    }, { _ = Unmanaged<TargetCore>.fromOpaque($0!).retain() }, { Unmanaged<TargetCore>.fromOpaque($0!).release() })
  return JobType(
    csched_job_type(
      run: { ClosureTask.Held.plain($0).move().call() },
      drop: { ClosureTask.Held.drop(ClosureTask.Held.plain($0), of: $0) },
      release: {
        Counted.jobs(-1)
        csched_task_free_($0, CSCHED_TASK_PLAIN)
      }), closureAt: MemoryLayout<csched_job>.size)
}()

private let timedType = JobType(
  csched_job_type(
    run: { ClosureTask.Held.timed($0).move().call() },
    drop: { ClosureTask.Held.drop(ClosureTask.Held.timed($0), of: $0) },
    release: { TargetCore.endKeeping($0, CSCHED_TASK_TIMED) }), closureAt: MemoryLayout<csched_timer>.size)
