// Submits a job of a Swift task as a node of the C core (node.h), stored inside the job itself.
//
// Swift 6.3 reserves two words in each job for its executor. Other toolchains, and builds with SCHEDULER_WITHOUT_SPI,
// use a `csched_task` (task.h) for each job.
//
// Invariants
//   JW1  A thread that loads a scheduler's type table sees it complete. If two threads make a table, the second one
//        frees its own table.
// Orderings: entries: the release in `makeTable`, which publishes the table, pairs with the acquire in `nodeType`
// Models: swift/executors/late_jobs.swift.

#if compiler(>=6.3) && compiler(<6.4) && os(Linux) && !SCHEDULER_WITHOUT_SPI
  internal import CScheduler
  internal import Synchronization
  @_spi(ExperimentalCustomExecutors) import _Concurrency

  extension TaskJob {
    /// Where a job is expected to contain the two words that Swift reserves for its executor: the offset in bytes,
    /// behind the object header.
    private static var offset: Int { 16 }

    /// Submits the job to its scheduler's core, as a node in the job's two words. Returns false, and does nothing, if
    /// `core` is not the scheduler's own core, or if these words are not at the expected offset. The table of types is
    /// made only if they are, so later jobs are not checked.
    @inline(__always) func submitInPlace(to core: TargetCore) -> Bool {
      executor._withUnsafeGuaranteedRef { scheduler in
        guard scheduler.core === core, let type = scheduler.jobTypes.nodeType(of: self) else { return false }
        let words = Self.address(of: job) + Self.offset
        let node = words.initializeMemory(as: csched_node.self, repeating: csched_node(next: nil, type: type), count: 1)
        csched_target_submit_node(core.target, node)
        return true
      }
    }

    /// Whether the job's two words are at the expected offset and large enough for a node.
    fileprivate var hasWordsInPlace: Bool {
      ExecutorJob(job).withUnsafeExecutorPrivateData {
        $0.baseAddress == Self.address(of: job) + Self.offset && $0.count >= MemoryLayout<csched_node>.size
      }
    }

    private static func address(of job: UnownedJob) -> UnsafeMutableRawPointer {
      unsafeBitCast(job, to: UnsafeMutableRawPointer.self)
    }

    /// Returns the job that contains `node`.
    private static func job(of node: UnsafeMutablePointer<csched_node>) -> UnownedJob {
      unsafeBitCast(UnsafeMutableRawPointer(node) - offset, to: UnownedJob.self)
    }

    /// Restores the job from its node: the node's type identifies the scheduler and the kind.
    fileprivate init(_ node: UnsafeMutablePointer<csched_node>) {
      let entry = UnsafeRawPointer(node.pointee.type!).assumingMemoryBound(to: JobTypes.Entry.self)
      self.init(Self.job(of: node), on: entry.pointee.scheduler, entry.pointee.kind)
    }

    /// The core's `run` callback of a node. The diagnostic count includes the job since its submission (TaskJob.swift).
    fileprivate func runInPlace() {
      Counted.jobs(-1)
      runInsideMarker()
    }

    /// As `runInPlace`, for the most frequent kind, ``Kind/ofGlobal`` (tasks without a preferred executor): it reads no
    /// scheduler from the table.
    fileprivate static func runGlobalJob(_ node: UnsafeMutablePointer<csched_node>) {
      Counted.jobs(-1)
      runGlobalJob(job(of: node))
    }

    /// The core's `drop` callback of a node: resubmits the job elsewhere, because a task's job must run.
    fileprivate func dropInPlace(_ reason: csched_drop_reason) {
      Counted.jobs(-1)
      scheduler.core.resubmitTaskJob(self, wasRefused: reason == CSCHED_DROP_REFUSED)
    }
  }

  /// The table of a scheduler's node types, made when the scheduler gets its first job. It has an entry for each kind
  /// of job. An entry begins with the node type, and also stores the scheduler and the kind. So the pointer to a node's
  /// type is the entry's address, and identifies both.
  struct JobTypes: ~Copyable, @unchecked Sendable {
    // Unchecked, because of the pointer. The table never changes, and lives as long as this value.
    fileprivate struct Entry {
      let type: csched_node_type  // first field: its address is that of the entry
      let scheduler: Unmanaged<SchedulerTarget>
      let kind: TaskJob.Kind
    }
    private let entries = Atomic<UnsafeMutablePointer<Entry>?>(nil)  // the table; nil until the first job

    // JW1: the scheduler is being freed, so no other thread uses the table
    deinit { entries.load(ordering: .relaxed)?.deallocate() }

    /// Returns the node type of `job`, a job of this scheduler. Returns nil if `hasWordsInPlace` is false.
    @inline(__always) fileprivate func nodeType(of job: TaskJob) -> UnsafePointer<csched_node_type>? {
      // JW1: acquire: the entries are complete in a table that this load finds; pairs with makeTable
      guard let made = entries.load(ordering: .acquiring) ?? makeTable(for: job) else { return nil }
      return UnsafeRawPointer(made + Int(job.kind.rawValue)).assumingMemoryBound(to: csched_node_type.self)
    }

    /// Makes and publishes the table. Returns nil if `hasWordsInPlace` is false.
    @inline(never) private func makeTable(for job: TaskJob) -> UnsafeMutablePointer<Entry>? {
      guard job.hasWordsInPlace else { return nil }
      let made = UnsafeMutablePointer<Entry>.allocate(capacity: TaskJob.Kind.allCases.count)
      for kind in TaskJob.Kind.allCases {
        var type = csched_node_type(
          run: { TaskJob($0!).runInPlace() }, drop: { TaskJob($0!).dropInPlace($1) }, kind: UInt(CSCHED_NODE))
        if kind == .ofGlobal { type.run = { TaskJob.runGlobalJob($0!) } }
        (made + Int(kind.rawValue)).initialize(to: Entry(type: type, scheduler: job.executor, kind: kind))
      }
      // JW1: only the first table is published; the release makes its entries visible to `nodeType`
      let (isFirst, found) = entries.compareExchange(expected: nil, desired: made, ordering: .acquiringAndReleasing)
      guard isFirst else {
        made.deallocate()
        return found!  // the other thread's table; the acquire makes its entries visible here
      }
      return made
    }
  }
#endif
