// The list of a group's unfinished members, which `cancelAll` traverses.
//
// States, under the lock: the list of unfinished members, in the order of submission. Each member has `hasEnded`, which is final, and, while it is
// listed, the disposable that cancels it.
// Invariants
//   GM1  A member is in the list from its submission to its end. A member that ends before it is added is not added. A listed member is not freed.
//   GM2  After cancelAll has returned, no member that was in the list at its call starts. Each call of cancelAll disposes each of these members, even
//        if another thread is disposing them too.
//   GM3  A member leaves the group once, at the end of its run or at its drop, after its action and the action's captures are released.
//   GM4  The disposable that cancels a member (`cancelable`) is released outside the lock.
// Checked by: "a group is empty when all of its actions have run, on whichever scheduler", "what the actions of a group hold has gone when it is
//   empty", "an action's captures are released before its end is reported, also when it never begins",
//   "a cancel of a group beside another one returns after the group is cancelled",
//   "all that has not begun is cancelled, and leaves the group".
// Models: swift/groups/groups.swift.

/// An intrusive list under one lock, in the order of submission: removal needs no search, and insertion no allocation. The list retains the
/// disposable that cancels each member, but not the member itself.
final class GroupMembers: @unchecked Sendable {
  // Unchecked: `lock` guards all fields here and in the members.
  private let lock = InlineLock()
  @exclusivity(unchecked) private var first: Unmanaged<GroupMember>?  // the head of the list
  @exclusivity(unchecked) private var last: Unmanaged<GroupMember>?  // the tail
  @exclusivity(unchecked) private var lastNumber: UInt64 = 0  // the number of the newest member

  /// Appends `member`, unless it has ended. `cancelable`: the disposable of its action.
  func append(_ member: GroupMember, cancelledBy cancelable: any Disposable) {
    lock.withLock {
      if member.hasEnded { return }  // GM1: `end` was called before this, so nothing would unlink the member later
      let added = Unmanaged.passUnretained(member)
      lastNumber += 1
      member.number = lastNumber
      member.cancelable = cancelable
      member.previous = last
      if let last { last._withUnsafeGuaranteedRef { $0.next = added } } else { first = added }
      last = added
    }
  }

  /// Marks `member` as ended and unlinks it. Returns its disposable, which the caller releases outside the lock.
  func end(_ member: GroupMember) -> (any Disposable)? {
    lock.withLock {
      member.hasEnded = true
      return unlink(member)
    }
  }

  /// Cancels the members that are in the list at the call. They stay listed until they have ended, so that a concurrent call disposes them too.
  func cancelAll() {
    let newest = lock.withLock { lastNumber }  // members added later are not cancelled, so the loop ends
    var number: UInt64 = 0
    while let (next, cancelable) = nextMember(after: number, upTo: newest) {
      // GM2: disposes a member also while another thread does, so that the member cannot start after this call returns
      cancelable.dispose()
      number = next  // the member may have left the list in `dispose`: search on by its number
    }
  }

  /// Returns the number and the disposable of the first member whose number is greater than `number` and at most `newest`; nil if there is none.
  private func nextMember(after number: UInt64, upTo newest: UInt64) -> (UInt64, any Disposable)? {
    lock.withLock {
      var each = first
      while let member = each {
        let (memberNumber, cancelable, next) = member._withUnsafeGuaranteedRef { ($0.number, $0.cancelable, $0.next) }
        if memberNumber > newest { return nil }  // numbers grow along the list
        // not nil: each listed member has a disposable
        if memberNumber > number { return cancelable.map { (memberNumber, $0) } }
        each = next
      }
      return nil
    }
  }

  /// Removes `member` from the list. Returns its disposable; nil if the member is not in the list. Requires: the caller holds the lock.
  private func unlink(_ member: GroupMember) -> (any Disposable)? {
    guard let cancelable = member.cancelable.take() else { return nil }
    let (previous, next) = (member.previous, member.next)
    if let previous { previous._withUnsafeGuaranteedRef { $0.next = next } } else { first = next }
    if let next { next._withUnsafeGuaranteedRef { $0.previous = previous } } else { last = previous }
    return cancelable
  }
}

/// An unfinished action in a group. Until it ends, only the submitted closure retains this object. So the release of the closure without a run also ends the member.
class GroupMember: @unchecked Sendable {
  // Unchecked: the lock of the group's list guards the fields, which the list changes.
  private let group: ActionGroup
  @exclusivity(unchecked) fileprivate var hasEnded = false
  // cancels the action; set while the member is in the list
  @exclusivity(unchecked) fileprivate var cancelable: (any Disposable)?
  @exclusivity(unchecked) fileprivate var number: UInt64 = 0  // grows in the order of submission
  @exclusivity(unchecked) fileprivate var previous: Unmanaged<GroupMember>?
  @exclusivity(unchecked) fileprivate var next: Unmanaged<GroupMember>?

  /// Makes a member and enters `group`, so that the group counts it. `GroupMembers.append` lists it later.
  init(of group: ActionGroup) {
    self.group = group
    group.enter()
  }

  deinit { if !hasEnded { end() } }  // the action was dropped; no lock needed, because no other thread has a reference

  /// Unlinks the member and leaves the group. Call this once.
  final func end() {
    // GM4: `members.end` returns the disposable. It is released here, without the lock, because the release may run user code.
    withExtendedLifetime(group.members.end(self)) { group.leave() }
  }
}

/// A member that owns its action, and releases the action before it leaves the group.
final class ActionMember: GroupMember, @unchecked Sendable {
  // Unchecked: only the thread that runs the action, and later deinit, access `action`.
  @exclusivity(unchecked) private var action: (@Sendable () -> Void)?

  init(of group: ActionGroup, _ action: @escaping @Sendable () -> Void) {
    self.action = action
    super.init(of: group)
  }

  deinit { action = nil }  // GM3: before the superclass's deinit, which leaves the group

  /// Calls and releases the action, then leaves the group.
  func run() {
    callOnce()
    end()
  }

  /// Calls a periodic action, without releasing it: its closure runs again. The member ends when the scheduler releases the closure.
  func tick() { action!() }

  /// Calls and releases the action. Not inlined, so that the captures have been released when it returns.
  @inline(never)
  private func callOnce() { action.take()!() }  // GM3: the closure is a temporary, released before `run` calls `end`
}
