// The list of a group's unfinished members, which `cancelAll` traverses.
//
// States, under the lock: the list of unfinished members, in the order of submission. Each member has `hasEnded`, which
// is final, and, while it is listed, the disposable that cancels it.
// Invariants
//   GM1  A member is in the list from its submission to its end. A member that ends before it is added is not added. A
//        listed member is not freed.
//   GM2  After cancelAll has returned, no member that was in the list at its call starts. Each call of cancelAll
//        disposes each of these members, even if another thread is disposing them too.
//   GM3  A member leaves the group once, at the end of its run or at its drop, after its action and the action's
//        captures are released.
//   GM4  The disposable that cancels a member (`cancelable`) is released outside the lock.
//   GM5  A member is cancelled if it is in the list at a call of cancelAll. The release of its action is then no drop:
//        the submission knows the member from its end on (`ListedMembers`), and asks when the action has been released.
//   GM6  After cancelAll has returned, the context of each member that ran at its call is disposed: the member's
//        context is set before its action begins, and cancelAll finds it, or the action finds the member cancelled.
// Models: swift/groups/groups.swift.

internal import CScheduler

/// An intrusive list under one lock, in the order of submission: removal needs no search, and insertion no allocation.
/// The list retains the disposable that cancels each member, but not the member itself.
final class GroupMembers: @unchecked Sendable {
  // Unchecked: `lock` guards all fields here and in the members.
  private let lock = InlineLock()
  @exclusivity(unchecked) private var first: Unmanaged<GroupMember>?  // the head of the list
  @exclusivity(unchecked) private var last: Unmanaged<GroupMember>?  // the tail
  @exclusivity(unchecked) private var lastNumber: UInt64 = 0  // the number of the newest member
  @exclusivity(unchecked) private var lastCancelled: UInt64 = 0  // the greatest number of a cancelled member

  /// Appends `member`, unless it has ended. `cancelable`: the disposable of its action. Notes it, and those of its
  /// base, for the submission.
  func append(_ member: GroupMember, cancelledBy cancelable: any Disposable) {
    let number: UInt64? = lock.withLock {
      if member.hasEnded { return nil }  // GM1: `end` was called before this, so nothing would unlink the member later
      let added = Unmanaged.passUnretained(member)
      lastNumber += 1
      member.number = lastNumber
      member.cancelable = cancelable
      member.previous = last
      if let last { last._withUnsafeGuaranteedRef { $0.next = added } } else { first = added }
      last = added
      return lastNumber
    }
    guard let number else { return }
    var listed = member.base
    listed.append(self, number)
    listed.note()  // GM5
  }

  /// Marks `member` as ended and unlinks it. Returns its disposable, which the caller releases outside the lock.
  func end(_ member: GroupMember) -> (any Disposable)? {
    lock.withLock {
      member.hasEnded = true
      return unlink(member)
    }
  }

  /// Cancels the members that are in the list at the call. They stay listed until they have ended, so that a concurrent
  /// call disposes them too.
  func cancelAll() {
    let newest = lock.withLock {  // members added later are not cancelled, so the loop ends
      lastCancelled = lastNumber  // GM5: before the first action is released
      return lastNumber
    }
    var number: UInt64 = 0
    while let (next, cancelable, context) = nextMember(after: number, upTo: newest) {
      // GM2: disposes a member also while another thread does, so that the member cannot start after this call returns
      cancelable.dispose()
      context?.dispose()  // GM6
      number = next  // the member may have left the list in `dispose`: search on by its number
    }
  }

  /// Returns the number, the disposable and the context of the first member whose number is greater than `number` and
  /// at most `newest`; nil if there is none.
  private func nextMember(after number: UInt64, upTo newest: UInt64) -> (UInt64, any Disposable, ActionContext?)? {
    lock.withLock {
      var each = first
      while let member = each {
        let (memberNumber, cancelable, context, next) = member._withUnsafeGuaranteedRef {
          ($0.number, $0.cancelable, $0.context, $0.next)
        }
        if memberNumber > newest { return nil }  // numbers grow along the list
        // not nil: each listed member has a disposable
        if memberNumber > number { return cancelable.map { (memberNumber, $0, context) } }
        each = next
      }
      return nil
    }
  }

  /// Returns whether the member with `number`, which was in the list, is cancelled.
  func isCancelled(_ number: UInt64) -> Bool { lock.withLock { number <= lastCancelled } }

  /// Sets the context of `member`, whose action begins (GM6) or has ended. Returns whether the member is cancelled.
  fileprivate func setContext(_ context: ActionContext?, of member: GroupMember) -> Bool {
    var old = context
    return lock.withLock {
      swap(&member.context, &old)  // the old one is released outside the lock
      return member.cancelable != nil && member.number <= lastCancelled
    }
  }

