import CSQLite
import Scheduler

/// A database handle. It is neither `Sendable` nor locked: its owner keeps it on one thread.
///
/// SQLite is asked for its single-thread mode, without any mutex of its own: the confinement is what makes that safe.
final class Connection {
  private var handle: OpaquePointer?

  init() {
    precondition(sqlite3_open_v2(":memory:", &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil) == SQLITE_OK)
    precondition(sqlite3_exec(handle, "CREATE TABLE word (text TEXT)", nil, nil, nil) == SQLITE_OK)
    for word in ["schedule", "scheduler", "school", "science", "search", "seat"] { add(word) }
  }

  deinit { sqlite3_close(handle) }

  func add(_ word: String) {
    precondition(sqlite3_exec(handle, "INSERT INTO word VALUES ('\(word)')", nil, nil, nil) == SQLITE_OK)
  }

  /// The words that begin with `prefix`.
  func words(beginningWith prefix: String) -> [String] {
    var statement: OpaquePointer?
    precondition(
      sqlite3_prepare_v2(handle, "SELECT text FROM word WHERE text LIKE ? || '%' ORDER BY text", -1, &statement, nil)
        == SQLITE_OK)
    defer { sqlite3_finalize(statement) }
    let copyTheText = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    sqlite3_bind_text(statement, 1, prefix, -1, copyTheText)
    var found: [String] = []
    while sqlite3_step(statement) == SQLITE_ROW { found.append(String(cString: sqlite3_column_text(statement, 0))) }
    return found
  }
}

/// The same as an actor that is pinned to a thread: its functions run on that thread.
actor WordList {
  private let thread: ThreadScheduler
  private let connection: ThreadScheduler.Confined<Connection>

  nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  init(on thread: ThreadScheduler) {
    self.thread = thread
    connection = thread.confine { Connection() }
  }

  func learn(_ word: String) throws { try connection.withValue { $0.add(word) } }  // on the thread: no await

  func words(beginningWith prefix: String) throws -> [String] {
    try connection.withValue { $0.words(beginningWith: prefix) }
  }
}
