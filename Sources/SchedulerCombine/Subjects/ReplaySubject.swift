#if Combine
  #if canImport(Combine)
    public import Combine
  #else
    public import OpenCombine
  #endif
  internal import Scheduler

  /// A subject that keeps the last values, and sends them to each new subscriber before what comes later.
  ///
  /// 1. All subscribers get the values in one order, however many threads send; a replay is never mixed with what is sent meanwhile.
  /// 2. A replay stops between two values when it is cancelled, also from inside of a call.
  /// 3. A subscriber gets as much as it asks for; the rest waits for it.
  /// 4. After the end a new subscriber gets the values that are kept, then the end.
  public final class ReplaySubject<Output, Failure: Error>: Subject {
    private struct State {
      var capacity: Int
      var kept = Fifo<Output>()
      var end: Subscribers.Completion<Failure>?
      var subscriptions: [Replay<Output, Failure>] = []
    }

    private let forgetsAtEnd: Bool
    private let lock = UnfairLock()
    private var state: State

    /// Makes one that keeps the last `capacity` values; all, if left out.
    public convenience init(capacity: Int = .max) { self.init(capacity: capacity, forgetsAtEnd: false) }

    /// Makes one that may send no values any more after its end.
    init(capacity: Int, forgetsAtEnd: Bool) {
      state = State(capacity: Swift.max(0, capacity))
      self.forgetsAtEnd = forgetsAtEnd
    }

    /// The values that a new subscriber would get.
    public var values: [Output] { lock.withLock { state.kept.all } }

    /// What a value that is in line has to be delivered to, and the value that is not kept any more.
    struct Line {
      fileprivate var reached: [Replay<Output, Failure>] = []
      fileprivate var old: Output?

      func deliver() { for subscription in reached { subscription.deliver() } }
    }

    public func send(_ value: Output) { line(up: value).deliver() }

    /// Puts a value in line for all subscribers, and returns what delivers it, which its caller does outside of all locks: so what a lock of his
    /// guards is told of in the order of its changes.
    func line(up value: Output) -> Line {
      lock.lock()
      var line = Line()
      if state.end == nil {
        state.kept.append(value)
        if state.kept.count > state.capacity { line.old = state.kept.popFirst() }
        line.reached = state.subscriptions
        for subscription in line.reached { subscription.push(value) }
      }
      lock.unlock()
      return line
    }

    /// Keeps nothing any more, because nobody new can come.
    func forget() {
      lock.lock()
      let old = state.kept
      state.kept = Fifo()
      state.capacity = 0
      lock.unlock()
      withExtendedLifetime(old) {}  // values end outside of the lock
    }

    public func send(completion: Subscribers.Completion<Failure>) {
      lock.lock()
      var reached: [Replay<Output, Failure>] = []
      if state.end == nil {
        state.end = completion
        reached = state.subscriptions
        state.subscriptions = []
        for subscription in reached { subscription.pushEnd(completion) }
      }
      lock.unlock()
      for subscription in reached { subscription.deliver() }
    }

    public func send(subscription: any Subscription) { subscription.request(.unlimited) }

    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == Failure {
      let replay = Replay(subscriber, of: self)
      lock.lock()
      if state.end == nil || !forgetsAtEnd { for value in state.kept.all { replay.push(value) } }
      if let end = state.end { replay.pushEnd(end) } else { state.subscriptions.append(replay) }
      lock.unlock()
      replay.start()
    }

    fileprivate func remove(_ replay: Replay<Output, Failure>) {
      lock.withLock { state.subscriptions.removeAll { $0 === replay } }  // the caller keeps it alive
    }
  }

  // Unchecked, because the compiler cannot see that the state is guarded by the lock.
  extension ReplaySubject: @unchecked Sendable where Output: Sendable {}

  fileprivate final class Replay<Output, Failure: Error>: Outlet<Output, Failure>, @unchecked Sendable {
    // Unchecked, as its superclass is.
    private weak let subject: ReplaySubject<Output, Failure>?

    init(_ downstream: any Subscriber<Output, Failure>, of subject: ReplaySubject<Output, Failure>) {
      self.subject = subject
      super.init(downstream)
    }

    override func ended() { subject?.remove(self) }
  }
#endif
