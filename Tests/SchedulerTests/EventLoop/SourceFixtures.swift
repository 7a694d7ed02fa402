import Foundation
import Scheduler
import TestSupport

/// Two ends of a pipe, closed at the end.
final class Ends: Sendable {
  let reading: Int32, writing: Int32

  init() {
    var ends: [Int32] = [0, 0]
    precondition(pipe(&ends) == 0)
    for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
    (reading, writing) = (ends[0], ends[1])
  }

  deinit {
    close(reading)
    close(writing)
  }

  func say() { _ = write(writing, "x", 1) }
  func listen() -> Int {
    var bytes = [UInt8](repeating: 0, count: 64)
    return max(0, read(reading, &bytes, 64))
  }
}

/// A signal for each test that has a source for one: a signal has one source in the process, and tests run side by
/// side. Most are real-time signals. Without a source those end the process; the others do nothing.
enum OwnSignal {
  static let sequences: Int32 = 40, sums: Int32 = 41, taken: Int32 = 42, refusals: Int32 = 43, ends: Int32 = 44,
    disposals: Int32 = 45, early: Int32 = 46, mainActor: Int32 = 47, mainActorAsync: Int32 = 48
  static let waits = SIGWINCH
}

/// Makes a folder, and returns its path.
func makeFolder() -> String {
  var template = Array("/tmp/scheduler-source-XXXXXX".utf8CString)
  precondition(mkdtemp(&template) != nil)
  return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

/// Starts a shell as a child, and returns its number.
func spawn(_ script: String, _ actions: UnsafePointer<posix_spawn_file_actions_t>? = nil) -> pid_t {
  var child: pid_t = 0
  var arguments = [strdup("/bin/sh"), strdup("-c"), strdup(script), nil]
  precondition(posix_spawn(&child, "/bin/sh", actions, nil, &arguments, environ) == 0)
  for argument in arguments { free(argument) }
  return child
}

/// Starts a shell as a child, whose standard input is the other end of `input`.
func spawnReading(_ script: String) -> (process: pid_t, input: Int32) {
  var ends: [Int32] = [0, 0]
  precondition(pipe(&ends) == 0)
  for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
  var actions = posix_spawn_file_actions_t()
  posix_spawn_file_actions_init(&actions)
  posix_spawn_file_actions_adddup2(&actions, ends[0], 0)
  let process = spawn(script, &actions)
  posix_spawn_file_actions_destroy(&actions)
  close(ends[0])
  return (process, ends[1])
}

extension SchedulerUnderTest {
  /// One of ``loops``.
  func makeLoop() throws -> LoopScheduler { try make() as! LoopScheduler }
}

extension LoopScheduler {
  /// Stops a test's own thread. On the main scheduler, which continues, it waits for the earlier actions, such as
  /// removals of sources.
  func end() {
    guard let thread = self as? ThreadScheduler else { return drain() }
    thread.stop()
    thread.join()
  }
}
