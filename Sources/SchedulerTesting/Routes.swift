internal import Scheduler
internal import Synchronization

/// Whose each job is, while there is virtual time anywhere in the process.
enum Routes {
  private struct Table {
    /// By the number of the task.
    var owners: [UInt64: VirtualScope] = [:]
    /// By the address of the job.
    var actors: [UInt: KnownActor] = [:]
    /// Tasks that were first seen outside, so that they stay there when one in virtual time resumes them.
    var strangers: Set<UInt64> = []
    var scopes = 0
  }

  /// An actor that was called in a scope. Another one may come to lie where it was.
  private struct KnownActor: @unchecked Sendable {
    // Unchecked, because nothing but the identity of the object is looked at.
    weak var actor: AnyObject?
    let owner: VirtualScope
  }

  private static let table = Protected(Table())
  private static let scopes = Atomic(0)

  /// Whether there is virtual time anywhere: what other code in the process pays for.
  static var areInUse: Bool { scopes.load(ordering: .acquiring) != 0 }

  static func open() {
    ActorJobs.prepare()
    table.withLock {
      $0.scopes += 1
      scopes.store($0.scopes, ordering: .releasing)
    }
  }

  /// Forgets what is of `scope`: its tasks are as others from now on.
  static func close(_ scope: VirtualScope) {
    let old = table.withLock { table in
      let old = (table.owners, table.actors)
      table.owners = table.owners.filter { $0.value !== scope }
      table.actors = table.actors.filter { $0.value.owner !== scope }
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
    guard let task = job.task else { return owner(ofActors: job, maker: maker) }
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

  /// An actor's job is of those who call the actor. One that a thread from outside brings is for a task that this thread has resumed.
  private static func owner(ofActors job: RoutedJob, maker: VirtualScope?) -> VirtualScope? {
    guard let actor = ActorJobs.actor(of: job) else { return maker }
    return table.withLock { table in
      if let maker {
        table.actors[job.address] = KnownActor(actor: actor, owner: maker)
        return maker
      }
      guard let known = table.actors[job.address] else { return nil }
      if known.actor === actor { return known.owner }
      table.actors[job.address] = nil
      return nil
    }
  }
}
