internal import Scheduler
internal import Synchronization

/// Finds the scope (the virtual time of one `withVirtualTime`) that owns a job. One table serves the process.
enum Routes {
  private struct Table {
    /// The scope that owns each task, by task number.
    var owners: [UInt64: VirtualScope] = [:]
    /// Numbers of the tasks whose first job came from outside virtual time. They never get an owner, even if a task in
    /// virtual time resumes them.
    var outsiders: Set<UInt64> = []
    var scopes = 0  // how many scopes are open
  }

  private static let table = Protected(Table()).heldInForks()
  private static let scopes = Atomic(0)  // a copy of `Table.scopes`, read without the lock

  /// Whether any scope is open. If not, this check is all that virtual time adds to the enqueuing of a job. Acquire:
  /// pairs with `open` and `close`.
  static var hasOpenScopes: Bool { scopes.load(ordering: .acquiring) != 0 }

  /// Counts a new scope. Call it before the scope's first task is created: without an open scope, jobs get no owner.
  /// Call `close` once later.
  static func open() {
    table.withLock {
      $0.scopes += 1
      scopes.store($0.scopes, ordering: .releasing)
    }
  }

  /// Removes the tasks of `scope` from the table: from now on they are ordinary tasks. Call it once for each `open`.
  static func close(_ scope: VirtualScope) {
    let old = table.withLock { table in
      let old = table.owners  // keeps the scopes alive until the lock is released
      table.owners = table.owners.filter { $0.value !== scope }
      table.scopes -= 1
      if table.scopes == 0 { table.outsiders = [] }  // so that it does not grow for ever; not read without a scope
      scopes.store(table.scopes, ordering: .releasing)
      return old
    }
    withExtendedLifetime(old) {}  // outside the lock: the last release of a scope runs its deinit
  }

  /// Returns the scope that owns `job`; nil if none does. The first job of a task decides this for all jobs of the
  /// task.
  ///
  /// - Parameters:
  ///   - threadScope: the scope whose job runs on this thread, or nil. It owns new tasks that this job creates.
  ///   - inherited: the task-local scope of the task that runs on this thread, or nil. Used if `threadScope` is nil.
  static func owner(of job: RoutedJob, threadScope: VirtualScope?, inherited: VirtualScope?) -> VirtualScope? {
    let creator = (threadScope ?? inherited).flatMap { $0.mayOwn(job) ? $0 : nil }  // may own a first job
    guard let task = job.task else { return creator }  // an actor's own job belongs to the scope that enqueued it
    return table.withLock { table in
      if let owner = table.owners[task] { return owner }
      guard let creator, !table.outsiders.contains(task) else {
        table.outsiders.insert(task)
        return nil
      }
      table.owners[task] = creator
      return creator
    }
  }
}
