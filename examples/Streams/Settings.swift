// A settings store that is observed without feedback loops: see FileBytes.swift for how this is compiled.
#if Combine
  public import OpenCombine
  public import SchedulerCombine

  /// Settings that several parts of a program share. The thread that makes a change calls all observers, as it does for
  /// Foundation's `UserDefaults`. So code that sets a value that it observes gets its own change.
  public final class SettingsStore: Sendable {
    private struct State {
      var values: [String: String] = [:]
      var observers: [Int: @Sendable (String) -> Void] = [:]
      var last = 0
    }
    private let state = Protected(State())

    public init() {}

    public subscript(key: String) -> String? {
      get { state.withLock { $0.values[key] } }
      set {
        let observers = state.withLock { state in
          state.values[key] = newValue
          return state.observers.values
        }
        for observer in observers { observer(key) }
      }
    }

    /// Has `observer` called with the key of each change, on the thread that makes it, until the disposal of what is
    /// returned.
    public func observe(_ observer: @escaping @Sendable (String) -> Void) -> any Disposable {
      let number = state.withLock { state in
        state.last += 1
        state.observers[state.last] = observer
        return state.last
      }
      return AnyDisposable { [state] in
        let old = state.withLock { $0.observers.removeValue(forKey: number) }
        withExtendedLifetime(old) {}  // it ends outside of the lock
      }
    }
  }

  /// One setting in two directions: what others set comes out of ``values``; what is sent into it is set, and does not
  /// come out again.
  ///
  /// It sets values on a queue of its own. An observer that runs in an action of that queue was called for a change of
  /// this channel.
  public final class SettingChannel: Sendable {
    private let store: SettingsStore
    private let key: String
    private let queue: SerialScheduler
    private let isSetting = Protected(false)  // on the queue: whether the next change is our own
    private let known: Protected<String?>  // on the queue: what has come out, or was sent, last
    private let subject: BehaviorSubject<String?, Never>
    private let observing: any Disposable

    public init(_ key: String, of store: SettingsStore) {
      let queue = SerialScheduler(name: key), subject = BehaviorSubject<String?, Never>(store[key])
      (self.store, self.key, self.queue, self.subject) = (store, key, queue, subject)
      known = Protected(subject.value)
      observing = store.observe { [isSetting, known] changed in
        guard changed == key else { return }
        if Schedulers.current === queue, isSetting.exchange(false) { return }
        // The queue looks the value up, so that the last value that is sent is the final one, whichever threads make
        // the changes.
        queue.schedule {
          let value = store[key]
          if known.exchange(value) != value { subject.send(value) }
        }
      }
    }

    deinit { observing.dispose() }

    /// The present value, and then each that others set, on the channel's queue.
    public var values: some Publisher<String?, Never> { subject }

    /// Sets the value, in an action of the channel's queue.
    public func send(_ value: String?) {
      queue.schedule { [store, key, isSetting, known] in
        known.write(value)
        isSetting.write(true)
        store[key] = value
        isSetting.write(false)
      }
    }
  }
#endif
