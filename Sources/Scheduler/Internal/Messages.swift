internal import CScheduler

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Glibc
#endif

/// Stops the process because of a misuse. Release builds print the message too, unlike that of `precondition`.
/// The message is "Scheduler: FUNCTION: "NAME": ADVICE".
///
/// - Parameters:
///   - function: the function that was called, with its type.
///   - name: the name of the scheduler; left out if it has none.
///   - advice: what is wrong, and what to do instead.
@inline(never)
@usableFromInline
package func misuse(_ function: String, of name: String = "", _ advice: String) -> Never {
  let text = "Scheduler: \(function): \(name.isEmpty ? "" : "\"\(name)\": ")\(advice)\n"
  // A zero byte in a name would end the C string, and so cut off the advice.
  var bytes = text.utf8.map { $0 == 0 ? CChar(bitPattern: UInt8(ascii: "?")) : CChar(bitPattern: $0) }
  bytes.append(0)
  csched_swift_stop_(bytes)
}

/// Prints a line on standard error, in the form of ``misuse(_:of:_:)``, and returns.
package func reportLine(_ subject: String, of name: String = "", _ text: String) {
  var line = Array("Scheduler: \(subject): \(name.isEmpty ? "" : "\"\(name)\": ")\(text)\n".utf8)[...]
  while !line.isEmpty, case let count = line.withUnsafeBytes({ write(2, $0.baseAddress, $0.count) }), count > 0 {
    line = line.dropFirst(count)
  }
}

/// Registers `body` to be called at process exit.
func atEndOfProcess(_ body: @escaping @convention(c) () -> Void) { atexit(body) }

/// Returns the system's description of an error number.
func systemText(of error: Int32) -> String { String(cString: strerror(error)) }

/// Calls `submit`. If a scheduler refuses its submission, ``TargetCore/noteRefusal()`` prints no line.
/// For a submitter that learns of the refusal by an error or a handler, or that has stopped the scheduler itself.
@inline(__always)
func withoutRefusalLine<Result>(_ submit: () throws -> Result) rethrows -> Result {
  #if DEBUG
    let before = csched_swift_report_refusals_(true)
    defer { _ = csched_swift_report_refusals_(before) }
  #endif
  return try submit()
}

/// Calls `action`, with refusal lines printed again. ``withoutRefusalLine(_:)`` may run an action inside its submission. Its caller is not notified
/// of refusals of what that action submits.
@inline(__always)
func withRefusalLine<Result>(_ action: () throws -> Result) rethrows -> Result {
  #if DEBUG
    guard csched_swift_are_refusals_reported_() else { return try action() }
    _ = csched_swift_report_refusals_(false)
    defer { _ = csched_swift_report_refusals_(true) }
  #endif
  return try action()
}

/// Returns `number` as a `UInt32`. Stops the process with a message, in which `what` names the unit, if it is not in 0 to 2^31 - 1.
func checked(_ number: Int, _ function: String, _ what: String) -> UInt32 {
  guard let fitting = UInt32(exactly: number), fitting <= Int32.max else {
    misuse(function, "\(number) \(what) cannot be. Give 0 up to 2147483647.")
  }
  return fitting
}
