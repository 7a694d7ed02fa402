#if Combine
  import OpenCombine
  import SchedulerCombine
  import Streams
  import TestSupport
  import Testing

  @Suite("Example: settings without feedback loops", .nothingIsLeft) struct SettingsTests {
    @Test("a sent value is set, and not delivered again; other observers' values are delivered") func own() {
      let store = SettingsStore(), channel = SettingChannel("color", of: store), received = Recorder<String?, Never>()
      channel.values.subscribe(received)
      for value in ["red", "green"] {
        channel.send(value)
        #expect(eventually { store["color"] == value })
      }
      store["size"] = "1"  // another one
      store["color"] = "blue"
      #expect(eventually { received.values.count >= 2 })
      #expect(received.values == [nil, "blue"])
      channel.send("green")
      #expect(eventually { store["color"] == "green" })
      store["color"] = "blue"  // the value that was delivered last, but not sent last
      store["color"] = nil
      #expect(eventually { received.values.last == .some(nil) && received.values.count > 2 })
      #expect(received.values == [nil, "blue", "blue", nil] || received.values == [nil, "blue", nil])
      #expect(received.broken.isEmpty)
      received.cancel()
    }

    @Test("two fields that follow each other through one setting end with one value") func fields() {
      let store = SettingsStore(), writes = Protected(0)
      let counting = store.observe { _ in writes.withLock { $0 += 1 } }
      let fields = (0..<2).map { _ in Field(SettingChannel("name", of: store)) }
      for round in 0..<Scale.count(200) {
        let value = "\(round)"
        fields[round % 2].type(value)
        // One write for the typed text, and one for the other field's change of it.
        #expect(eventually { fields.allSatisfy { $0.text.read() == value } && writes.read() == 2 * round + 2 })
        #expect(store["name"] == value)
      }
      counting.dispose()
      for field in fields { field.held?.cancel() }
    }

    @Test("another observer's change of our value, inside of our own change, is delivered") func normalized() {
      let store = SettingsStore(), received = Recorder<String?, Never>()
      func normalize(_ store: SettingsStore) -> any Disposable {
        store.observe { [weak store] key in
          guard let store, let value = store[key], value != value.lowercased() else { return }
          store[key] = value.lowercased()
        }
      }
      let before = normalize(store), channel = SettingChannel("name", of: store), after = normalize(store)
      channel.values.subscribe(received)
      channel.send("ABC")
      #expect(eventually { received.values == [nil, "abc"] })
      received.cancel()
      before.dispose()
      after.dispose()
    }

    @Test("four threads set and one channel sends: it delivers the last value, and requests one at a time") func many()
    {
      let store = SettingsStore(), channel = SettingChannel("number", of: store),
        pool = ConcurrentScheduler(name: "setters")
      let recorder = Recorder<String?, Never>(.max(1), keeps: false) { _, _ in .max(1) }
      let last = Protected<String?>(nil), count = manyValues / 16
      channel.values.handleEvents(receiveOutput: { last.write($0) }).subscribe(recorder)
      let setting = (0..<4).map { part in
        pool.schedule { for number in 0..<count { store["number"] = "\(part) \(number)" } }
      }
      #expect(eventually { setting.allSatisfy(\.isDisposed) })
      store["number"] = "last"
      #expect(eventually { last.read() == "last" })
      #expect(recorder.broken.isEmpty)
      recorder.cancel()
    }

    @Test("a released channel observes no more, and a cancellation from inside is the last value observed")
    func lifetime() {
      let store = SettingsStore(), gone = Protected(0)
      let recorder = Recorder<String?, Never> { [tracked = Tracked(gone)] recorder, value in
        withExtendedLifetime(tracked) { if value == "1" { recorder.cancel() } }
        return .none
      }
      do {
        let channel = SettingChannel("key", of: store)
        channel.values.subscribe(recorder)
        for value in ["1", "2"] {
          store["key"] = value
          #expect(eventually { recorder.values.last == "1" })
        }
        channel.send("3")
        #expect(eventually { store["key"] == "3" })
      }
      store["key"] = "4"
      #expect(recorder.values == [nil, "1"] && recorder.broken.isEmpty)
    }
  }

  /// A field of a form: it shows its channel's values, and sends its text at each change.
  private final class Field: @unchecked Sendable {
    // Unchecked, because a cancellable is not Sendable: the test's thread alone touches it.
    let text = Protected<String?>(nil)
    let channel: SettingChannel
    var held: AnyCancellable?

    init(_ channel: SettingChannel) {
      self.channel = channel
      held = channel.values.sink { [unowned self] in type($0) }
    }

    func type(_ value: String?) { if text.exchange(value) != value { channel.send(value) } }
  }
#endif
