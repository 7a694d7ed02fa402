import Cases
import Foundation

/// A case on Swift's own executors.
@main struct Program {
  static func main() async throws {
    let name = CommandLine.arguments[1]
    print(name == "blocked" ? await blocked() : try await cases[name]!())
  }
}
