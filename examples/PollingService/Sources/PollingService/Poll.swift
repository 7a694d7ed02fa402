import Scheduler

/// Asks a server many things, some at a time, each with a timeout; and again, after a pause that doubles each time,
/// what had no answer.
///
/// What `subscribe` returns ends all of it: what waits for its turn, what pauses, and what is under way, whose threads
/// come back.
struct Poll: Sendable {
  let port: UInt16
  var count = 1_000
  var atATime = 16
  var timeout = Duration.seconds(60)
  var attempts = 3
  var pause = Duration.milliseconds(1)

  struct Outcome: Sendable {
    let request: Int
    let attempts: Int
    let answer: Result<String, RequestError>
  }

  /// Begins. Calls `next` with each outcome, one at a time, then `end`.
  func subscribe(
    next: @escaping @Sendable (Outcome) -> Void, end: @escaping @Sendable () -> Void
  ) -> any Disposable {
    let run = Run(poll: self, next, end)
    run.begin()
    return run.everything
  }
}

/// One subscription.
private final class Run: Sendable {
  let everything = CompositeDisposable()
  private let poll: Poll
  private let next: @Sendable (Poll.Outcome) -> Void
  private let end: @Sendable () -> Void
  /// Each lane has one request at a time, so the number of lanes is the most requests at a time.
  private let lanes: [SerialScheduler]
  private let timeouts = ConcurrentScheduler(name: "timeouts", priority: .high)
  private let outcomes = SerialScheduler(name: "outcomes")  // outcomes are reported one at a time
  private let left: Protected<Int>

  init(poll: Poll, _ next: @escaping @Sendable (Poll.Outcome) -> Void, _ end: @escaping @Sendable () -> Void) {
    self.poll = poll
    (self.next, self.end) = (next, end)
    lanes = (0..<poll.atATime).map { SerialScheduler(name: "lane \($0)") }
    left = Protected(poll.count)
  }

  func begin() {
    for request in 0..<poll.count {
      let turn = SerialDisposable()
      everything.insert(turn)
      ask(request, attempt: 1, after: .zero, in: turn)
    }
  }

  /// Asks when it is the request's turn in its lane, which goes on with others during a pause.
  private func ask(_ request: Int, attempt: Int, after pause: Duration, in turn: SerialDisposable) {
    // By replace: the first attempt may have failed, and set the second one, before its own disposable is returned.
    turn.replace {
      lanes[request % lanes.count].schedule(after: pause) { [self] in
        let answer = Result { () throws(RequestError) in try fetch(request, attempt) }
        if case .failure = answer, attempt < poll.attempts {
          ask(request, attempt: attempt + 1, after: max(pause * 2, poll.pause), in: turn)
        } else {
          report(Poll.Outcome(request: request, attempts: attempt, answer: answer))
        }
      }
    }
  }

  private func fetch(_ request: Int, _ attempt: Int) throws(RequestError) -> String {
    do {
      let socket = try Socket()
      guard let inFlight = everything.insert(AnyDisposable { socket.hangUp() }) else { throw RequestError.cancelled }
      let timeout = timeouts.schedule(after: poll.timeout) { socket.hangUp() }
      defer {
        everything.take(for: inFlight)
        timeout.dispose()
      }
      let text = try ConcurrentScheduler.withReplacementThread {
        do {
          try socket.connect(to: poll.port)
          try socket.send("GET /\(request)/\(attempt) HTTP/1.0\r\n\r\n")
          return try socket.receive()
        } catch {
          if socket.isHungUp { return "" }
          throw error
        }
      }
      if text.hasPrefix("HTTP/1.0 200"), let answer = text.split(separator: "\r\n").last { return String(answer) }
      if text.hasPrefix("HTTP/1.0 503") { throw RequestError.busy }
      throw everything.isDisposed ? RequestError.cancelled : socket.isHungUp ? .timedOut : .endedEarly
    } catch { throw error as? RequestError ?? .endedEarly }
  }

  private func report(_ outcome: Poll.Outcome) {
    outcomes.schedule { [self] in
      if everything.isDisposed { return }
      next(outcome)
      left.withLock { $0 -= 1 }
      if left.read() == 0 { end() }
    }
  }
}
