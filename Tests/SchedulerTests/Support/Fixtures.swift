import Foundation
import Scheduler
import Synchronization

/// An object whose end can be seen through a weak reference.
final class Token: Sendable {}

/// Entries in the order of their addition, by any thread. (No `Synchronization.Mutex`: a wait for it is inside a
/// library, where ThreadSanitizer sees no acquire.)
final class Log<Entry: Sendable>: Sendable {
  private let stored = Protected<[Entry]>([])
  func add(_ entry: Entry) { stored.withLock { $0.append(entry) } }
  var entries: [Entry] { stored.withLock { $0 } }
}

/// A count that any thread may raise.
final class Counter: Sendable {
  private let stored = Atomic(0)
  @discardableResult func increment() -> Int { stored.wrappingAdd(1, ordering: .relaxed).newValue }
  var value: Int { stored.load(ordering: .relaxed) }
}

/// A gate that opens once, to be waited for.
final class Gate: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)
  func open() { semaphore.signal() }
  /// Waits for one `open()`. Returns whether it came within a minute; if not, writes a dump of all schedulers.
  @discardableResult func wait() -> Bool {
    let isOpen = semaphore.wait(timeout: .now() + 60) == .success
    if !isOpen { Schedulers.dump() }
    return isOpen
  }
  /// Waits for one `open()` as long as `counter` counts: the work may be behind that of other tests in the shared pool.
  func wait(while counter: Counter) -> Bool {
    var before: Int
    repeat {
      before = counter.value
      if semaphore.wait(timeout: .now() + 60) == .success { return true }
    } while counter.value != before
    Schedulers.dump()
    return false
  }
}

/// Blocks the thread of `scheduler` in an action until the returned gate opens. Returns after the action has begun.
func block(_ scheduler: some SchedulerType) -> Gate {
  let entered = Gate(), leave = Gate()
  scheduler.schedule {
    entered.open()
    leave.wait()
  }
  entered.wait()
  return leave
}

/// Runs `body` on `count` threads at once, and returns when all have ended.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
  let group = DispatchGroup()
  for index in 0..<count {
    group.enter()
    Thread.detachNewThread {
      body(index)
      group.leave()
    }
  }
  group.wait()
}

/// The kilobytes that this process has in memory.
func residentKilobytes() -> Int {
  let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
  let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
  return Int(line.filter(\.isNumber)) ?? 0
}

/// The names of this process's threads, as the system shows them. Not read by Foundation, which loses memory when the
/// thread ends meanwhile.
func threadNames() -> [String] {
  let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
  return tasks.compactMap { task in
    guard let file = fopen("/proc/self/task/\(task)/comm", "r") else { return nil }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 64)
    guard fgets(&line, 64, file) != nil else { return nil }
    return String(decoding: line.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

/// Calls `body`, which may block, from a test that is async.
func synchronously<Value>(_ body: () throws -> Value) rethrows -> Value { try body() }
