internal import Scheduler
internal import Synchronization

/// Whose each job is, while there is virtual time anywhere in the process.
enum Routes {
  private struct Table {
    /// By the number of the task.
    var owners: [UInt64: VirtualScope] = [:]
    /// Tasks that were first seen outside, so that they stay there when one in virtual time resumes them.
    var strangers: Set<UInt64> = []
    var scopes = 0
  }

  private static let table = Protected(Table())
  private static let scopes = Atomic(0)

  /// Whether there is virtual time anywhere: what other code in the process pays for.
  static var areInUse: Bool { scopes.load(ordering: .acquiring) != 0 }

  static func open() {
    table.withLock {
      $0.scopes += 1
      scopes.store($0.scopes, ordering: .releasing)
    }
  }

  /// Forgets what is of `scope`: its tasks are as others from now on.
  static func close(_ scope: VirtualScope) {
    let old = table.withLock { table in
      let old = table.owners
      table.owners = table.owners.filter { $0.value !== scope }
      table.scopes -= 1
      if table.scopes == 0 { table.strangers = [] }
      scopes.store(table.scopes, ordering: .releasing)
      return old
    }
    withExtendedLifetime(old) {}  // released outside of the lock
  }

  /// Returns whose `job` is; nil for nobody's.
  ///
  /// - Parameters:
  ///   - here: whose job runs on this thread. What is made in it is of the same.
  ///   - inherited: whose task runs on this thread.
  static func owner(of job: RoutedJob, here: VirtualScope?, inherited: VirtualScope?) -> VirtualScope? {
    let maker = (here ?? inherited).flatMap { $0.mayOwn(job) ? $0 : nil }
    guard let task = job.task else { return maker }  // an actor's, for those who call it
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
