#if Combine
  #if canImport(Combine)
    public import Combine
  #else
    public import OpenCombine
  #endif
  internal import Scheduler

  /// Why an execution of a ``Command`` failed.
  public enum CommandError<Failure: Error>: Error {
    /// The execution did not start, because the command was not enabled.
    case notEnabled
    /// The work of the execution failed.
    case failed(Failure)
  }

  extension CommandError: Equatable where Failure: Equatable {}

  /// Work started by a user action, such as a button, normally one execution at a time (ReactiveCocoa's `RACCommand`).
  ///
  /// ```swift
  /// let save = Command(enabledIf: form.isValid) { (text: String) in api.save(text) }
  /// save.isEnabled.sink { button.isEnabled = $0 }.store(in: &held)
  /// save.errors.sink { show($0) }.store(in: &held)
  /// save.execute(field.text)
  /// ```
  ///
  /// 1. A call decides at once whether an execution may start. Without concurrent execution, only one of several
  ///    simultaneous calls starts one.
  ///    A call while the command is not enabled fails with ``CommandError/notEnabled``.
  /// 2. The command creates the work and subscribes to it on its scheduler, by default the main one, after the change
  ///    of ``isExecuting``.
  ///    The same scheduler delivers everything that the command publishes, one call at a time, in the order of the
  ///    events.
  /// 3. An execution is over when the scheduler delivers its completion, or when it is cancelled. The next execution
  ///    may start inside that call.
  /// 4. Releasing the command does not stop a running execution. The command's four publishers complete when no
  ///    execution runs any more.
  public final class Command<Input, Output, Failure: Error> {
    private let core: CommandCore<Output, Failure>  // the state, shared with the running executions
    /// Returns a publisher that calls the user's closure at each subscription.
    private let work: (Input) -> OperatorPublisher<Output, Failure>
    private let enabling: AnyCancellable  // the subscription to `enabledIf`; ends with this object

    /// Creates a command that is enabled as `enabling` says.
    ///
    /// - Parameters:
    ///   - enabling: whether executions may start: its most recent value, or true before the first value. A running
    ///     execution continues.
    ///   - allowsConcurrentExecution: whether an execution may start while another one runs.
    ///   - scheduler: a serial scheduler that starts the work and delivers all events; by default the main scheduler.
    ///   - work: creates the work of an execution.
    public init<Work: Publisher<Output, Failure>>(
      enabledIf enabling: some Publisher<Bool, Never>, allowsConcurrentExecution: Bool = false,
      on scheduler: CombineScheduler = SchedulerCombine.MainScheduler.instance.combine,
      _ work: @escaping (Input) -> Work
    ) {
      let core = CommandCore<Output, Failure>(scheduler, allowsConcurrentExecution)
      self.core = core
      self.work = { input in OperatorPublisher { work(input).subscribe($0) } }
      // The closure retains the core, not this object, so that deinit can run. `change` also publishes `isEnabled`.
      self.enabling = enabling.sink { isAllowed in core.change { $0.isAllowed = isAllowed } }
    }

    /// Creates a command that is enabled whenever an execution may start.
    public convenience init<Work: Publisher<Output, Failure>>(
      allowsConcurrentExecution: Bool = false,
      on scheduler: CombineScheduler = SchedulerCombine.MainScheduler.instance.combine,
      _ work: @escaping (Input) -> Work
    ) {
      self.init(  // Empty: no value, so executions are always allowed
        enabledIf: Empty(), allowsConcurrentExecution: allowsConcurrentExecution, on: scheduler, work)
    }

    deinit { core.change { $0.isReleased = true } }  // completes the publishers once no execution runs

    // MARK: executing

    /// Starts an execution now, and returns a publisher of its events.
    ///
    /// Each subscriber gets all values and the completion of the work, however late it subscribes, or
    /// ``CommandError/notEnabled``. The publisher's `cancel()` ends the execution; releasing the publisher does not.
    @discardableResult
    public func execute(_ input: Input) -> SharedPublisher<Output, CommandError<Failure>> {
      let execution = SharedPublisher(apply(input), deliveringOn: core.scheduler)
      execution.connect()  // starts the execution now, without a subscriber
      return execution
    }

    /// Returns a publisher that starts an execution for each subscription. The subscriber's demand is passed to the
    /// work, and cancelling the subscription ends the execution.
    public func apply(_ input: Input) -> OperatorPublisher<Output, CommandError<Failure>> {
      OperatorPublisher { [core, work] downstream in
        guard core.begin() else {  // true: the execution is counted, until `Execution.ended`
          return Fail(error: .notEnabled).receive(on: core.scheduler).receive(subscriber: downstream)
        }
        // The work starts on the scheduler, which also delivers each event.
        work(input).mapError(CommandError.failed).subscribe(on: core.scheduler).receive(on: core.scheduler)
          .subscribe(Execution(downstream, of: core))
      }
    }

    /// Whether an execution may start while another one runs. It may be changed on any thread.
    public var allowsConcurrentExecution: Bool {
      get { core.change { $0.allowsConcurrentExecution } }  // changes nothing: reads under the lock
      set { core.change { $0.allowsConcurrentExecution = newValue } }
    }

    // MARK: observing
    /// Whether an execution may start: publishes the current value, then each change.
    public var isEnabled: OperatorPublisher<Bool, Never> { core.isEnabled.receive(on: core.scheduler) }
    /// Whether an execution is running: publishes the current value, then each change.
    public var isExecuting: OperatorPublisher<Bool, Never> { core.isExecuting.receive(on: core.scheduler) }
    /// The values of all executions.
    public var values: OperatorPublisher<Output, Never> { core.values.receive(on: core.scheduler) }
    /// The failures of all executions, without ``CommandError/notEnabled``.
    public var errors: OperatorPublisher<Failure, Never> { core.errors.receive(on: core.scheduler) }
  }

  extension Command where Input == Void {
    /// Starts an execution now: see ``execute(_:)``.
    @discardableResult
    public func execute() -> SharedPublisher<Output, CommandError<Failure>> { execute(()) }
  }

  // Unchecked, because `work` is not marked Sendable: Combine's contract allows calling it on the scheduler.
  extension Command: @unchecked Sendable where Input: Sendable, Output: Sendable {}

  /// One execution: sends each event to the command's subjects, then to the subscriber.
  private final class Execution<Output, Failure: Error>: SingleUpstreamStage<Output, Output, CommandError<Failure>>,
    @unchecked Sendable
  {
    // Unchecked, as its superclass is.
    private let core: CommandCore<Output, Failure>

    init(_ downstream: any Subscriber<Output, CommandError<Failure>>, of core: CommandCore<Output, Failure>) {
      self.core = core
      super.init(downstream)
    }

    override func receiveValue(_ value: Output) {  // from the work
      core.values.send(value)
      send(value)
    }

    override func receiveCompletion(_ completion: Subscribers.Completion<CommandError<Failure>>) {
      if case .failure(.failed(let error)) = completion { core.errors.send(error) }  // before the subscriber gets it
      send(completion: completion)
    }

    override func ended() {  // called once, at the completion or a cancel, without the lock
      super.ended()  // cancels the work
      core.change { $0.executing -= 1 }  // ends the count of `begin`: the next execution may start
    }
  }
#endif
