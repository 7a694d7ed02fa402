import Scheduler

// A polling service: a thousand requests to a local server, sixteen at a time, each with a timeout and retries; one
// dispose ends it all.
//
//   swift run PollingService            the server answers
//   swift run PollingService dispose    it is ended in the middle
//   swift run PollingService hangs      the server never answers
//   swift run PollingService refuses    there is none
#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

signal(SIGPIPE, SIG_IGN)  // a server that has hung up is an error of the call, and not the end of the process

/// Waits for what another thread is about to bring about.
func wait(for condition: () -> Bool) { while !condition() { usleep(1_000) } }

/// Polls to the end, with a bar; returns the outcomes.
func outcomes(of poll: Poll) throws -> [Poll.Outcome] {
  let bar = ProgressBar(of: poll.count)
  defer { print(bar.end()) }
  let source = BlockingObservable<Poll.Outcome> { next, end in
    poll.subscribe {
      bar.advance(attempts: $0.attempts)
      _ = next($0)
    } end: {
      end(nil)
    }
  }
  return try source.toArray()
}

/// Polls until `limit` outcomes are there, or until `isTime`; disposes then, and checks that nothing is left.
func disposes(_ poll: Poll, after limit: Int, or isTime: () -> Bool = { false }) {
  let count = Protected(0), everything = SingleAssignmentDisposable(), alive = Probe()
  weak let seen: Probe? = alive
  everything.setDisposable(
    poll.subscribe { [alive = consume alive] _ in
      withExtendedLifetime(alive) {}
      if everything.isDisposed { return }  // it was before `subscribe` had returned what ends the rest
      let isLast = count.withLock { count in
        count += 1
        return count == limit
      }
      if isLast { everything.dispose() }  // as well from inside as from outside
    } end: {
      fatalError("what is disposed does not complete")
    })
  wait { everything.isDisposed || isTime() }
  everything.dispose()
  wait { seen == nil }  // the handler is gone, and so is all that could call it
  precondition(count.read() <= limit)
  print("disposed after \(count.read()) of \(poll.count): nothing is left")
}

/// Its end shows when the handler is freed.
final class Probe: Sendable {}

precondition(ProgressBar.line(512, of: 1_024, retries: 3) == "[##########          ] 512/1024, 3 retries")

switch CommandLine.arguments.dropFirst().first ?? "answers" {
case "answers":
  let server = try Server(.answers)
  let poll = Poll(port: server.port), all = try outcomes(of: poll)
  precondition(all.allSatisfy { $0.answer == .success("\($0.request)") }, "each has its own answer")
  precondition(Set(all.map(\.request)) == Set(0..<poll.count), "each is there, once")
  precondition(all.allSatisfy { $0.attempts == ($0.request % 10 == 0 ? 2 : 1) }, "the server was busy for each tenth")
  let most = server.load.read().most
  precondition(most <= poll.atATime, "no more at a time than were asked for")
  server.stop()
  print("all answered, at most \(most) at a time")
case "dispose":
  let server = try Server(.answers)
  disposes(Poll(port: server.port), after: 300)
  server.stop()
case "hangs":
  let server = try Server(.hangs)
  let poll = Poll(port: server.port, atATime: 32, timeout: .milliseconds(10), attempts: 2)
  let all = try outcomes(of: poll)
  precondition(all.count == poll.count && all.allSatisfy { $0.answer == .failure(.timedOut) && $0.attempts == 2 })
  // One that waits for an hour is ended all the same.
  let patient = Poll(port: server.port, timeout: .seconds(3_600))
  disposes(patient, after: 1) { server.load.read().now >= patient.atATime }
  server.stop()
case "refuses":
  let port = try Socket().listen()  // closed again: connections are refused
  let all = try outcomes(of: Poll(port: port))
  precondition(all.count == 1_000 && all.allSatisfy { $0.answer == .failure(.refused) && $0.attempts == 3 })
  print("all were refused three times")
default:
  print("answers, dispose, hangs, or refuses?")
  exit(64)
}
