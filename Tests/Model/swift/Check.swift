// What a check in Swift is made of.

internal import ModelEngine

/// A check: `prepare` runs alone and spawns the threads; `inspect` runs when all have ended.
struct Check {
  let name: String
  let prepare: @convention(c) () -> Void
  let inspect: @convention(c) () -> Void

  init(_ name: String, _ prepare: @convention(c) () -> Void, _ inspect: @convention(c) () -> Void) {
    (self.name, self.prepare, self.inspect) = (name, prepare, inspect)
  }
}

/// Gives all checks to the engine. Their names stay in memory for good.
@_cdecl("model_swift_fill")
func fill(_ suite: UnsafeMutablePointer<model_check>) {
  for (i, check) in checks.enumerated() {
    let name = UnsafeMutablePointer<CChar>.allocate(capacity: check.name.utf8.count + 1)
    for (j, unit) in check.name.utf8.enumerated() { name[j] = CChar(bitPattern: unit) }
    name[check.name.utf8.count] = 0
    (suite[i].name, suite[i].prepare, suite[i].inspect) = (UnsafePointer(name), check.prepare, check.inspect)
  }
}

/// Ends the run with a message unless `condition` holds.
func expect(_ condition: Bool, _ text: StaticString, _ line: Int32 = #line) {
  text.withUTF8Buffer { text in
    text.withMemoryRebound(to: CChar.self) { model_assert_(condition, $0.baseAddress, "check", line) }
  }
}

private final class Body {
  let run: () -> Void
  init(_ run: @escaping () -> Void) { self.run = run }
}

/// Starts a thread of the check.
func spawn(_ run: @escaping () -> Void) {
  model_spawn(
    { Unmanaged<Body>.fromOpaque($0!).takeRetainedValue().run() }, Unmanaged.passRetained(Body(run)).toOpaque())
}

/// Plain data that only the code under test orders.
final class Note: @unchecked Sendable { var value = 0 }

/// A child that counts its disposals, in data of that kind.
final class Child: Disposable, @unchecked Sendable {
  private(set) var disposals = 0
  var isDisposed: Bool { disposals > 0 }
  func dispose() { disposals += 1 }
}

/// What a closure captures; counts that it has gone.
final class Capture: @unchecked Sendable {
  private let isGone: Note
  init(_ isGone: Note) { self.isGone = isGone }
  deinit { isGone.value += 1 }
}

/// A closure that holds the only reference to such a capture.
@inline(never)
func capturing(_ isGone: Note, _ body: @escaping @Sendable () -> Void = {}) -> @Sendable () -> Void {
  let capture = Capture(isGone)
  return {
    withExtendedLifetime(capture) {}
    body()
  }
}

/// A child that counts its disposals, and notes its own release.
final class Dying: Disposable {
  private let runs: Note
  private let capture: Capture
  private let whenDisposed: @Sendable () -> Void

  init(_ runs: Note, _ gone: Note, _ whenDisposed: @escaping @Sendable () -> Void = {}) {
    self.runs = runs
    self.whenDisposed = whenDisposed
    capture = Capture(gone)
  }

  var isDisposed: Bool { false }

  func dispose() {
    runs.value += 1
    whenDisposed()
  }
}
