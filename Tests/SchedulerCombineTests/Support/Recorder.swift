#if Combine
  import OpenCombine
  import SchedulerCombine
  import TestSupport

  struct Failed: Error, Equatable {}

  /// Records the end of its last reference.
  final class Tracked: Sendable {
    let gone: Protected<Int>
    init(_ gone: Protected<Int>) { self.gone = gone }
    deinit { gone.withLock { $0 += 1 } }
  }

  /// A subscriber that requests a test's demand, keeps the values, and counts violations of Combine's rules.
  final class Recorder<Input, Failure: Error>: Subscriber, Cancellable, @unchecked Sendable {
    // Unchecked, because values are not Sendable: what it has is guarded by its lock.
    struct State {
      var values: [Input] = []
      var ends: [Subscribers.Completion<Failure>] = []
      var subscription: (any Subscription)?
      var demand: Subscribers.Demand = .none
      var inside = 0
      var broken: [String] = []
    }
    private let state = UnfairLock()
    nonisolated(unsafe) private var stored = State()
    private let first: Subscribers.Demand
    private let each: (Recorder, Input) -> Subscribers.Demand
    private let keeps: Bool
    let count = Protected(0)

    init(
      _ first: Subscribers.Demand = .unlimited, keeps: Bool = true,
      each: @escaping (Recorder, Input) -> Subscribers.Demand = { _, _ in .none }
    ) {
      (self.first, self.each, self.keeps) = (first, each, keeps)
    }

    private func change<Result>(_ body: (inout State) -> Result) -> Result { state.withLock { body(&stored) } }

    var values: [Input] { change { $0.values } }
    var ends: [Subscribers.Completion<Failure>] { change { $0.ends } }
    var hasEnded: Bool { change { !$0.ends.isEmpty } }
    var broken: [String] { change { $0.broken } }

    func receive(subscription: any Subscription) {
      change {
        if $0.subscription != nil { $0.broken.append("a second subscription") }
        $0.subscription = subscription
      }
      request(first)
    }

    func request(_ demand: Subscribers.Demand) {
      guard demand > .none else { return }
      change {
        $0.demand += demand
        return $0.subscription
      }?.request(demand)
    }

    func receive(_ input: Input) -> Subscribers.Demand {
      change {
        if $0.demand == .none { $0.broken.append("a value without demand") }
        if $0.inside != 0 { $0.broken.append("a call inside of another") }
        if !$0.ends.isEmpty { $0.broken.append("a value after the end") }
        $0.inside += 1
        $0.demand -= 1
        if keeps { $0.values.append(input) }
      }
      let more = each(self, input)
      change {
        $0.demand += more
        $0.inside -= 1
      }
      count.withLock { $0 += 1 }
      return more
    }

    func receive(completion: Subscribers.Completion<Failure>) {
      let ended = change {
        if $0.inside != 0 { $0.broken.append("an end inside of another call") }
        if !$0.ends.isEmpty { $0.broken.append("a second end") }
        $0.ends.append(completion)
        return $0.subscription.take()
      }
      withExtendedLifetime(ended) {}
    }

    func cancel() { change { $0.subscription.take() }?.cancel() }
  }

  /// A subscriber that keeps its subscription, also after it has cancelled it.
  final class Holder<Input, Failure: Error>: Subscriber {
    var subscription: (any Subscription)?
    var count = 0
    func receive(subscription: any Subscription) { self.subscription = subscription }
    func receive(_ input: Input) -> Subscribers.Demand {
      count += 1
      return .none
    }
    func receive(completion: Subscribers.Completion<Failure>) {}
  }
#endif
