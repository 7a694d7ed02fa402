import Foundation

/// Where and when the figures were taken.
struct Machine: Codable, Sendable {
  let processor: String
  let processors: Int
  let kernel: String
  let system: String
  let swift: String
  let date: String
  let command: String

  static func current() -> Machine {
    let cpu = lines("/proc/cpuinfo").first { $0.hasPrefix("model name") }?.split(separator: ":").last ?? "unknown"
    let release =
      lines("/etc/os-release").first { $0.hasPrefix("PRETTY_NAME") }?.split(separator: "\"").last ?? "unknown"
    var name = utsname()
    uname(&name)
    let kernel = withUnsafeBytes(of: &name.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    let arguments = CommandLine.arguments.dropFirst().joined(separator: " ")
    return Machine(
      processor: cpu.trimmingCharacters(in: .whitespaces), processors: ProcessInfo.processInfo.activeProcessorCount,
      kernel: kernel, system: String(release), swift: swiftVersion,
      date: ISO8601DateFormatter().string(from: Date()), command: arguments.isEmpty ? "bench" : "bench " + arguments)
  }

  private static var swiftVersion: String {
    #if compiler(>=6.3)
      "6.3"
    #elseif compiler(>=6.2)
      "6.2"
    #else
      "6.1"
    #endif
  }

  private static func lines(_ path: String) -> [Substring] {
    ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").split(separator: "\n")
  }
}
