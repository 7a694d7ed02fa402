import Foundation
import Scheduler

/// Turns instants of a scheduler into dates: that of its making is the present.
struct Dates: Sendable {
  let origin = Date()
  let start: MonotonicTime

  func date(of time: MonotonicTime) -> Date { origin + start.duration(to: time) / .seconds(1) }
  func span(to date: Date, from time: MonotonicTime) -> Duration {
    .seconds(date.timeIntervalSince(self.date(of: time)))
  }
}
