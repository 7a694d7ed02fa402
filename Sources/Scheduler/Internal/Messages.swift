internal import CScheduler

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Glibc
#endif

/// Stops the process because of a misuse, with the message "Scheduler: FUNCTION: "NAME": ADVICE", in release builds too
/// (unlike `precondition`).
///
/// - Parameters:
///   - function: the function that was called, with its type.
///   - name: the name of the scheduler; left out if it has none.
///   - advice: what is wrong, and what to do instead.
@inline(never)
@usableFromInline
package func misuse(_ function: String, of name: String = "", _ advice: String) -> Never {
  let text = "Scheduler: \(function): \(name.isEmpty ? "" : "\"\(name)\": ")\(advice)\n"
  // Replaces zero bytes: such a byte in a name would end the C string before the advice.
  var bytes = text.utf8.map { $0 == 0 ? CChar(bitPattern: UInt8(ascii: "?")) : CChar(bitPattern: $0) }
  bytes.append(0)
  csched_swift_stop_process_(bytes)
}

/// Prints a line on standard error, in the form of ``misuse(_:of:_:)``, and returns. Gives up at the first write that
/// fails.
package func reportLine(_ subject: String, of name: String = "", _ text: String) {
  var line = Array("Scheduler: \(subject): \(name.isEmpty ? "" : "\"\(name)\": ")\(text)\n".utf8)[...]
  while !line.isEmpty, case let count = line.withUnsafeBytes({ write(2, $0.baseAddress, $0.count) }), count > 0 {
    line = line.dropFirst(count)  // `write` may have written a part only
  }
}

/// Registers `body` to be called at process exit.
func atEndOfProcess(_ body: @escaping @convention(c) () -> Void) { atexit(body) }

/// Returns the system's description of an error number.
func systemText(of error: Int32) -> String { String(cString: strerror(error)) }

/// Calls `submit`. If a scheduler refuses a submission inside it, a debug build prints no line about that: see
/// ``TargetCore/noteRefusal()``.
/// For a submitter that learns of the refusal by an error or a handler, or that has stopped the scheduler itself.
@inline(__always)
func withoutRefusalLine<Result>(_ submit: () throws -> Result) rethrows -> Result {
  #if DEBUG
    let before = csched_swift_silence_refusals_(true)  // true: callers on this thread learn of refusals themselves
    defer { _ = csched_swift_silence_refusals_(before) }
  #endif
  return try submit()
}

/// Calls `action`, the user's code, with refusal lines printed again. A submission inside ``withoutRefusalLine(_:)``
/// may run the action at once. If a scheduler refuses what this action submits, the outer submitter does not learn of
/// it, so a line must be printed.
@inline(__always)
func withRefusalLine<Result>(_ action: () throws -> Result) rethrows -> Result {
  #if DEBUG
    guard csched_swift_are_refusals_silenced_() else { return try action() }
    _ = csched_swift_silence_refusals_(false)  // the discarded result is the previous value: true
    defer { _ = csched_swift_silence_refusals_(true) }
  #endif
  return try action()
}

/// Returns `number` as a `UInt32`. If it is not in 0 to 2^31 - 1, stops the process with a message that names
/// `function`. `what`: what is counted.
func checked(_ number: Int, _ function: String, _ what: String) -> UInt32 {
  guard let fitting = UInt32(exactly: number), fitting <= Int32.max else {
    misuse(function, "\(number) \(what) cannot be. Give 0 up to 2147483647.")
  }
  return fitting
}
