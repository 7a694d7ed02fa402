// A web server of Hummingbird, whose request handlers run on the pool, under the load of blocking clients. Then a
// graceful shutdown.
import Glibc
import Hummingbird
import Logging
import Scheduler
import SchedulerExecutors
import ServiceLifecycle

let clients = 32, requests = 500

/// Counts the visits of each page.
actor Visits {
  private var counts: [Int: Int] = [:]
  var sum: Int { counts.values.reduce(0, +) }
  func add(_ page: Int) -> Int {
    counts[page, default: 0] += 1
    return counts[page]!
  }
}

@main struct Program {
  static func main() async throws {
    precondition(GlobalExecutors.isInstalled)
    let database = SerialScheduler(name: "database"), visits = Visits(), elsewhere = Protected(0)
    let router = Router()
    router.get("/:page") { _, context in
      let page = try context.parameters.require("page", as: Int.self)
      if !(Schedulers.current is ConcurrentScheduler) { elsewhere.withLock { $0 += 1 } }
      let count = await visits.add(page)
      if page % 8 == 0 { try await Task.sleep(for: .milliseconds(1)) }
      return try await database.perform { "page \(page): \(count)\n" }
    }
    let (ports, bound) = AsyncStream.makeStream(of: Int.self)
    let app = Application(
      router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
      onServerRunning: { bound.yield($0.localAddress!.port!) },
      logger: Logger(label: "web") { _ in SwiftLogNoOpLogHandler() })
    let group = ServiceGroup(services: [app], logger: app.logger), running = Task { try await group.run() }
    var iterator = ports.makeAsyncIterator()
    let port = await iterator.next()!

    let before = GlobalExecutors.jobs, start = MonotonicTime.now
    let threads = try ThreadScheduler.Group(count: clients, name: "clients"), answered = ActionGroup(),
      good = Protected(0)
    for (client, thread) in threads.schedulers.enumerated() {
      answered.schedule(on: thread) {
        let count = ask(port, client)
        good.withLock { $0 += count }
      }
    }
    try await answered.waitForAll()
    let duration = start.duration(to: .now), after = GlobalExecutors.jobs
    await threads.stopAndJoin()
    await group.triggerGracefulShutdown()
    try await running.value

    precondition(good.read() == clients * requests, "\(good.read()) of \(clients * requests) requests were answered")
    let sum = await visits.sum
    precondition(sum == clients * requests && elsewhere.read() == 0, "\(elsewhere.read()) handlers ran elsewhere")
    precondition(after.onPool - before.onPool >= clients * requests, "the tasks ran elsewhere: \(before) \(after)")
    print(
      "Hummingbird answered \(clients * requests) requests of \(clients) clients on the pool, \(Int(Double(clients * requests) / (duration / .seconds(1)))) a second"
    )
  }

  /// Sends requests over one connection, and waits for each answer. Returns how many came as they should.
  static func ask(_ port: Int, _ client: Int) -> Int {
    let connection = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(connection) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(UInt16(port).bigEndian)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let isConnected = withUnsafeBytes(of: &address) {
      connect(connection, $0.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count)) == 0
    }
    guard isConnected else { return 0 }
    var good = 0, bytes = [UInt8](repeating: 0, count: 4_096)
    for _ in 0..<requests {
      let request = "GET /\(client) HTTP/1.1\r\nHost: localhost\r\n\r\n"
      guard request.withCString({ send(connection, $0, strlen($0), 0) }) == request.utf8.count else { break }
      var answer = ""
      while !answer.hasSuffix("\n") || !answer.contains("page") {
        let count = recv(connection, &bytes, bytes.count, 0)
        guard count > 0 else { return good }
        answer += String(decoding: bytes[..<count], as: UTF8.self)
      }
      if answer.hasPrefix("HTTP/1.1 200 OK"), answer.contains("page \(client): \(good + 1)\n") { good += 1 }
    }
    return good
  }
}
