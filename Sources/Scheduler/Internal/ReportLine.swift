#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Glibc
#endif

/// Prints a line on standard error, in the form of ``misuse(_:of:_:)``, and returns.
func reportLine(_ subject: String, of name: String = "", _ text: String) {
  var line = Array("Scheduler: \(subject): \(name.isEmpty ? "" : "\"\(name)\": ")\(text)\n".utf8)[...]
  while !line.isEmpty, case let count = line.withUnsafeBytes({ write(2, $0.baseAddress, $0.count) }), count > 0 {
    line = line.dropFirst(count)
  }
}

/// Registers `body` to be called at process exit.
func atEndOfProcess(_ body: @escaping @convention(c) () -> Void) { atexit(body) }

/// Returns the system's description of an error number.
func systemText(of error: Int32) -> String { String(cString: strerror(error)) }
