import Testing

/// The tests of the C core, which are C: `Tests/CTests`. Each is a case here; a program runs them, several at a time,
/// each in a process of its own.
@Suite struct CoreTests {
  @Test("the C core", arguments: CoreTestProgram.names) func core(_ name: String) async {
    guard let finding = await CoreTestProgram.shared.finding(of: name) else { return }
    Issue.record("\(finding.text)", sourceLocation: finding.place)
  }

  @Test("the program has tests, and refuses arguments that make no sense") func program() {
    #expect(CoreTestProgram.names.count > 400)
    #expect(Set(CoreTestProgram.names).count == CoreTestProgram.names.count)
    #expect(CoreTestProgram.lines(of: "--jobs 0; echo status $?").last == "status 64")
    #expect(CoreTestProgram.lines(of: "--only 'no test has this name'; echo status $?").last == "status 1")
  }
}
