import Foundation

// A closure of an exit test captures nothing before Swift 6.3. So its process gets its argument in a file, which it
// removes:
//
//     await withExitArgument(kind) {
//       await #expect(processExitsWith: .success) {
//         let kind: Int = exitArgument()

/// The file of the process that starts exit tests.
private func file(of process: pid_t) -> String { NSTemporaryDirectory() + "/exit-argument-\(process)" }

/// Calls `body`, whose exit test is the next that calls `exitArgument`.
@discardableResult
public func withExitArgument<Value: Encodable, Result>(
  _ value: Value, isolation: isolated (any Actor)? = #isolation, _ body: () async -> Result
) async -> Result {
  let path = file(of: getpid()), own = path + "-" + UUID().uuidString
  try! JSONEncoder().encode([value]).write(to: URL(fileURLWithPath: own))
  defer { unlink(own) }
  while link(own, path) != 0 {  // until the process of the test before has its argument
    precondition(errno == EEXIST)
    try? await Task.sleep(for: .milliseconds(2))
  }
  let result = await body()
  if numberOfFile(at: path) == numberOfFile(at: own) { unlink(path) }  // the process has ended without a look at it
  return result
}

/// Returns the argument, in the process of an exit test. Call it first, and once.
public func exitArgument<Value: Decodable>() -> Value {
  let path = file(of: getppid()), data = try! Data(contentsOf: URL(fileURLWithPath: path))
  unlink(path)
  return try! JSONDecoder().decode([Value].self, from: data)[0]
}

private func numberOfFile(at path: String) -> ino_t? {
  var status = stat()
  return stat(path, &status) == 0 ? status.st_ino : nil
}
