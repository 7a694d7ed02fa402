// A task's job as a node of the core (node.h). Swift 6.3 gives an executor two words in each job. With other toolchains, and where
// SCHEDULER_WITHOUT_SPI asks for it, a job lies in a task of the core.
//
// Obligations
//   JW1  Who finds a scheduler's table of types finds it whole. Of two threads that make one, the second takes the first's.
// Orderings
//   entries: the release of who has made the table pairs with the acquire of who finds it
// Checked by: "jobs of many threads come to a scheduler that has had none".
// Models: swift/executors/late_jobs.swift.

#if compiler(>=6.3) && compiler(<6.4) && os(Linux) && !SCHEDULER_WITHOUT_SPI
  internal import CScheduler
  internal import Synchronization
  @_spi(ExperimentalCustomExecutors) import _Concurrency

  extension TaskJob {
    /// Where the words lie in a job: behind the header of an object.
    private static var offset: Int { 16 }

    /// Submits it as a node to the core of its scheduler. Returns false, and does nothing, if `core` is another, or the runtime has the words
    /// elsewhere.
    func submitInPlace(to core: TargetCore) -> Bool {
      guard executor._withUnsafeGuaranteedRef({ $0.core === core }) else { return false }
      let words = ExecutorJob(job).withUnsafeExecutorPrivateData { $0 }
      guard let node = words.baseAddress, words.count >= MemoryLayout<csched_node>.size,
        node == Self.address(of: job) + Self.offset
      else { return false }
      let type = executor._withUnsafeGuaranteedRef { $0.jobTypes.pointer(of: kind, on: executor) }
      let made = node.initializeMemory(as: csched_node.self, repeating: csched_node(next: nil, type: type), count: 1)
      csched_target_submit_node(core.target, made)
      return true
    }

    private static func address(of job: UnownedJob) -> UnsafeMutableRawPointer {
      unsafeBitCast(job, to: UnsafeMutableRawPointer.self)
    }

    fileprivate init(_ node: UnsafeMutablePointer<csched_node>) {
      let entry = UnsafeRawPointer(node.pointee.type!).assumingMemoryBound(to: JobTypes.Entry.self)
      let job = unsafeBitCast(UnsafeMutableRawPointer(node) - Self.offset, to: UnownedJob.self)
      self.init(job, on: entry.pointee.scheduler, entry.pointee.kind)
    }

    fileprivate func runInPlace() {
      Counted.jobs(-1)
      runInTag()
    }

    fileprivate func dropInPlace(_ reason: csched_drop_reason) {
      Counted.jobs(-1)
      scheduler.core.takeBack(self, wasRefused: reason == CSCHED_DROP_REFUSED)
    }
  }

  /// What a scheduler's jobs are to the core, once there has been one: a type for each kind, which also says whose they are.
  struct JobTypes: ~Copyable, @unchecked Sendable {
    // Unchecked, because of the pointer: what it points to never changes, and lives as long as this.
    fileprivate struct Entry {
      let type: csched_node_type
      let scheduler: Unmanaged<SchedulerTarget>
      let kind: TaskJob.Kind
    }
    private let entries = Atomic<UnsafeMutablePointer<Entry>?>(nil)

    deinit { entries.load(ordering: .relaxed)?.deallocate() }  // JW1: nobody else has it any more

    fileprivate func pointer(
      of kind: TaskJob.Kind, on scheduler: Unmanaged<SchedulerTarget>
    ) -> UnsafePointer<csched_node_type> {
      let made = entries.load(ordering: .acquiring) ?? make(scheduler)  // JW1: pairs with make
      return UnsafeRawPointer(made + Int(kind.rawValue)).assumingMemoryBound(to: csched_node_type.self)
    }

    private func make(_ scheduler: Unmanaged<SchedulerTarget>) -> UnsafeMutablePointer<Entry> {
      let made = UnsafeMutablePointer<Entry>.allocate(capacity: TaskJob.Kind.allCases.count)
      let type = csched_node_type(
        run: { TaskJob($0!).runInPlace() }, drop: { TaskJob($0!).dropInPlace($1) }, kind: UInt(CSCHED_NODE))
      for kind in TaskJob.Kind.allCases {
        (made + Int(kind.rawValue)).initialize(
          to: Entry(type: type, scheduler: scheduler, kind: kind))
      }
      // JW1: pairs with who finds it
      let (isFirst, found) = entries.compareExchange(expected: nil, desired: made, ordering: .acquiringAndReleasing)
      guard isFirst else {
        made.deallocate()
        return found!
      }
      return made
    }
  }
#else
  /// What a scheduler's jobs are to the core: tasks.
  struct JobTypes: Sendable {}

  extension TaskJob {
    func submitInPlace(to core: TargetCore) -> Bool { false }
  }
#endif
