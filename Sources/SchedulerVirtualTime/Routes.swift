internal import Scheduler
internal import Synchronization

/// Maps each job to the scope that owns it, while any virtual time exists in the process.
enum Routes {
  private struct Table {
    /// The owners, by task number.
    var owners: [UInt64: VirtualScope] = [:]
    /// Tasks whose first job came from outside virtual time. They never get an owner, even if a task in virtual time resumes them.
    var outsiders: Set<UInt64> = []
    var scopes = 0  // open scopes
  }

  private static let table = Protected(Table())
  private static let scopes = Atomic(0)  // a copy of `Table.scopes`, read without the lock

  /// Whether any virtual time exists. If not, the job of an ordinary task costs only this check.
  static var areInUse: Bool { scopes.load(ordering: .acquiring) != 0 }

  /// Counts a new scope.
  static func open() {
    table.withLock {
      $0.scopes += 1
      scopes.store($0.scopes, ordering: .releasing)
    }
  }

  /// Removes the tasks of `scope` from the table: from now on they are ordinary tasks.
  static func close(_ scope: VirtualScope) {
    let old = table.withLock { table in
      let old = table.owners
      table.owners = table.owners.filter { $0.value !== scope }
      table.scopes -= 1
      if table.scopes == 0 { table.outsiders = [] }
      scopes.store(table.scopes, ordering: .releasing)
      return old
    }
    withExtendedLifetime(old) {}  // released outside the lock
  }

  /// Returns the owner of `job`; nil if it has none.
  ///
  /// - Parameters:
  ///   - here: the scope whose job runs on this thread. It owns the jobs created in that job.
  ///   - inherited: the scope of the task that runs on this thread.
  static func owner(of job: RoutedJob, here: VirtualScope?, inherited: VirtualScope?) -> VirtualScope? {
    let creator = (here ?? inherited).flatMap { $0.mayOwn(job) ? $0 : nil }
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
