/// What one thread has been asked to run, and how far it has got.
struct VirtualDrive<Time: Sendable> {
  /// What one call asks for.
  enum Request {
    /// All until that time, and then move the clock there.
    case advance(Time)
    /// All but what is periodic.
    case run
    /// That many.
    case step(Int)
  }

  /// The latest time that was asked for.
  private(set) var target: Time?
  private(set) var runsAll = false
  private(set) var steps = 0

  /// Widens what is to be done by `request`.
  mutating func add(_ request: Request, isEarlier: (Time, Time) -> Bool) {
    switch request {
    case .advance(let time):
      if let target, !isEarlier(target, time) { return }
      target = time
    case .run:
      runsAll = true
    case .step(let count):
      steps = steps > .max - count ? .max : steps + count
    }
  }

  /// Counts an action that is about to run.
  mutating func countTurn() { steps = max(0, steps - 1) }
}
