// Search as you type: each keystroke cancels the query before it. One thread owns the database, and nothing else touches it.
import Dispatch
import Scheduler

/// Stands for whatever a query captures: its end shows when the captures are freed.
final class Keystroke: Sendable {
  let text: String
  init(_ text: String) { self.text = text }
}

let database = try Database()

do {
  _ = try database.words(beginningWith: "s")
  fatalError("the main thread must be refused")
} catch {
  print("refused on the main thread: \(error)")
}

// The user types faster than the database answers: it is held up by something long.
let typed = DispatchSemaphore(value: 0), answered = DispatchSemaphore(value: 0)
let results = Protected<[String]>([])
database.thread.schedule { typed.wait() }

let query = SerialDisposable()  // setting the next disposes the one before
weak var previous: Keystroke?
for text in ["s", "sc", "sch", "sche"] {
  weak let overtaken = previous
  let keystroke = Keystroke(text)
  query.disposable = database.thread.schedule {
    let words = try! database.words(beginningWith: keystroke.text)
    results.append(contentsOf: words)
    answered.signal()
  }
  precondition(overtaken == nil, "the captures of the query that was overtaken are freed by now")
  previous = keystroke
}
typed.signal()
answered.wait()
database.close()

precondition(results.read() == ["schedule", "scheduler"], "only the last query has run")
print("asked four times, answered once:", results.read().joined(separator: ", "))
