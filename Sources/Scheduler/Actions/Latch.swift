/// A count-down latch: it opens at zero. You may release a latch that is not open; an ``ActionGroup`` must be empty when it is released.
@available(*, deprecated, message: "use ActionGroup(entered:), whose leave() counts down")
public final class Latch: Sendable {
  private let group: ActionGroup

  public init(count: Int) { group = ActionGroup(entered: count) }

  deinit { countDown(by: group.pendingCount) }

  public func countDown(by count: Int = 1) { for _ in 0..<count { group.leave() } }

  public var count: Int { group.pendingCount }

  public var isOpen: Bool { group.isIdle }

  @available(*, noasync, message: "it blocks a thread of Swift's own: use await waitForAll of an ActionGroup")
  public func wait() { group.wait() }

  @available(*, noasync, message: "it blocks a thread of Swift's own: use await waitForAll of an ActionGroup")
  public func wait(for timeout: Duration) -> Bool { group.wait(for: timeout) }

  @available(*, noasync, message: "it blocks a thread of Swift's own: use await waitForAll of an ActionGroup")
  public func wait(until deadline: MonotonicTime) -> Bool { group.wait(until: deadline) }
}
