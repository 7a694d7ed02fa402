#if Combine
  #if canImport(Combine)
    public import Combine
  #else
    public import OpenCombine
  #endif
  internal import Scheduler

  /// A subject that buffers the most recent values, and sends them to each new subscriber before later values.
  ///
  /// 1. All subscribers get the values in the same order, however many threads send. A replay is never mixed with
  ///    values sent at the same time.
  /// 2. A cancelled replay stops between two values, even if cancelled inside a call to the subscriber.
  /// 3. A subscriber gets as much as it requests; other values wait for demand.
  /// 4. After the completion a new subscriber gets the buffered values, then the completion.
  public final class ReplaySubject<Output, Failure: Error>: Subject {
    private struct State {
      var capacity: Int
      var buffer = Fifo<Output>()  // the buffered values
      var end: Subscribers.Completion<Failure>?  // the subject's completion, set once
      var subscriptions: [Replay<Output, Failure>] = []  // empty after the completion
    }

    private let forgetsAtEnd: Bool  // subscribers after the completion get no values
    private let lock = UnfairLock()  // held while a subscription's lock is acquired, never the other way round
    private var state: State

    /// Creates a subject that buffers the most recent `capacity` values; by default all.
    public convenience init(capacity: Int = .max) { self.init(capacity: capacity, forgetsAtEnd: false) }

    /// Creates a subject. With `forgetsAtEnd`, subscribers that arrive after the completion get no values.
    init(capacity: Int, forgetsAtEnd: Bool) {
      state = State(capacity: Swift.max(0, capacity))
      self.forgetsAtEnd = forgetsAtEnd
    }

    /// The values that a new subscriber would get first.
    public var values: [Output] { lock.withLock { state.buffer.all } }

    /// The result of `line(up:)`. The caller calls `deliver()` on it, and releases it, outside all locks.
    struct Line {
      fileprivate var reached: [Replay<Output, Failure>] = []  // the subscribers whose queues got the value
      fileprivate var old: Output?  // the oldest value, if the buffer was full; released with this result
      /// Delivers as much as each subscriber has requested. Call it outside all locks.
      func deliver() { for subscription in reached { subscription.deliver() } }
    }

    public func send(_ value: Output) { line(up: value).deliver() }

    /// Appends `value` to the buffer and to the queue of each subscriber, but calls no subscriber, so the caller may
    /// hold a lock. If several threads call this under a common lock, the values keep the order of the calls. The
    /// caller must call `deliver()` on the result, outside all locks.
    func line(up value: Output) -> Line {
      lock.lock()
      var line = Line()
      if state.end == nil {  // a value after the completion is dropped
        state.buffer.append(value)
        if state.buffer.count > state.capacity { line.old = state.buffer.popFirst() }
        line.reached = state.subscriptions
        for subscription in line.reached { subscription.queue(value) }
      }
      lock.unlock()
      return line
    }

    /// Releases the buffered values, and buffers no further values, because no new subscriber can arrive.
    func forget() {
      lock.lock()
      let old = state.buffer
      state.buffer = Fifo()
      state.capacity = 0
      lock.unlock()
      withExtendedLifetime(old) {}  // values are released outside the lock
    }

    public func send(completion: Subscribers.Completion<Failure>) {
      lock.lock()
      var reached: [Replay<Output, Failure>] = []  // the subscribers at this time
      if state.end == nil {  // only the first completion counts
        state.end = completion
        reached = state.subscriptions
        state.subscriptions = []
        for subscription in reached { subscription.queue(completion: completion) }
      }
      lock.unlock()
      for subscription in reached { subscription.deliver() }
    }

    /// Called by a publisher that sends to this subject. Requests without limit.
    public func send(subscription: any Subscription) { subscription.request(.unlimited) }

    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Output, Downstream.Failure == Failure {
      let replay = Replay(subscriber, of: self)
      lock.lock()
      // One critical section queues the buffered values and adds the subscription. So no value is lost in between, and
      // later ones follow.
      if state.end == nil || !forgetsAtEnd { for value in state.buffer.all { replay.queue(value) } }
      if let end = state.end { replay.queue(completion: end) } else { state.subscriptions.append(replay) }
      lock.unlock()
      replay.sendSubscription()  // without the lock
    }

    /// Removes a subscription that has ended.
    fileprivate func remove(_ replay: Replay<Output, Failure>) {
      lock.withLock { state.subscriptions.removeAll { $0 === replay } }  // frees nothing here: the caller retains it
    }
  }

  // Unchecked, because the lock guards the state.
  extension ReplaySubject: @unchecked Sendable where Output: Sendable {}

  /// The subscription of one subscriber, with its queue.
  fileprivate final class Replay<Output, Failure: Error>: Stage<Output, Failure>, @unchecked Sendable {
    // Unchecked, as its superclass is.
    private weak let subject: ReplaySubject<Output, Failure>?

    init(_ downstream: any Subscriber<Output, Failure>, of subject: ReplaySubject<Output, Failure>) {
      self.subject = subject
      super.init(downstream)
    }

    // Called under the subject's lock. The caller delivers, without it.
    func queue(_ value: Output) { lock.withLock { _ = enqueue(value) } }
    func queue(completion: Subscribers.Completion<Failure>) { lock.withLock { enqueue(completion: completion) } }

    override func ended() { subject?.remove(self) }  // at the completion or a cancel
  }
#endif
