/// Says why a source ended, or never began: ``LoopScheduler``.
public struct SourceError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The system's error number: `EBADF` (no such descriptor, or it was closed while the source waited), `EPERM` (a regular file), `EBUSY` (the
  /// signal has a handler already), `EINVAL` (a signal that cannot be handled), `ESRCH` (no such process), `ENOENT` (no such file), `EMFILE`
  /// (the limit of open files), `ENOTSUP` (the system has nothing of the kind) …
  public let code: Int32

  /// Makes the error, to compare one with.
  ///
  /// - Parameter code: the system's error number.
  public init(code: Int32) { self.code = code }

  public var description: String { "the system, or the scheduler, refuses the source: error \(code) of the system" }
}
