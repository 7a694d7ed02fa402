internal import CScheduler

/// The token of a closure that is queued in the C core, with or without a delay. Disposing the token cancels the
/// closure.
/// The closure is stored in the memory of a csched_task (contract: `task.h`), so nothing is allocated besides the
/// captures. If the user's closure returns a disposable, the task belongs to a ``ReturningAction``, the `chain` below,
/// which holds that disposable.
struct ClosureTask: Disposable, @unchecked Sendable {
  // Unchecked, because of the pointers in `task`: any thread may call the C core with it.
  let task: csched_task

  /// The content of the task's memory until the closure runs or is dropped.
  struct Held: ~Copyable {
    private let work: HeldClosure  // first field: `recordCode` reads the closure's code address there
    private let origin: ActionOrigin  // the scheduler of the action

    /// The TargetCore that this value does not retain, so that a postponed drop (`plainType`) must; nil if there is
    /// none.
    var unretainedCore: UnsafeMutableRawPointer? { origin.unretainedCore }

    init(_ work: @escaping @Sendable () -> Void, _ origin: consuming ActionOrigin) {
      self.work = HeldClosure(work)
      self.origin = origin
    }

    /// Stores the address of the closure's code in `job.context`, where the core's event recorder reads it to name the
    /// closure. The address is the first word of `held`, which is in the memory of `job`. Bit 0 is set, because an even
    /// `context` is a `ReturningAction`.
    @inline(__always)
    static func recordCode(_ job: UnsafeMutablePointer<csched_job>, _ held: UnsafeMutableRawPointer) {
      job.pointee.context = UnsafeMutableRawPointer(bitPattern: held.load(as: UInt.self) | 1)
    }

    /// Calls the closure, inside the scheduler marker if `origin` is one.
    @inline(__always)
    func call() { if origin.isMarker { origin.run(work.call) } else { work.call() } }

    /// Releases the closure without a call. Then ends `chain`, and notifies the drop observers unless the action was
    /// cancelled.
    consuming func drop(_ reason: csched_drop_reason, of chain: ReturningAction?) {
      let origin = origin  // moved out, so that the next line may consume `work` alone
      _ = consume work  // the captures are released before `chain` and the observers are notified
      chain?.drop()
      if DropObservers.areRegistered, reason != CSCHED_DROP_CANCELLED {
        origin.notifyObservers(reason == CSCHED_DROP_REFUSED ? .refused : .stopped)
      }
    }
  }

  init(_ task: csched_task = csched_task()) { self.task = task }

  /// Makes a task that runs `work`, inside the scheduler marker `marker` if there is one. A drop ends `chain` and
  /// notifies the drop observers, which receive the scheduler of `marker` or else `core`; if both are nil, it notifies
  /// none. `callerReportsRefusal`: the submitter itself reports a refusal, so that the observers do not.
  init(
    _ work: @escaping @Sendable () -> Void, for core: TargetCore? = nil, inside marker: TargetCore? = nil,
    of chain: ReturningAction? = nil, callerReportsRefusal: Bool = false
  ) {
    task = csched_task.made(plainType, CSCHED_TASK_PLAIN, for: core, of: chain)
    let held = Held.inPlain(task.job)
    held.initialize(to: Held(work, ActionOrigin(core, marker: marker, callerReportsRefusal: callerReportsRefusal)))
    if chain == nil { Held.recordCode(task.job, held) }  // otherwise `job.context` is the chain
  }

  /// Makes a task that can be delayed, as above. The task retains `core`, and so the queue that it waits for, until
  /// `timedType.release`.
  init(
    delayed work: @escaping @Sendable () -> Void, for core: TargetCore, inside marker: TargetCore?,
    of chain: ReturningAction?
  ) {
    task = csched_task.made(timedType, CSCHED_TASK_TIMED, for: core, of: chain)
    let held = Held.inTimed(task.job)
    held.initialize(to: Held(work, ActionOrigin(core, marker: marker)))
    if chain == nil { Held.recordCode(task.job, held) }  // otherwise `job.context` is the chain
    core.retainForJob()  // the waiting job points to the core; `timedType.release` releases it
  }

