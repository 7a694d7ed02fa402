import Scheduler

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The server that is polled: in this process, on a port of the loopback interface.
final class Server: Sendable {
  enum Manner {
    /// Says what it is asked; but that it is busy, to the first attempt of each tenth request.
    case answers
    /// Takes connections, and never says anything.
    case hangs
  }

  /// How many requests are being answered, and were at the most.
  struct Load {
    var now = 0, most = 0
  }

  let port: UInt16
  let load = Protected(Load())
  private let manner: Manner
  private let listener: Socket
  private let thread: ThreadScheduler
  private let workers = ConcurrentScheduler(name: "server")

  init(_ manner: Manner) throws {
    self.manner = manner
    listener = try Socket()
    port = try listener.listen()
    thread = try ThreadScheduler(name: "server")
    thread.schedule { [self] in
      while let client = try? listener.accept() {
        workers.schedule { [self] in ConcurrentScheduler.withReplacementThread { try? serve(client) } }
      }
    }
  }

  /// Takes no more connections; those that it has end with their clients.
  func stop() {
    listener.hangUp()
    thread.stop()
    thread.join()
  }

  private func serve(_ client: Socket) throws {
    let words = try client.receive(until: "\r\n\r\n").split(separator: " ")  // GET /NUMBER/ATTEMPT HTTP/1.0
    guard words.count > 1, case let path = words[1].split(separator: "/").compactMap({ Int($0) }), path.count == 2
    else { return }
    load.withLock {
      $0.now += 1
      $0.most = max($0.most, $0.now)
    }
    switch manner {
    case .answers: usleep(1_000)  // there is something to look up
    case .hangs: _ = try? client.receive()
    }
    load.withLock { $0.now -= 1 }
    let isBusy = path[0] % 10 == 0 && path[1] == 1
    try client.send(isBusy ? "HTTP/1.0 503 Busy\r\n\r\n" : "HTTP/1.0 200 OK\r\n\r\n\(path[0])")
  }
}
