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
    @inline(__always) func submitInPlace(to core: TargetCore) -> Bool {
      executor._withUnsafeGuaranteedRef { scheduler in
        guard scheduler.core === core, let type = scheduler.jobTypes.pointer(of: self) else { return false }
        let words = Self.address(of: job) + Self.offset
        let node = words.initializeMemory(as: csched_node.self, repeating: csched_node(next: nil, type: type), count: 1)
        csched_target_submit_node(core.target, node)
        return true
      }
    }

    /// Whether the runtime has the words where they are taken to lie.
    fileprivate var hasWordsInPlace: Bool {
      ExecutorJob(job).withUnsafeExecutorPrivateData {
        $0.baseAddress == Self.address(of: job) + Self.offset && $0.count >= MemoryLayout<csched_node>.size
      }
    }

    private static func address(of job: UnownedJob) -> UnsafeMutableRawPointer {
      unsafeBitCast(job, to: UnsafeMutableRawPointer.self)
    }

    private static func job(of node: UnsafeMutablePointer<csched_node>) -> UnownedJob {
      unsafeBitCast(UnsafeMutableRawPointer(node) - offset, to: UnownedJob.self)
    }

    fileprivate init(_ node: UnsafeMutablePointer<csched_node>) {
      let entry = UnsafeRawPointer(node.pointee.type!).assumingMemoryBound(to: JobTypes.Entry.self)
      self.init(Self.job(of: node), on: entry.pointee.scheduler, entry.pointee.kind)
    }

    fileprivate func runInPlace() {
      Counted.jobs(-1)
      runInTag()
    }

    /// The same of one of Swift's own jobs (``Kind/ofAll``), of which there are the most: nothing need be looked up for them.
    fileprivate static func runOfAll(_ node: UnsafeMutablePointer<csched_node>) {
      Counted.jobs(-1)
      runOfAll(job(of: node))
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

    /// The one of `job`, which is its scheduler's; nil if the runtime has the words elsewhere. Whether it has is looked at once for each scheduler.
    @inline(__always) fileprivate func pointer(of job: TaskJob) -> UnsafePointer<csched_node_type>? {
      guard let made = entries.load(ordering: .acquiring) ?? make(for: job) else { return nil }  // JW1: pairs with make
      return UnsafeRawPointer(made + Int(job.kind.rawValue)).assumingMemoryBound(to: csched_node_type.self)
    }

    @inline(never) private func make(for job: TaskJob) -> UnsafeMutablePointer<Entry>? {
      guard job.hasWordsInPlace else { return nil }
      let made = UnsafeMutablePointer<Entry>.allocate(capacity: TaskJob.Kind.allCases.count)
      for kind in TaskJob.Kind.allCases {
        var type = csched_node_type(
          run: { TaskJob($0!).runInPlace() }, drop: { TaskJob($0!).dropInPlace($1) }, kind: UInt(CSCHED_NODE))
        if kind == .ofAll { type.run = { TaskJob.runOfAll($0!) } }
        (made + Int(kind.rawValue)).initialize(to: Entry(type: type, scheduler: job.executor, kind: kind))
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
