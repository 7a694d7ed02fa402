import Foundation
import Grammar
import Scheduler
import SchedulerVirtualTime

// Runs one program by lot over the Swift API, and checks what the documentation promises to every program. Which
// programs there are: Grammar.h.
//
//   SwiftPrograms SEED [--without STEP,STEP...] [--print] [--full | --virtual]
//
// --full: a program that does not use the shared pool, beside such a pool all of whose threads are busy.
// --virtual: a program in virtual time, twice: the same must happen, at the same times.

@main struct Program {
  static func main() throws {
    var words = CommandLine.arguments.dropFirst()[...], without: String?, prints = false, isFull = false,
      isVirtual = false
    guard let seed = words.popFirst().flatMap(UInt64.init) else { exit(2) }
    while let word = words.popFirst() {
      switch word {
      case "--without": without = words.popFirst()
      case "--print": prints = true
      case "--virtual": isVirtual = true
      default: isFull = true
      }
    }
    let api = isVirtual ? PROGRAM_OF_SWIFT_VIRTUAL : isFull ? PROGRAM_OF_SWIFT_UNSHARED : PROGRAM_OF_SWIFT
    let program = make_program(seed, api, without).pointee
    if prints { return print_program() }
    mainBlockedSignals.write(blockedSignals())
    try Schedulers.dump(onSignal: SIGTERM)  // the runner sends it to a program that does not end
    if isVirtual { return runVirtually(program, seed % 2 == 0 ? seed : nil) }
    // First in the parent: a child cannot make what the runtime of Swift makes of a generic type while another thread
    // does so in the parent's fork.
    if (0..<program.step_count).contains(where: { step($0).kind == FORK }) { useNewObjects() }
    let world = try World(program), isOver = Protected(false)
    if isFull {
      for _ in 0..<600 { ConcurrentScheduler(priority: .high).schedule { while !isOver.read() { usleep(100) } } }
    }
    let actors = CountingSemaphore(), start = ActionGroup(entered: 1)
    for actor in 1..<max(1, program.actor_count) {
      Thread.detachNewThread {
        start.wait()
        world.runBody(program_first_of(actor), on: none, in: nil)
        actors.signal()
      }
    }
    start.leave()
    world.runBody(program_first_of(0), on: none, in: nil)
    for _ in 1..<max(1, program.actor_count) { actors.wait() }
    while !world.haveAllEnded { usleep(100) }
    isOver.write(true)
    world.checkEnds()
    world.end()
  }

  /// Runs the program twice, in the order of a seed or of arrival.
  static func runVirtually(_ program: program, _ order: UInt64?) {
    let isOver = CountingSemaphore()
    Task.detached {
      var traces: [[String]] = []
      for _ in 0..<2 {
        let world = await withVirtualTime(seed: order) { time in
          let world = try! World(program, in: time)
          await withTaskGroup { group in
            for actor in 0..<program.actor_count {
              group.addTask { await world.runTask(program_first_of(actor), in: nil) }
            }
          }
          await time.run()
          require(time.escapes == 0, "\(time.escapes) jobs come from elsewhere")
          return world
        }
        while !world.haveAllEnded { usleep(100) }
        world.checkEnds()
        world.end()
        traces.append(world.trace.read())
      }
      let differs = zip(traces[0], traces[1]).first { $0 != $1 }
      require(
        traces[0] == traces[1],
        "first \(differs?.0 ?? "\(traces[0].count) events"), then \(differs?.1 ?? "\(traces[1].count)")")
      isOver.signal()
    }
    isOver.wait()
  }
}
