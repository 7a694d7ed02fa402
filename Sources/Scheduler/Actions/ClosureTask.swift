internal import CScheduler

/// The token of a closure that is queued in the C core, with or without a delay. Disposing the token cancels the closure.
/// The closure is stored in the memory of a csched_task (contract: `task.h`), so nothing is allocated besides the captures. If the closure returns
/// a disposable, a ``ReturningAction`` holds the disposable.
struct ClosureTask: Disposable, @unchecked Sendable {
  // Unchecked: a pointer is not Sendable, but the core accepts the value on any thread.
  let task: csched_task

  /// The content of the task's memory until the closure runs or is dropped.
  struct Held: ~Copyable {
    private let work: HeldClosure
    private let origin: ActionOrigin

    /// The TargetCore that a deferred drop must retain; nil if `origin` retains a marker instead.
    var unowned: UnsafeMutableRawPointer? { origin.unowned }

    init(_ work: @escaping @Sendable () -> Void, _ origin: consuming ActionOrigin) {
      self.work = HeldClosure(work)
      self.origin = origin
    }

    /// Stores the address of the closure's code, with bit 0 set, in `job.context`, where the core's event recorder reads it. `held` is in the memory
    /// of `job`, and its first word is that address.
    @inline(__always)
    static func tell(_ job: UnsafeMutablePointer<csched_job>, _ held: UnsafeMutableRawPointer) {
      job.pointee.context = UnsafeMutableRawPointer(bitPattern: held.load(as: UInt.self) | 1)
    }

    /// Calls the closure, inside the scheduler marker if there is one.
    @inline(__always)
    func call() { if origin.isMarked { origin.run(work.call) } else { work.call() } }

    /// Releases the closure without a call. Then notifies the drop observers, unless the action was cancelled.
    consuming func drop(_ reason: csched_drop_reason, of action: ReturningAction?) {
      let origin = origin
      _ = consume work  // release the captures before the action and the observers are notified
      action?.drop()
      if DropObservers.areThere, reason != CSCHED_DROP_CANCELLED {
        origin.tell(reason == CSCHED_DROP_REFUSED ? .refused : .stopped)
      }
    }
  }

  init(_ task: csched_task = csched_task()) { self.task = task }

  /// Makes a task for `core` that runs `work`, inside `marker` if there is one. A drop notifies `action`, and the drop observers unless `core` and
  /// `marker` are nil. If `reportsRefusal` is false, a refusal does not notify the observers, because the submitter reports it.
  init(
    _ work: @escaping @Sendable () -> Void, for core: TargetCore? = nil, inside marker: TargetCore? = nil,
    of action: ReturningAction? = nil, reportsRefusal: Bool = true
  ) {
    task = csched_task.made(plainType, CSCHED_TASK_PLAIN, for: core, of: action)
    let held = Held.plain(task.job)
    held.initialize(to: Held(work, ActionOrigin(core, marker: marker, reportsRefusal: reportsRefusal)))
    if action == nil { Held.tell(task.job, held) }
  }

  /// Makes a task that can be delayed. The task retains `core`, and thereby the queue in which it waits, until `timedType.release`.
  init(
    delayed work: @escaping @Sendable () -> Void, for core: TargetCore, inside marker: TargetCore?,
    of action: ReturningAction?
  ) {
    task = csched_task.made(timedType, CSCHED_TASK_TIMED, for: core, of: action)
    let held = Held.timed(task.job)
    held.initialize(to: Held(work, ActionOrigin(core, marker: marker)))
    if action == nil { Held.tell(task.job, held) }
    core.beginKeeping()
  }

  /// Submits the task to `target`; call this once. Returns whether `target` accepted it. If not, the closure has been dropped.
  @discardableResult
  func submit(to target: UnsafeMutablePointer<csched_target>) -> Bool { csched_task_submit_(target, task) == 0 }

  /// Submits a task that can be delayed, to run at `deadline` of `clock`. Returns whether `target` accepted it.
  func submit(
    to target: UnsafeMutablePointer<csched_target>, at deadline: csched_time, on clock: csched_clock,
    tolerance: csched_time
  ) -> Bool { csched_task_submit_at_clock_(target, task, clock, deadline, tolerance) == 0 }

  /// Submits the task to the thread's trampoline.
  func submitToTrampoline() { csched_trampoline_run(task.job) }

  // MARK: Operations of the token

  var isDisposed: Bool { csched_task_is_cancelled_(task) }

  func dispose() { csched_task_cancel(task) }

