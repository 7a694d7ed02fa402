internal import CScheduler

/// Stops the process because of a misuse. Release builds print the message too, unlike that of `precondition`.
///
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
