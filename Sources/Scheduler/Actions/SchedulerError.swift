/// The reason why an operation of a scheduler failed. Throwing functions throw this type. They also throw
/// `CancellationError` in a cancelled task, and errors of your own closure.
///
/// ```swift
/// do { try await thread.perform { save() } } catch SchedulerError.stopped { keep() }
/// ```
///
/// It is a struct, so that further reasons may be added in a minor version: a `switch` over it needs a `default`.
///
/// **What counts as a drop.** A function that takes `onDrop:` calls it with one of these errors when the action ends
/// without having started and without having been disposed. A disposed action is cancelled, not dropped, even if its
/// scheduler ends at the same time. An action that has started is never dropped. A periodic action is dropped when its
/// next tick is dropped, a recursive action when its next step is.
public struct SchedulerError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The system's error number, which is positive, or the number of a reason below, which is not.
  private let code: Int32

  private init(_ code: Int32) { self.code = code }

  /// The scheduler, or its target, has been stopped or shut down. Create another one.
  ///
  /// As the reason of a drop: the scheduler had accepted the action, and dropped it before it started. The causes are:
  /// - a stop that came before the action's time, or whose policy drops outstanding work;
  /// - a shutdown;
  /// - the release of the last reference to the scheduler, as in virtual time;
  /// - the closure of a ``CustomScheduler``, which released the action without calling it;
  /// - the end of a thread inside an action of ``CurrentThreadScheduler``;
  /// - the end of the process, for actions of ``MainScheduler`` that have not run.
  public static let stopped = SchedulerError(0)

  /// `schedule` itself dropped the action: the scheduler, or its target, had been stopped or shut down, or was full; or
  /// the system had no thread or descriptor for the requested clock. (A drop by another thread at the same time may
  /// count as ``stopped``.)
  public static let refused = SchedulerError(-1)

  /// The wait could never end: the caller blocks the work that it would wait for. Wait on another thread.
  public static let deadlock = SchedulerError(-2)

  /// The timeout passed before the operation ended.
  public static let timeout = SchedulerError(-3)

  /// The source completed without the requested element.
  public static let noElements = SchedulerError(-4)

  /// The source has more than the one element that was requested.
  public static let moreThanOneElement = SchedulerError(-5)

  /// The system refused a request.
  ///
  /// For a thread: `EAGAIN` (no thread available), `ENOMEM`; `EINVAL` (no such processor or priority, or the process
  /// may not use the processor), `EPERM` or `EACCES` (the priority is not permitted), `ENOTSUP` (not supported by the
  /// system). For a source: `EBADF` (no such descriptor, or it was closed while the source waited), `EPERM` (a regular
  /// file), `EBUSY` (the signal has a handler already), `EINVAL` (a signal that cannot be handled), `ESRCH` (no such
  /// process), `ENOENT` (no such file), `EMFILE` (the limit of open files), `ENOTSUP`.
  ///
  /// - Parameter errno: the system's error number, which is positive.
  public static func system(_ errno: Int32) -> SchedulerError {
    if errno <= 0 { misuse("SchedulerError.system", "\(errno) is no error number of the system: these are positive.") }
    return SchedulerError(errno)
  }

  /// The system's error number if the system refused, else `nil`.
  public var systemError: Int32? { code > 0 ? code : nil }

  public var description: String {
    switch self {
    case .stopped: "the scheduler, or its target, has been stopped: make another one"
    case .refused:
      "the scheduler did not take it: it, or its target, has been stopped, or is full, or the system has no thread or descriptor for it"
    case .deadlock: "the wait could never end: the caller keeps from going on what it would wait for. Wait elsewhere."
    case .timeout: "the time was over before the end came"
    case .noElements: "the source completed without the element that was asked for"
    case .moreThanOneElement: "the source has more than the one element that was asked for"
    default: "the system refuses: \(systemText(of: code)) (error \(code))"
    }
  }

  /// Supports `catch SchedulerError.timeout`, where the error is an `any Error`.
  public static func ~= (pattern: SchedulerError, error: any Error) -> Bool { error as? SchedulerError == pattern }
}