  /// Removes `member` from the list. Returns its disposable; nil if the member is not in the list. Requires: the caller
  /// holds the lock.
  private func unlink(_ member: GroupMember) -> (any Disposable)? {
    guard let cancelable = member.cancelable.take() else { return nil }
    let (previous, next) = (member.previous, member.next)
    if let previous { previous._withUnsafeGuaranteedRef { $0.next = next } } else { first = next }
    if let next { next._withUnsafeGuaranteedRef { $0.previous = previous } } else { last = previous }
    return cancelable
  }
}

/// The member that a submission has listed, if its scheduler is a group's; or several, if that group's scheduler is
/// itself of a group.
struct ListedMembers {
  private typealias Member = (group: GroupMembers, number: UInt64)
  private var first: Member?
  private var others: [Member] = []

  /// Whether a group has cancelled its member.
  var areCancelled: Bool {
    guard let first else { return false }
    return first.group.isCancelled(first.number) || others.contains { $0.group.isCancelled($0.number) }
  }

  mutating func append(_ group: GroupMembers, _ number: UInt64) {
    if first == nil { first = (group, number) } else { others.append((group, number)) }
  }

  /// Calls `submit`. Returns the members that it lists on this thread, and its result.
  static func noting<Result>(_ submit: () -> Result) -> (ListedMembers, Result) {
    var listed = ListedMembers()
    let result = withUnsafeMutablePointer(to: &listed) {
      let outer = csched_swift_set_listed_($0)
      defer { _ = csched_swift_set_listed_(outer) }
      return submit()
    }
    return (listed, result)
  }

  /// Notes the members for the submission that this thread is inside, if it asks for them.
  func note() {
    csched_swift_listed_()?.assumingMemoryBound(to: ListedMembers.self).pointee = self
  }
}

/// An unfinished action in a group. Until it ends, only the submitted closure retains this object. So the release of
/// the closure without a run also ends the member.
class GroupMember: @unchecked Sendable {
  // Unchecked: the lock of the group's list guards the fields, which the list changes.
  private let group: ActionGroup
  @exclusivity(unchecked) fileprivate var hasEnded = false
  // cancels the action; set while the member is in the list
  @exclusivity(unchecked) fileprivate var cancelable: (any Disposable)?
  // set while the action runs with a context; if the action is periodic, from its first tick on
  @exclusivity(unchecked) fileprivate var context: ActionContext?
  @exclusivity(unchecked) fileprivate var number: UInt64 = 0  // grows in the order of submission
  /// Set at the end of the submission: what the action is a member of besides, if it was submitted to another group's
  /// scheduler.
  @exclusivity(unchecked) final var base = ListedMembers()
  /// The member, of such a group, whose run calls this member's; set while the action runs.
  @exclusivity(unchecked) fileprivate var enclosing: GroupMember?
  @exclusivity(unchecked) fileprivate var previous: Unmanaged<GroupMember>?
  @exclusivity(unchecked) fileprivate var next: Unmanaged<GroupMember>?

  /// Makes a member and enters `group`, so that the group counts it. `GroupMembers.append` lists it later.
  init(of group: ActionGroup) {
    self.group = group
    group.enter()
  }

  deinit { if !hasEnded { end() } }  // the action was dropped; no lock needed, because no other thread has a reference

  /// The member whose action begins in the job that this thread runs, for the first caller; nil: none.
  static func takeBegun() -> GroupMember? {
    csched_swift_take_member_().map { Unmanaged<GroupMember>.fromOpaque($0).takeUnretainedValue() }
  }

  /// Disposes `context`, with which the action runs, when the group is cancelled, until ``contextEnded()`` or the
  /// member's end.
  final func contextBegins(_ context: ActionContext) {
    if group.members.setContext(context, of: self) { context.dispose() }  // GM6: cancelled before this
    enclosing?.contextBegins(context)
  }

  final func contextEnded() {
    _ = group.members.setContext(nil, of: self)
    enclosing?.contextEnded()
  }

  /// Unlinks the member and leaves the group. Call this once.
  final func end() {
    // GM4: `members.end` returns the disposable. It is released here, without the lock, because the release may run
    // user code.
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

  /// Calls a periodic action, without releasing it: its closure runs again. The member ends when the scheduler releases
  /// the closure.
  func tick() {
    enclosing = GroupMember.takeBegun()  // the same in each tick
    csched_swift_begin_member_(Unmanaged.passUnretained(self).toOpaque())  // GM6: for an action with a context
    action!()
    csched_swift_begin_member_(nil)
    enclosing = nil
  }

  /// Calls and releases the action. Not inlined, so that the captures have been released when it returns.
  @inline(never)
  private func callOnce() {
    enclosing = GroupMember.takeBegun()
    csched_swift_begin_member_(Unmanaged.passUnretained(self).toOpaque())  // GM6: for an action with a context
    action.take()!()  // GM3: the closure is a temporary, released before `run` calls `end`
    csched_swift_begin_member_(nil)
    enclosing = nil
  }
}
