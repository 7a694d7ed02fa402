/// Says why a thread could not be started: a ``ThreadScheduler``'s, or the pool's first.
public struct StartError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The system's error number: `EAGAIN` (no thread to be had), `ENOMEM`.
  public let code: Int32

  public var description: String { "the thread could not be started: error \(code) of the system" }
}
