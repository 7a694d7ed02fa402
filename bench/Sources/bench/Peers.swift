import BenchKit
import CBench
import Foundation

/// Whether this is a look and not a measurement: long rows are shortened. Set once, before any row is made.
enum Scale {
  nonisolated(unsafe) static var isQuick = false
}

/// The other libraries' part: what is there is loaded, what is not is noted.
enum Peers {
  nonisolated(unsafe) private(set) static var notes: [String] = []
  nonisolated(unsafe) private(set) static var helpers: [Helper] = []

  /// Beside the program, or in a folder above it: bench/run has built them there.
  private static let folder: URL? = {
    var url = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    for _ in 0..<4 {
      url.deleteLastPathComponent()
      let peers = url.appendingPathComponent("peers")
      if FileManager.default.fileExists(atPath: peers.path) { return peers }
    }
    return nil
  }()

  /// The file that bench/run has put beside the other libraries, if it is there.
  static func file(_ name: String) -> URL? {
    folder.map { $0.appendingPathComponent(name) }.flatMap {
      FileManager.default.fileExists(atPath: $0.path) ? $0 : nil
    }
  }

  static func load() {
    cbench_load_system()
    var index: Int32 = 0
    while let missing = cbench_missing(index) {
      notes.append("\(String(cString: missing)): not installed; make bench-peers installs it")
      index += 1
    }
    guard let folder else {
      notes.append("TBB, moodycamel, asio, Rust, Java and Go: not built; make bench builds them")
      return
    }
    let skipped = (try? String(contentsOf: folder.appendingPathComponent("skipped"), encoding: .utf8)) ?? ""
    notes += skipped.split(separator: "\n").map { "\($0): not installed, or not built; make bench-peers installs it" }
    for file in ["tbb.so", "moodycamel.so", "asio.so", "rust.so"].map(folder.appendingPathComponent)
    where FileManager.default.fileExists(atPath: file.path) {
      if let reason = cbench_load(file.path) { notes.append("\(file.lastPathComponent): \(String(cString: reason))") }
    }
    let go = folder.appendingPathComponent("go"), java = folder.appendingPathComponent("java")
    if FileManager.default.isExecutableFile(atPath: go.path) { helpers.append(Helper("Go", go, [])) }
    if FileManager.default.fileExists(atPath: java.path) {
      helpers.append(
        Helper("Java ForkJoinPool", URL(fileURLWithPath: "/usr/bin/env"), ["java", "-cp", java.path, "Peer"]))
    }
  }
}

/// The contenders of a kind, each measured by its number. What is no library is a limit: it would not be used, or has
/// nothing on top of it.
func contenders(_ kind: cbench_kind, where isAble: (Int32) -> Bool = { _ in true }, _ measure: (Int32) -> Measure)
  -> [Contender]
{
  (0..<cbench_count(kind)).filter(isAble).map { index in
    let name = String(cString: cbench_name(kind, index))
    let role: Contender.Role =
      name.hasPrefix("csched_")
      ? .ours
      : name.hasPrefix("dispatch_") && name.hasSuffix("_f")
        ? .dispatch : ["spin lock", "bare futex", "bare spinning"].contains(name) ? .limit : .peer
    return Contender(name, role, measure(index))
  }
}

// MARK: time and threads

/// Nanoseconds that `body` takes.
func time(_ body: () -> Void) -> Double {
  let start = cbench_now()
  body()
  return Double(cbench_now() - start)
}

/// What the pinned variant of a row says.
let apartText = "the same, each thread on a processor of its own"

/// In a process of its own: the threads that `prepare` makes stay on one processor, then the caller goes to another.
func apart(_ prepare: @escaping @Sendable () -> Void, _ body: @escaping @Sendable () -> [Double]) -> Measure {
  .aside(rounds: 12, counted: false) {
    cbench_warm()
    cbench_pin(1)
    prepare()
    cbench_pin(0)
    return body()
  }
}

/// A thread's place in a crew: see cbench_crew_run.
struct Member {
  fileprivate let crew: OpaquePointer
  let index: Int

  /// When it began.
  @discardableResult func start() -> UInt64 { cbench_crew_start(crew, Int32(index)) }
  func end() { cbench_crew_end(crew, Int32(index)) }
}

/// Nanoseconds from when all of so many threads have called `start` until the last has called `end`, or returned. The
/// harness of C's rows.
func crew(_ threads: Int, _ placement: cbench_placement = CBENCH_FREE, _ body: @escaping @Sendable (Member) -> Void)
  -> Double
{
  final class Box: Sendable {
    let body: @Sendable (Member) -> Void
    init(_ body: @escaping @Sendable (Member) -> Void) { self.body = body }
  }
  return withExtendedLifetime(Box(body)) { box in
    cbench_crew_run(
      Int32(threads), placement,
      { context, crew, index in
        Unmanaged<Box>.fromOpaque(context!).takeUnretainedValue().body(Member(crew: crew!, index: Int(index)))
      }, Unmanaged.passUnretained(box).toOpaque())
  }
}

// MARK: counts

/// How many allocations one operation of `body` makes, of all threads; the second time, when everything is there that
/// stays.
func allocations(_ count: Int, _ body: @escaping @Sendable (Int) -> Double) -> Measure {
  .aside(rounds: 3, counted: true) {
    _ = body(count)
    let before = cbench_counted_allocations()
    guard before >= 0 else { return [] }
    _ = body(count)
    return [Double(cbench_counted_allocations() - before) / Double(count)]
  }
}
