import Scheduler
import SearchField
import Testing

/// In virtual time: the pauses take no time, and nothing happens by chance.
@Suite struct SearchFieldTests {
  let clock = TestScheduler()
  let asked = Protected<[String]>([])
  let ended = Protected<[String]>([])

  func field() -> SearchField<String> {
    SearchField(pause: .milliseconds(300), scheduler: clock) { [asked, ended] text in
      asked.append(text)
      return AnyDisposable { ended.append(text) }
    }
  }

  @Test("what is typed is asked when the typing has paused, and not before") func pause() {
    let field = field()
    for text in ["s", "sc", "sch"] {
      clock.advance(by: .milliseconds(299))
      field.type(text)
    }
    #expect(asked.read() == [])
    clock.advance(by: .milliseconds(299))
    #expect(asked.read() == [])
    clock.advance(by: .milliseconds(1))
    #expect(asked.read() == ["sch"] && ended.read() == [])
  }

  @Test("a keystroke ends the question that is being answered, at once") func overtaken() {
    let field = field()
    field.type("sch")
    clock.run()
    field.type("sche")
    #expect(ended.read() == ["sch"] && asked.read() == ["sch"])
    clock.run()
    #expect(asked.read() == ["sch", "sche"] && ended.read() == ["sch"])
  }

  @Test("a closed field asks nothing more, and leaves nothing") func closed() {
    let field = field()
    field.type("s")
    field.close()
    field.type("sc")
    #expect(clock.pendingCount == 0)
    clock.run()
    #expect(asked.read() == [])
  }
}
