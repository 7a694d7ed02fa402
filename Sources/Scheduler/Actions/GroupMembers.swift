// States, under the lock: which members have not ended, in the order of submission; of a member `hasEnded`, final, and what cancels it, from its
// submission to its end.
// Obligations
//   GM1  A member is in the list from its submission to its end; one that ends before it is added is not added. Its memory stays as long as it is in.
//   GM2  Once a cancel has returned, none of the members that were in before begins: it disposes each itself, though another one may do so, too.
//   GM3  A member leaves the group once, after its action and what that holds have gone: at the end of its run, or at its drop.
//   GM4  What cancels a member is let go of outside of the lock.
// Checked by: "a group is empty when all of its actions have run, on whichever scheduler", "what the actions of a group hold has gone when it is
//   empty", "what an action holds has gone before its end is told, also when it never begins", "who cancels a group beside another caller does not come back before it is cancelled", "all that has not begun is cancelled, and leaves
//   the group".
// Models: swift/groups/groups.swift.

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
      if member.hasEnded { return }  // GM1
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
  func end(_ member: GroupMember) -> (any Disposable)? {
    lock.withLock {
      member.hasEnded = true
      return takeOut(member)
    }
  }

  /// Cancels those that are there now. Each stays until it has ended: who comes beside another caller finds it, too.
  func cancelAll() {
    let last = lock.withLock { lastNumber }
    var number: UInt64 = 0
    while let (next, cancelable) = find(after: number, upTo: last) {
      cancelable.dispose()  // GM2
      number = next
    }
  }

  /// Those before it are the ones that run, and end by themselves.
  private func find(after number: UInt64, upTo last: UInt64) -> (UInt64, any Disposable)? {
    lock.withLock {
      var each = first
      while let member = each {
        let (its, cancelable, next) = member._withUnsafeGuaranteedRef { ($0.number, $0.cancelable, $0.next) }
        if its > last { return nil }
        if its > number { return cancelable.map { (its, $0) } }
        each = next
      }
      return nil
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

/// An action in a group that has not ended. What is submitted holds it alone, so that a drop ends it, too.
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

  /// Leaves the group, once.
  final func end() {
    withExtendedLifetime(group.members.end(self)) { group.leave() }
  }
}

/// A member that keeps its action itself, so that this has gone before it leaves.
final class ActionMember: GroupMember, @unchecked Sendable {
  // Unchecked, as its superclass is: `action` is the running thread's, and then that of the last holder.
  @exclusivity(unchecked) private var action: (@Sendable () -> Void)?

  init(of group: ActionGroup, _ action: @escaping @Sendable () -> Void) {
    self.action = action
    super.init(of: group)
  }

  deinit { action = nil }  // GM3

  /// Calls the action for the only time.
  func run() {
    callOnce()
    end()
  }

  /// Calls the action as one that is called again.
  func tick() { action!() }

  /// A function of its own, so that what the closure holds has gone at its end.
  @inline(never)
  private func callOnce() { action.take()!() }  // GM3
}