  /// Submits the task to `target`; call this once. Returns whether `target` accepted it. If not, the closure has been
  /// dropped.
  @discardableResult
  func submit(to target: UnsafeMutablePointer<csched_target>) -> Bool { csched_task_submit_(target, task) == 0 }

  /// Submits a task that can be delayed, to run at `deadline` of `clock`. Returns whether `target` accepted it.
  func submit(
    to target: UnsafeMutablePointer<csched_target>, at deadline: csched_time, on clock: csched_clock,
    tolerance: csched_time
  ) -> Bool { csched_task_submit_at_clock_(target, task, clock, deadline, tolerance) == 0 }

  /// Submits the task to this thread's trampoline: it runs at once, or after the job that now runs on the trampoline.
  func submitToTrampoline() { csched_trampoline_run(task.job) }

  // MARK: Operations of the token

  var isDisposed: Bool { csched_task_is_cancelled_(task) }
  func dispose() { csched_task_cancel(task) }

  func disposeAndWait() {
    dispose()
    if csched_task_is_over(task) { return }  // nothing to wait for, so no replacement thread is needed
    csched_pool_blocking_begin()  // until the end call, another thread replaces this one if it is a pool thread
    csched_task_cancel_and_wait(task)
    csched_pool_blocking_end()
  }
}

extension csched_task {
  /// Makes a csched_task of `type` with memory of the class `size`. The caller then initialises the task's room, the
  /// memory for the closure. `core`: only for the scheduler's name in the message if memory is short. `chain`: its
  /// `settle` or `drop` ends it when the closure is over.
  @inline(__always)
  static func made(
    _ type: JobType, _ size: csched_task_size, for core: TargetCore?, of chain: ReturningAction? = nil
  ) -> csched_task {
    let task = csched_task_make_(type.pointer, size)
    guard let job = task.job else {
      misuse("schedule", of: core?.name ?? "", "no memory for an action. Schedule fewer at a time, or dispose of some.")
    }
    // unretained: the closure that the task's memory holds retains the chain
    job.pointee.context = chain.map { Unmanaged.passUnretained($0).toOpaque() }
    Counted.jobs(1)  // for the diagnostic count; the type's `release` subtracts it
    return task
  }
}

// MARK: - Callbacks of the C core

extension ClosureTask.Held {
  // These two return the address of the content in a job's memory, which depends on the size with which the task was
  // made.
  fileprivate static func inPlain(_ job: UnsafeMutablePointer<csched_job>?) -> UnsafeMutablePointer<Self> {
    csched_task_room_(job).assumingMemoryBound(to: Self.self)
  }

  fileprivate static func inTimed(_ job: UnsafeMutablePointer<csched_job>?) -> UnsafeMutablePointer<Self> {
    csched_task_timer_room_(job).assumingMemoryBound(to: Self.self)
  }

  /// Moves the content out of the task's memory and drops it. `job.context`: nil; odd: a code address (`recordCode`);
  /// else the `ReturningAction`.
  fileprivate static func drop(_ held: UnsafeMutablePointer<Self>, of job: UnsafeMutablePointer<csched_job>?) {
    let context = job!.pointee.context.flatMap { UInt(bitPattern: $0) & 1 == 0 ? $0 : nil }
    let chain = context.map { Unmanaged<ReturningAction>.fromOpaque($0).takeUnretainedValue() }
    held.move().drop(csched_task_drop_reason_(), of: chain)
  }
}

