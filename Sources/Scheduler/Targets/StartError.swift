/// Says why a thread could not be started: a ``ThreadScheduler``'s, or the pool's first.
public struct StartError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The system's error number: `EAGAIN` (no thread to be had), `ENOMEM`; `EINVAL` (no such processor, or priority, or the
  /// process may not use the processor), `EPERM` or `EACCES` (it may not have the priority), `ENOTSUP` (the system has nothing of the kind).
  public let code: Int32

  /// Makes the error, to compare one with.
  ///
  /// - Parameter code: the system's error number.
  public init(code: Int32) { self.code = code }

  public var description: String { "the thread could not be started: error \(code) of the system" }
}
