#if Combine
  #if canImport(Combine)
    public import Combine
  #else
    public import OpenCombine
  #endif
  internal import Scheduler

  /// Why an execution of a ``Command`` has failed.
  public enum CommandError<Failure: Error>: Error {
    /// It did not begin: the command was not enabled.
    case notEnabled
    /// Its work failed.
    case failed(Failure)
  }

  extension CommandError: Equatable where Failure: Equatable {}

  /// Work that is begun by an action of the user's, one execution at a time: what a button is bound to (ReactiveCocoa's `RACCommand`).
  ///
  /// ```swift
  /// let save = Command(enabledIf: form.isValid) { (text: String) in api.save(text) }
  /// save.isEnabled.sink { button.isEnabled = $0 }.store(in: &held)
  /// save.errors.sink { show($0) }.store(in: &held)
  /// save.execute(field.text)
  /// ```
  ///
  /// 1. Whether an execution may begin is decided at once, on the thread that asks: of several threads that ask at the same time one wins. Who
  ///    comes while it is not enabled gets ``CommandError/notEnabled``.
  /// 2. The work is made, and subscribed to, on the command's scheduler, the main one if none is given, behind the change of ``isExecuting``.
  ///    All that the command delivers comes there, too, one call at a time, in the order of what happened.
  /// 3. An execution is over when its end is delivered there, or when it is cancelled. It may begin the next from inside of that.
  /// 4. A command that is released takes no work away: what is executing goes on, and its four publishers complete behind it.
  public final class Command<Input, Output, Failure: Error> {
    private let core: CommandCore<Output, Failure>
    /// What is made of the input is made at the subscription.
    private let work: (Input) -> OperatorPublisher<Output, Failure>
    private let enabling: AnyCancellable

    /// Makes one that is enabled where `enabling` says so.
    ///
    /// - Parameters:
    ///   - enabling: whether executions may begin: until its first value, and as its last one says. One that is executing goes on.
    ///   - allowsConcurrentExecution: whether further executions may begin while one is going on.
    ///   - scheduler: where the work begins, and all is delivered; the main scheduler, if left out. A serial one.
    ///   - work: makes the work of an execution.
    public init<Work: Publisher<Output, Failure>>(
      enabledIf enabling: some Publisher<Bool, Never>, allowsConcurrentExecution: Bool = false,
      on scheduler: CombineScheduler = SchedulerCombine.MainScheduler.instance.combine,
      _ work: @escaping (Input) -> Work
    ) {
      let core = CommandCore<Output, Failure>(scheduler, allowsConcurrentExecution)
      self.core = core
      self.work = { input in OperatorPublisher { work(input).subscribe($0) } }
      self.enabling = enabling.sink { isAllowed in core.change { $0.isAllowed = isAllowed } }
    }

    /// Makes one that is enabled whenever an execution may begin.
    public convenience init<Work: Publisher<Output, Failure>>(
      allowsConcurrentExecution: Bool = false,
      on scheduler: CombineScheduler = SchedulerCombine.MainScheduler.instance.combine,
      _ work: @escaping (Input) -> Work
    ) {
      self.init(
        enabledIf: Empty(), allowsConcurrentExecution: allowsConcurrentExecution, on: scheduler, work)
    }

    deinit { core.change { $0.isReleased = true } }

    // MARK: executing

    /// Begins an execution now, and returns its events, all of them for each subscriber, whenever that comes: the values and the end of the work,
    /// or ``CommandError/notEnabled``. Its `cancel()` ends the execution; letting go of it does not.
    @discardableResult
    public func execute(_ input: Input) -> SharedPublisher<Output, CommandError<Failure>> {
      let execution = SharedPublisher(apply(input), deliveringOn: core.place)
      execution.connect()
      return execution
    }

    /// Returns a publisher, each subscription to which is an execution: the work is asked for as much as the subscriber asks for, and a
    /// cancellation ends it.
    public func apply(_ input: Input) -> OperatorPublisher<Output, CommandError<Failure>> {
      OperatorPublisher { [core, work] downstream in
        guard core.begin() else {
          return Fail(error: .notEnabled).receive(on: core.place).receive(subscriber: downstream)
        }
        work(input).mapError(CommandError.failed).subscribe(on: core.place).receive(on: core.place)
          .subscribe(Execution(downstream, of: core))
      }
    }

    /// Whether further executions may begin while one is going on. Any thread may change it.
    public var allowsConcurrentExecution: Bool {
      get { core.change { $0.allowsConcurrentExecution } }
      set { core.change { $0.allowsConcurrentExecution = newValue } }
    }

    // MARK: telling

    /// Whether an execution may begin: the present answer, then each other one.
    public var isEnabled: OperatorPublisher<Bool, Never> { core.isEnabled.receive(on: core.place) }

    /// Whether any execution is going on: the present answer, then each other one.
    public var isExecuting: OperatorPublisher<Bool, Never> { core.isExecuting.receive(on: core.place) }

    /// The values of all executions.
    public var values: OperatorPublisher<Output, Never> { core.values.receive(on: core.place) }

    /// The failures of all executions; not that one could not begin.
    public var errors: OperatorPublisher<Failure, Never> { core.errors.receive(on: core.place) }
  }

  extension Command where Input == Void {
    /// Begins an execution now: see ``execute(_:)``.
    @discardableResult
    public func execute() -> SharedPublisher<Output, CommandError<Failure>> { execute(()) }
  }

  // Unchecked, because `work` is not marked Sendable: it is called on the scheduler, by Combine's contract.
  extension Command: @unchecked Sendable where Input: Sendable, Output: Sendable {}

  /// One execution: tells the command of its events, and then the subscriber.
  private final class Execution<Output, Failure: Error>: Stage<Output, Output, CommandError<Failure>>,
    @unchecked Sendable
  {
    // Unchecked, as its superclass is.
    private let core: CommandCore<Output, Failure>

    init(_ downstream: any Subscriber<Output, CommandError<Failure>>, of core: CommandCore<Output, Failure>) {
      self.core = core
      super.init(downstream)
    }

    override func receive(_ input: Output) -> Subscribers.Demand {
      core.values.send(input)
      send(input)
      return .none
    }

    override func completed(_ completion: Subscribers.Completion<CommandError<Failure>>) {
      if case .failure(.failed(let error)) = completion { core.errors.send(error) }
      super.completed(completion)
    }

    override func ended() {
      super.ended()
      core.change { $0.executing -= 1 }
    }
  }
#endif