private let plainType: JobType = {
  // This initializer runs when the first plain task is made, so before its submission. First it registers three
  // callbacks for the whole process.
  // A plain task does not retain its TargetCore. If a drop or a release on this thread causes another drop, the C core
  // postpones that drop until the first one has returned (job.c, J11). Until all postponed drops have ended, it retains
  // their TargetCores by these callbacks: find (nil for a job of another type), retain, release.
  csched_swift_set_postponed_owners_(
    { job in
      guard job!.pointee.type == plainType.pointer else { return nil }
      return UnsafeRawPointer(ClosureTask.Held.inPlain(UnsafeMutablePointer(mutating: job)).pointee.unretainedCore)
    }, { _ = Unmanaged<TargetCore>.fromOpaque($0!).retain() }, { Unmanaged<TargetCore>.fromOpaque($0!).release() })
  return JobType(
    csched_job_type(
      run: { ClosureTask.Held.inPlain($0).move().call() },
      drop: { ClosureTask.Held.drop(ClosureTask.Held.inPlain($0), of: $0) },
      release: {
        Counted.jobs(-1)  // ends the count of `csched_task.made`; for `timedType`, `freeJobAndReleaseCore` does that
        csched_task_free_($0, CSCHED_TASK_PLAIN)
      }), closureAt: MemoryLayout<csched_job>.size)  // the closure follows the csched_job
}()

private let timedType = JobType(
  csched_job_type(
    run: { ClosureTask.Held.inTimed($0).move().call() },
    drop: { ClosureTask.Held.drop(ClosureTask.Held.inTimed($0), of: $0) },
    // subtracts the job from the count, frees it, and releases the core that `retainForJob` retained. The closure
    // follows the csched_timer.
    release: { TargetCore.freeJobAndReleaseCore($0, CSCHED_TASK_TIMED) }), closureAt: MemoryLayout<csched_timer>.size)

/// The scheduler that the drop observers receive if an action is dropped: the marker that the action runs inside, or
/// the TargetCore that it was submitted to. It is stored in one word.
/// A marker is retained. A target core is not: only a drop reads the reference, and a core drops its queued actions
/// before it is freed. A retain would cost each action two updates of a count that all threads contend for. While a
/// drop is postponed (`plainType`), the C core retains `unretainedCore`.
struct ActionOrigin: ~Copyable {
  /// The address of the marker or the TargetCore; 0: neither. Bit 0: the address is a marker's. Bit 1: the submitter
  /// reports a refusal itself.
  private let bits: UInt

  init(_ core: TargetCore?, marker: TargetCore?, callerReportsRefusal: Bool = false) {
    let refusalBit: UInt = callerReportsRefusal ? 2 : 0  // bit 1 of `bits`
    if let marker {
      bits = UInt(bitPattern: Unmanaged.passRetained(marker).toOpaque()) | 1 | refusalBit
    } else {
      bits = core.map { UInt(bitPattern: Unmanaged.passUnretained($0).toOpaque()) | refusalBit } ?? 0
    }
  }

  deinit { if isMarker { reference!.release() } }

  /// The target core, which this value does not retain, so that a postponed drop must. Nil if the origin is a marker,
  /// or there is none.
  var unretainedCore: UnsafeMutableRawPointer? { isMarker ? nil : reference?.toOpaque() }

  /// The marker or core; a marker is a TargetCore too. `~3` clears the two flag bits.
  private var reference: Unmanaged<TargetCore>? {
    UnsafeRawPointer(bitPattern: bits & ~3).map { Unmanaged.fromOpaque($0) }
  }

  /// Whether the origin is a scheduler marker.
  @inline(__always)
  var isMarker: Bool { bits & 1 != 0 }

  /// Calls `body` inside the scheduler marker. Requires: `isMarker`.
  func run<Result>(_ body: () -> Result) -> Result { reference!._withUnsafeGuaranteedRef { $0.run(body) } }

  /// Reports a drop to the drop observers. Does nothing if there is no origin, or for a refusal that the submitter
  /// reports.
  func notifyObservers(_ reason: SchedulerError) {
    if bits & 2 != 0, reason == .refused { return }  // bit 1: the submitter reports it
    if let core = reference?.takeUnretainedValue() { DropObservers.notify(core, reason) }
  }
}
