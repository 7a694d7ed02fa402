/// Resumes a task once, with the first outcome that there is, which may come before the task waits.
final class Resumption<Success: Sendable>: Sendable {
  private enum State {
    case early
    case waiting(CheckedContinuation<Success, any Error>)
    case over(Result<Success, any Error>)
  }

  private let state = Protected(State.early)
  private let isClaimed = Protected(false)

  /// Returns whether the caller is the first to ask: for those who must know who finishes it before they have the outcome.
  func claim() -> Bool { !isClaimed.exchange(true) }

  /// Takes charge of `continuation`. If the outcome is there already it resumes it, and returns false.
  func attach(_ continuation: CheckedContinuation<Success, any Error>) -> Bool {
    let outcome: Result<Success, any Error>? = state.withLock {
      if case .over(let outcome) = $0 { return outcome }
      $0 = .waiting(continuation)
      return nil
    }
    guard let outcome else { return true }
    continuation.resume(with: outcome)
    return false
  }

  /// Resumes the task with `outcome`, at once or when it begins to wait. Does nothing the second time.
  func finish(_ outcome: Result<Success, any Error>) {
    let continuation: CheckedContinuation<Success, any Error>? = state.withLock {
      switch $0 {
      case .early:
        $0 = .over(outcome)
        return nil
      case .waiting(let continuation):
        $0 = .over(outcome)
        return continuation
      case .over:
        return nil
      }
    }
    continuation?.resume(with: outcome)
  }
}
