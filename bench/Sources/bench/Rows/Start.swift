import BenchKit
import CBench
import Dispatch
import Foundation
import NIOPosix
import Scheduler

// From nothing to a closure that has run, and to nothing again.

private func start(_ name: String, _ role: Contender.Role, _ body: @escaping @Sendable () -> Void) -> Contender {
  Contender(name, role, .operations(slices: 1, least: 100) { count in time { for _ in 0..<count { body() } } })
}

/// The programs of the rows U3 to U5, as bench/run has built them, without symbols. Each prints the nanoseconds from
/// main to its first action, and its peak of resident memory in kB.
private struct StartProgram: Sendable {
  let name: String, role: Contender.Role, file: URL

  static let inC: [StartProgram] = [
    ("csched_pool", .ours, "start-csched"), ("libuv work queue", .peer, "start-libuv"), ("tokio", .peer, "start-tokio"),
    ("pthread", .limit, "start-pthread"),
  ].compactMap(StartProgram.init)
  static let inSwift: [StartProgram] = [
    ("ConcurrentScheduler", .ours, "startScheduler"), ("global queue", .dispatch, "startDispatch"),
  ].compactMap(StartProgram.init)

  private init?(_ name: String, _ role: Contender.Role, _ file: String) {
    guard let file = Peers.file(file) else { return nil }
    (self.name, self.role, self.file) = (name, role, file)
  }

  /// Runs the program ten times, and returns one of its figures of each run.
  private func run(_ figure: Int) -> [Double] {
    (0..<10).compactMap { _ in
      let process = Process(), pipe = Pipe()
      (process.executableURL, process.standardOutput) = (file, pipe)
      guard (try? process.run()) != nil else { return nil }
      let data = pipe.fileHandleForReading.readDataToEndOfFile()
      process.waitUntilExit()
      return (try? JSONDecoder().decode([Double].self, from: data))?[figure]
    }
  }

  static func rows(_ suffix: String, _ what: String, _ programs: [StartProgram]) -> [Row] {
    func row(_ id: String, _ work: String, _ unit: String, _ measure: (StartProgram) -> Measure) -> Row {
      let hasGoal = id + suffix != "U5"  // Dispatch is part of Swift's libraries, so its program has none of it
      return Row(
        id + suffix, work + what, unit: unit, programs.map { Contender($0.name, $0.role, measure($0)) },
        targets: hasGoal ? [.best(1)] : [])
    }
    return [
      row("U3", "from main to the first job on a thread of a pool", "ns") { program in
        .figures(rounds: 10) { program.run(0) }
      },
      row("U4", "peak of resident memory until then", "kB") { program in .figures(rounds: 10) { program.run(1) } },
      row("U5", "size of the program, without symbols", "kB") { program in
        .figures(rounds: 3) {
          [Double((try? program.file.resourceValues(forKeys: [.fileSizeKey]).fileSize) ?? 0) / 1024]
        }
      },
    ]
  }
}

let startRows =
  [
    Row(
      "U1", "make a thread, run a closure on it, and end it",
      [
        start("ThreadScheduler", .ours) {
          let thread = try! ThreadScheduler(name: "start")
          thread.schedule {}
          thread.stop()
          thread.join()
        },
        start("NIO event loop group", .peer) {
          let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
          group.next().execute {}
          try! group.syncShutdownGracefully()
        },
        start("Foundation Thread", .peer) {
          let done = DispatchSemaphore(value: 0)
          Thread { done.signal() }.start()
          done.wait()
        },
        start("pthread", .limit) {
          var thread = pthread_t()
          pthread_create(&thread, nil, { _ in nil }, nil)
          pthread_join(thread, nil)
        },
      ], targets: [.best(1)]),
    Row(
      "U2", "make a serial queue, run a closure on it, and release it",
      [
        start("SerialScheduler", .ours) {
          let done = DispatchSemaphore(value: 0)
          SerialScheduler(name: "start").schedule { done.signal() }
          done.wait()
        },
        start("serial async", .dispatch) {
          let done = DispatchSemaphore(value: 0)
          DispatchQueue(label: "start").async { done.signal() }
          done.wait()
        },
      ], targets: [.best(1)]),
  ] + StartProgram.rows("c", ": a static program in C (tokio's in Rust, with the C library shared)", StartProgram.inC)
  + StartProgram.rows(
    "", ": a program in Swift, with Swift's libraries, Dispatch among them, shared", StartProgram.inSwift)
