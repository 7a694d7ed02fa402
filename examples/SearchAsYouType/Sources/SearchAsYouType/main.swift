// Search as you type: the database is asked when the typing has paused, and each keystroke cancels the query before it.
// One thread owns the database, and nothing else touches it.
import Dispatch
import Scheduler
import SearchField

/// Stands for whatever a query captures: its end shows when the captures are freed.
final class Keystroke: Sendable {
  let text: String
  init(_ text: String) { self.text = text }
}

let thread = try ThreadScheduler(name: "database")
let database = thread.confine { Connection() }  // made, used and closed on the thread

// The user types faster than the database answers: it is held up by something long.
let typed = DispatchSemaphore(value: 0), answered = DispatchSemaphore(value: 0)
let results = Protected<[String]>([])
thread.schedule { typed.wait() }

let field = SearchField<Keystroke>(pause: .milliseconds(50), scheduler: thread) { keystroke in
  let words = try! database.withValue { $0.words(beginningWith: keystroke.text) }
  results.append(contentsOf: words)
  answered.signal()
  return AnyDisposable()
}
weak var previous: Keystroke?
for text in ["s", "sc", "sch", "sche"] {
  weak let overtaken = previous
  let keystroke = Keystroke(text)
  field.type(keystroke)
  precondition(overtaken == nil, "the captures of the query that was overtaken are freed by now")
  previous = keystroke
}
typed.signal()
answered.wait()
precondition(results.read() == ["schedule", "scheduler"], "only the last query has run")

// Async functions await the same thread.
let found = try runAndWait { try await database.perform { $0.words(beginningWith: "sea") } }
precondition(found == ["search", "seat"])

let learned = try runAndWait {
  let list = WordList(on: thread)
  try await list.learn("schema")
  return try await list.words(beginningWith: "sche")
}
precondition(learned == ["schedule", "scheduler", "schema"])

thread.stop()
thread.join()  // the connections are closed by now

do {
  _ = try runAndWait { try await database.perform { $0.words(beginningWith: "s") } }
  fatalError("a database whose thread has ended must be refused")
} catch {
  print("refused after the thread's end: \(error)")
}
print("asked four times, answered once:", results.read().joined(separator: ", "))
