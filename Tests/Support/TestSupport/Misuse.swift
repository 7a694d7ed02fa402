import Testing

/// An exit test's message: the process must have stopped, and said each of `parts` on standard error.
public func expectMessage(
  _ result: ExitTest.Result?, _ parts: String..., sourceLocation: SourceLocation = #_sourceLocation
) {
  let message = result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) } ?? ""
  for part in parts {
    #expect(message.contains(part), "\(message)", sourceLocation: sourceLocation)
  }
}
