// Counts the lines of the files under a folder: a program of tasks, an actor and the main actor. Nothing in it says
// where they run; they run on the library's pool and main loop because SchedulerExecutorsLinked is linked
// (Package.swift).
import Foundation
import Scheduler

/// Adds up what the tasks find.
actor Totals {
  private(set) var files = 0, lines = 0

  func add(lines: Int) {
    files += 1
    self.lines += lines
  }
}

/// What the user is shown, on the main thread.
@MainActor final class Progress {
  private(set) var shown = 0

  func show(_ count: Int) {
    MainScheduler.instance.checkIsolated()
    shown = max(shown, count)
  }
}

@main struct WholeProgram {
  static func main() async throws {
    let folder = CommandLine.arguments.dropFirst().first(where: { !$0.isEmpty }) ?? "/etc"
    let totals = Totals(), progress = Progress()
    await withTaskGroup(of: Void.self) { group in
      for path in paths(in: folder) {
        group.addTask {
          precondition(Schedulers.current is ConcurrentScheduler)
          // The thread may block for long: another one takes its place in the pool meanwhile.
          let lines = ConcurrentScheduler.withReplacementThread { countLines(of: path) }
          await totals.add(lines: lines)
          await progress.show(totals.files)
        }
      }
    }
    // Actions and the main actor's tasks are in one order.
    await withCheckedContinuation { continuation in MainScheduler.asyncInstance.schedule { continuation.resume() } }
    try await Task.sleep(for: .milliseconds(1))  // a timer of the pool's
    let (files, lines) = await (totals.files, totals.lines), shown = progress.shown
    precondition(shown == files)
    print("\(lines) lines in \(files) files under \(folder)")
  }
}

func paths(in folder: String) -> [String] {
  let names = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
  return names.prefix(200).map { folder + "/" + $0 }
}

func countLines(of path: String) -> Int {
  FileManager.default.contents(atPath: path)?.count { $0 == UInt8(ascii: "\n") } ?? 0
}
