// NIO beside us: its loops keep their threads, and all tasks that use its channels and futures run on the pool and the
// main loop.
import NIOCore
import NIOPosix
import Scheduler
import SchedulerExecutors

let clients = 16, messages = 200

@main struct Program {
  static func main() async throws {
    precondition(GlobalExecutors.isInstalled)
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
    let before = GlobalExecutors.jobs
    let echoed = try await echo(on: group)
    precondition(echoed == clients * messages, "\(echoed) of \(clients * messages) came back")
    let after = GlobalExecutors.jobs
    precondition(after.onPool - before.onPool >= clients * messages, "the tasks ran elsewhere: \(before) \(after)")

    // A task of the main actor gets a future's value, and continues in the main loop.
    let onMain = await MainActor.run { MainScheduler.instance.isIsolatingCurrentContext() == true }
    let sum = try await group.next().submit { 40 }.get() + 2
    precondition(onMain && sum == 42)

    // An actor whose executor is one of NIO's loops stays on that loop.
    let pinned = Pinned(group.next())
    for _ in 0..<100 {
      let isAtHome = await pinned.isAtHome()
      precondition(isAtHome)
    }

    // NIO's timers and our sleeps side by side.
    async let slept: Void = Task.sleep(for: .milliseconds(2))
    try await group.next().scheduleTask(in: .milliseconds(2)) {}.futureResult.get()
    try await slept

    try await group.shutdownGracefully()
    print("\(echoed) messages through NIO's channels, by tasks that ran here: \(GlobalExecutors.jobs)")
  }

  /// A server and its clients, each a task, over NIO's async channels. Returns how many bytes came back.
  static func echo(on group: MultiThreadedEventLoopGroup) async throws -> Int {
    typealias Channel = NIOAsyncChannel<ByteBuffer, ByteBuffer>
    let server = try await ServerBootstrap(group: group).bind(host: "127.0.0.1", port: 0) { channel in
      channel.eventLoop.makeCompletedFuture { try Channel(wrappingChannelSynchronously: channel) }
    }
    let port = server.channel.localAddress!.port!
    return try await withThrowingTaskGroup(of: Int.self) { tasks in
      tasks.addTask {
        try await server.executeThenClose { connections in
          try await withThrowingDiscardingTaskGroup { served in
            var accepted = 0
            for try await connection in connections {
              served.addTask {
                try await connection.executeThenClose { inbound, outbound in
                  for try await message in inbound { try await outbound.write(message) }
                }
              }
              accepted += 1
              if accepted == clients { break }
            }
          }
        }
        return 0
      }
      for _ in 0..<clients {
        tasks.addTask {
          let client = try await ClientBootstrap(group: group).connect(host: "127.0.0.1", port: port) { channel in
            channel.eventLoop.makeCompletedFuture { try Channel(wrappingChannelSynchronously: channel) }
          }
          return try await client.executeThenClose { inbound, outbound in
            var back = 0
            var replies = inbound.makeAsyncIterator()
            for _ in 0..<messages {
              try await outbound.write(ByteBuffer(integer: UInt8(1)))
              guard let reply = try await replies.next() else { break }
              back += reply.readableBytes
            }
            return back
          }
        }
      }
      return try await tasks.reduce(0, +)
    }
  }
}

/// On a loop of NIO's.
actor Pinned {
  private let loop: any EventLoop
  private let executor: any SerialExecutor
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  init(_ loop: any EventLoop) {
    self.loop = loop
    executor = loop.executor
  }

  func isAtHome() -> Bool { loop.inEventLoop }
}
