import CSQLite
import Scheduler

/// A database handle that is confined to one thread: opened, used and closed there, and nowhere else.
///
/// SQLite is asked for its single-thread mode, without any mutex of its own: the confinement is what makes that safe.
final class Database: @unchecked Sendable {
  // Unchecked, because the compiler does not know that `handle` is only touched on `thread`; each use checks it.
  let thread: ThreadScheduler
  private var handle: OpaquePointer?

  struct WrongThread: Error, CustomStringConvertible {
    var description: String { "the database belongs to another thread: schedule the query on it" }
  }

  init() throws {
    thread = try ThreadScheduler(name: "database")
    thread.schedule { [self] in
      precondition(sqlite3_open_v2(":memory:", &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil) == SQLITE_OK)
      precondition(sqlite3_exec(handle, "CREATE TABLE word (text TEXT)", nil, nil, nil) == SQLITE_OK)
      for word in ["schedule", "scheduler", "school", "science", "search", "seat"] {
        precondition(sqlite3_exec(handle, "INSERT INTO word VALUES ('\(word)')", nil, nil, nil) == SQLITE_OK)
      }
    }
  }

  /// The words that begin with `prefix`. Throws on any thread but the database's own.
  func words(beginningWith prefix: String) throws(WrongThread) -> [String] {
    guard thread.isOnThread else { throw WrongThread() }
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

  /// Closes the handle on its thread, after the queries before it, and ends the thread.
  func close() {
    thread.schedule { [self] in sqlite3_close(handle) }
    thread.stop()
    thread.join()
  }
}
