/// What can be cancelled in a group: a list under one lock, in the order of submission. It holds what cancels each member, not the members, whose
/// place in it is in themselves: so none is looked for, and none allocates.
final class GroupMembers: @unchecked Sendable {
  // Unchecked: all that changes here and in the members is guarded by `lock`.
  private let lock = InlineLock()
  @exclusivity(unchecked) private var first: Unmanaged<GroupMember>?
  @exclusivity(unchecked) private var last: Unmanaged<GroupMember>?
  @exclusivity(unchecked) private var lastNumber: UInt64 = 0

  /// Puts `member` at the end, unless it has ended.
  func append(_ member: GroupMember, cancelledBy cancelable: any Disposable) {
    lock.withLock {
      if member.hasEnded { return }
      let added = Unmanaged.passUnretained(member)
      lastNumber += 1
      member.number = lastNumber
      member.cancelable = cancelable
      member.previous = last
      if let last { last._withUnsafeGuaranteedRef { $0.next = added } } else { first = added }
      last = added
    }
  }

  /// Marks `member` as ended, and takes it out. Returns what cancelled it, to be let go of outside of the lock.
  func end(_ member: GroupMember) -> (isFirstEnd: Bool, needless: (any Disposable)?) {
    lock.withLock {
      if member.hasEnded { return (false, nil) }
      member.hasEnded = true
      return (true, takeOut(member))
    }
  }

  /// Cancels those that are there now.
  func cancelAll() {
    let number = lock.withLock { lastNumber }
    while let cancelable = takeFirst(upTo: number) { cancelable.dispose() }
  }

  private func takeFirst(upTo number: UInt64) -> (any Disposable)? {
    lock.withLock {
      first?._withUnsafeGuaranteedRef { $0.number <= number ? takeOut($0) : nil }
    }
  }

  private func takeOut(_ member: GroupMember) -> (any Disposable)? {
    guard let cancelable = member.cancelable.take() else { return nil }
    let (previous, next) = (member.previous, member.next)
    if let previous { previous._withUnsafeGuaranteedRef { $0.next = next } } else { first = next }
    if let next { next._withUnsafeGuaranteedRef { $0.previous = previous } } else { last = previous }
    return cancelable
  }
}

/// An action in a group that has not ended. Its closure alone holds it, so that a drop ends it, too.
class GroupMember: @unchecked Sendable {
  // Unchecked: what changes is guarded by the lock of the group's list.
  private let group: ActionGroup
  @exclusivity(unchecked) fileprivate var hasEnded = false
  /// While it is in the list.
  @exclusivity(unchecked) fileprivate var cancelable: (any Disposable)?
  @exclusivity(unchecked) fileprivate var number: UInt64 = 0
  @exclusivity(unchecked) fileprivate var previous: Unmanaged<GroupMember>?
  @exclusivity(unchecked) fileprivate var next: Unmanaged<GroupMember>?

  /// Enters `group`.
  init(of group: ActionGroup) {
    self.group = group
    group.enter()
  }

  // Nobody else looks at `hasEnded` by then.
  deinit { if !hasEnded { end() } }

  /// Leaves the group, the first time.
  final func end() {
    let (isFirstEnd, needless) = group.members.end(self)
    guard isFirstEnd else { return }
    withExtendedLifetime(needless) { group.leave() }
  }
}
