internal import CScheduler

/// Stops the process because of a misuse, with a message that release builds print too; `precondition` loses its text there.
///
/// The message is "Scheduler: FUNCTION: "NAME": ADVICE".
///
/// - Parameters:
///   - function: what was called, with its type.
///   - name: what the scheduler was called; left out where it has no name.
///   - advice: what is wrong, and what to do instead.
@inline(never)
@usableFromInline
package func misuse(_ function: String, of name: String = "", _ advice: String) -> Never {
  let text = "Scheduler: \(function): \(name.isEmpty ? "" : "\"\(name)\": ")\(advice)\n"
  // A zero would end the text for C, so that a name with one would take the advice away.
  var bytes = text.utf8.map { $0 == 0 ? CChar(bitPattern: UInt8(ascii: "?")) : CChar(bitPattern: $0) }
  bytes.append(0)
  csched_swift_stop_(bytes)
}
