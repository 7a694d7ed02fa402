internal import Scheduler
internal import Synchronization

/// The owner of each job, while any virtual time exists in the process.
enum Routes {
  private struct Table {
    /// The owners, by task number.
    var owners: [UInt64: VirtualScope] = [:]
    /// Tasks first seen outside of virtual time. They stay outside, even if a task in virtual time resumes them.
    var strangers: Set<UInt64> = []
    var scopes = 0
  }

  private static let table = Protected(Table())
  private static let scopes = Atomic(0)

  /// Whether any virtual time exists. Other code in the process pays only for this check.
  static var areInUse: Bool { scopes.load(ordering: .acquiring) != 0 }

  static func open() {
    table.withLock {
      $0.scopes += 1
      scopes.store($0.scopes, ordering: .releasing)
    }
  }

  /// Forgets the tasks of `scope`, which are ordinary tasks from then on.
  static func close(_ scope: VirtualScope) {
    let old = table.withLock { table in
      let old = table.owners
      table.owners = table.owners.filter { $0.value !== scope }
      table.scopes -= 1
      if table.scopes == 0 { table.strangers = [] }
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
    let maker = (here ?? inherited).flatMap { $0.mayOwn(job) ? $0 : nil }
    guard let task = job.task else { return maker }  // an actor's own job: belongs to its caller
    return table.withLock { table in
      if let owner = table.owners[task] { return owner }
      guard let maker, !table.strangers.contains(task) else {
        table.strangers.insert(task)
        return nil
      }
      table.owners[task] = maker
      return maker
    }
  }
}