  func disposeAndWait() {
    dispose()
    if csched_task_is_over(task) { return }
    csched_pool_blocking_begin()  // a pool thread is replaced while it waits
    csched_task_cancel_and_wait(task)
    csched_pool_blocking_end()
  }
}

extension csched_task {
  /// Makes a csched_task. The caller initialises the task's room, which is the memory for the closure.
  @inline(__always)
  static func made(
    _ type: JobType, _ size: csched_task_size, for core: TargetCore?, of action: ReturningAction? = nil
  ) -> csched_task {
    let task = csched_task_make_(type.pointer, size)
    guard let job = task.job else {
      misuse("schedule", of: core?.name ?? "", "no memory for an action. Schedule fewer at a time, or dispose of some.")
    }
    job.pointee.context = action.map { Unmanaged.passUnretained($0).toOpaque() }  // retained by its closure
    Counted.jobs(1)
    return task
  }
}

// MARK: - Callbacks of the C core

extension ClosureTask.Held {
  // Return the content of a job's memory, by the size with which the task was made.
  fileprivate static func plain(_ job: UnsafeMutablePointer<csched_job>?) -> UnsafeMutablePointer<Self> {
    csched_task_room_(job).assumingMemoryBound(to: Self.self)
  }

  fileprivate static func timed(_ job: UnsafeMutablePointer<csched_job>?) -> UnsafeMutablePointer<Self> {
    csched_task_timer_room_(job).assumingMemoryBound(to: Self.self)
  }

  /// Moves the content out of the task's memory and drops it. If bit 0 of `job.context` is clear, the context is the `ReturningAction`.
  fileprivate static func drop(_ held: UnsafeMutablePointer<Self>, of job: UnsafeMutablePointer<csched_job>?) {
    let context = job!.pointee.context.flatMap { UInt(bitPattern: $0) & 1 == 0 ? $0 : nil }
    let action = context.map { Unmanaged<ReturningAction>.fromOpaque($0).takeUnretainedValue() }
    held.move().drop(csched_task_drop_reason_(), of: action)
  }
}

private let plainType: JobType = {
  // A plain task does not retain its TargetCore. While the drop of a plain task is deferred, the C core finds, retains and releases the TargetCore
  // by these three callbacks.
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
      }), closureAt: MemoryLayout<csched_job>.size)  // the closure follows the csched_job
}()

private let timedType = JobType(
  csched_job_type(
    run: { ClosureTask.Held.timed($0).move().call() },
    drop: { ClosureTask.Held.drop(ClosureTask.Held.timed($0), of: $0) },
    release: { TargetCore.endKeeping($0, CSCHED_TASK_TIMED) }), closureAt: MemoryLayout<csched_timer>.size)

/// The TargetCore that an action was submitted to, or the scheduler marker that the action runs inside, in one word.
/// A marker is retained. A target core is not: it drops its queued actions before it is freed, and only a drop reads the reference. Retaining it
/// would cost each action two updates of a count that all threads contend for. While a drop is deferred, the C core retains `unowned`.
struct ActionOrigin: ~Copyable {
  /// The address of the marker or the TargetCore; 0: neither. Bit 0: the address is a marker's. Bit 1: a refusal is not reported.
  private let bits: UInt

  init(_ core: TargetCore?, marker: TargetCore?, reportsRefusal: Bool = true) {
    let flag: UInt = reportsRefusal ? 0 : 2  // bit 1
    if let marker {
      bits = UInt(bitPattern: Unmanaged.passRetained(marker).toOpaque()) | 1 | flag
    } else {
      bits = core.map { UInt(bitPattern: Unmanaged.passUnretained($0).toOpaque()) | flag } ?? 0
    }
  }

  deinit { if isMarked { reference!.release() } }

  /// The target core, which this value does not retain, so that a deferred drop must retain it. Nil for a marker.
  var unowned: UnsafeMutableRawPointer? { isMarked ? nil : reference?.toOpaque() }

  private var reference: Unmanaged<TargetCore>? {
    UnsafeRawPointer(bitPattern: bits & ~3).map { Unmanaged.fromOpaque($0) }
  }

  /// Whether the address is that of a scheduler marker.
  @inline(__always)
  var isMarked: Bool { bits & 1 != 0 }

  /// Calls `body` inside the scheduler marker.
  func run<Result>(_ body: () -> Result) -> Result { reference!._withUnsafeGuaranteedRef { $0.run(body) } }

  /// Reports a drop to the observers. Does nothing if the action belongs to no scheduler.
  func tell(_ reason: SchedulerError) {
    if bits & 2 != 0, reason == .refused { return }
    if let core = reference?.takeUnretainedValue() { DropObservers.tell(core, reason) }
  }
}
