import Foundation

/// Where, when and how quietly the figures were taken.
public struct Machine: Codable, Sendable {
  public let processor: String
  public let processors: Int
  public let kernel: String
  public let system: String
  public let swift: String
  public let date: String
  public let command: String
  /// How many threads wanted to run before the benchmark began: the system's average over a minute.
  public let load: Double?
  /// The share of the time, in percent, in which the host let others run on our virtual processors.
  public var stolen: Double?

  /// `like`: the load and the stolen time are that one's.
  public static func current(arguments: [String], like other: Machine? = nil) -> Machine {
    let cpu = lines("/proc/cpuinfo").first { $0.hasPrefix("model name") }?.split(separator: ":").last ?? "unknown"
    let release =
      lines("/etc/os-release").first { $0.hasPrefix("PRETTY_NAME") }?.split(separator: "\"").last ?? "unknown"
    var name = utsname()
    uname(&name)
    let kernel = withUnsafeBytes(of: &name.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    return Machine(
      processor: cpu.trimmingCharacters(in: .whitespaces), processors: ProcessInfo.processInfo.activeProcessorCount,
      kernel: kernel, system: String(release), swift: swiftVersion,
      date: ISO8601DateFormatter().string(from: Date()), command: (["bench"] + arguments).joined(separator: " "),
      load: other.map(\.load) ?? lines("/proc/loadavg").first?.split(separator: " ").first.flatMap { Double($0) },
      stolen: other?.stolen)
  }

  /// Ticks of all processors so far: stolen ones, and all.
  public static func ticks() -> (stolen: Double, all: Double) {
    let fields = lines("/proc/stat").first?.split(separator: " ").compactMap { Double($0) } ?? []
    return (fields.count > 7 ? fields[7] : 0, fields.prefix(8).reduce(0, +))
  }

  private static var swiftVersion: String {
    #if compiler(>=6.4)
      "6.4 or later"
    #elseif compiler(>=6.3)
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
