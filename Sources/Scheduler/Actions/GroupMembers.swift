// The members of a group that have not ended: a list for `cancelAll`.
//
// States, under the lock: the members that have not ended, in the order of submission. Each member has `hasEnded`, which is final, and the
// disposable that cancels it, from its submission to its end.
// Invariants
//   GM1  A member is in the list from its submission to its end. A member that ends before it is added is not added. Its memory stays while it is in.
//   GM2  After a cancel has returned, no member that was in the list before starts. The cancel disposes each one itself, even if another
//        thread does so too.
//   GM3  A member leaves the group once, at the end of its run or at its drop, after its action and the action's captures are released.
//   GM4  The disposable that cancels a member is released outside the lock.
// Checked by: "a group is empty when all of its actions have run, on whichever scheduler", "what the actions of a group hold has gone when it is
//   empty", "an action's captures are released before its end is reported, also when it never begins",
//   "a cancel of a group beside another one returns after the group is cancelled",
//   "all that has not begun is cancelled, and leaves the group".
// Models: swift/groups/groups.swift.

/// A list under one lock, in the order of submission. It retains each member's disposable but not the member. The links are in the members, so
/// removal needs no search and insertion no allocation.
final class GroupMembers: @unchecked Sendable {
  // Unchecked: `lock` guards all changes here and in the members.
  private let lock = InlineLock()
  @exclusivity(unchecked) private var first: Unmanaged<GroupMember>?
  @exclusivity(unchecked) private var last: Unmanaged<GroupMember>?
  @exclusivity(unchecked) private var lastNumber: UInt64 = 0

  /// Appends `member`, unless it has ended.
  func append(_ member: GroupMember, cancelledBy cancelable: any Disposable) {
    lock.withLock {
      if member.hasEnded { return }  // GM1: ended already
      let added = Unmanaged.passUnretained(member)
      lastNumber += 1
      member.number = lastNumber
      member.cancelable = cancelable
      member.previous = last
      if let last { last._withUnsafeGuaranteedRef { $0.next = added } } else { first = added }
      last = added
    }
  }

  /// Marks `member` as ended and removes it. Returns its disposable, which the caller releases outside the lock.
  func end(_ member: GroupMember) -> (any Disposable)? {
    lock.withLock {
      member.hasEnded = true
      return takeOut(member)
    }
  }

  /// Cancels the members that are in the list now. Each stays in it until it has ended, so a concurrent cancel finds it too.
  func cancelAll() {
    let last = lock.withLock { lastNumber }
    var number: UInt64 = 0
    while let (next, cancelable) = find(after: number, upTo: last) {
      cancelable.dispose()  // GM2: dispose it, even if another thread does
      number = next
    }
  }

  /// Returns the first member after `number`, up to `last`, and its disposable. Skipped members end by themselves.
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

/// An action in a group that has not ended. Only the submitted closure holds it, so a drop ends it too.
class GroupMember: @unchecked Sendable {
  // Unchecked: the lock of the group's list guards the changes.
  private let group: ActionGroup
  @exclusivity(unchecked) fileprivate var hasEnded = false
  /// Set while the member is in the list.
  @exclusivity(unchecked) fileprivate var cancelable: (any Disposable)?
  @exclusivity(unchecked) fileprivate var number: UInt64 = 0
  @exclusivity(unchecked) fileprivate var previous: Unmanaged<GroupMember>?
  @exclusivity(unchecked) fileprivate var next: Unmanaged<GroupMember>?

  /// Enters `group`.
  init(of group: ActionGroup) {
    self.group = group
    group.enter()
  }

  // No other thread reads `hasEnded` by now.
  deinit { if !hasEnded { end() } }

  /// Leaves the group, once.
  final func end() {
    withExtendedLifetime(group.members.end(self)) { group.leave() }
  }
}

/// A member that holds its action, and releases it before it leaves the group.
final class ActionMember: GroupMember, @unchecked Sendable {
  // Unchecked, like the superclass: only the running thread uses `action`, and later the last holder.
  @exclusivity(unchecked) private var action: (@Sendable () -> Void)?

  init(of group: ActionGroup, _ action: @escaping @Sendable () -> Void) {
    self.action = action
    super.init(of: group)
  }

  deinit { action = nil }  // GM3: release the captures first

  /// Calls and releases the action, then leaves the group.
  func run() {
    callOnce()
    end()
  }

  /// Calls the action and keeps it for the next tick.
  func tick() { action!() }

  /// A separate function, so that the captures are released when it returns.
  @inline(never)
  private func callOnce() { action.take()!() }  // GM3: releases the captures at its end
}
