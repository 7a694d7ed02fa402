internal import CScheduler

/// Walks a tree of disposables with a list in place of the stack, to dispose it or to release it.
///
/// *Disposal.* The outermost `dispose()` owns the walk. It asks each ``DisposalNode`` for its children and calls
/// `dispose()` on everything else. The order is that of the recursion it stands for: depth first, children in order.
/// Nothing is deferred past the call: user code that is reached by the walk and disposes something starts a walk of its
/// own, which is over when that call returns. Only edges from container to container are flattened.
///
/// *Release.* A container that dies undisposed cannot be asked, it can only die: so its `deinit` moves its children to
/// the walk that is releasing it, found through a slot of the thread. The slot is set only while the walk gives up its
/// reference to a node, whose `deinit` runs no user code; everything else is released with the slot empty. So again no
/// user code can notice that a release was put off. (Asking `isKnownUniquelyReferenced` and emptying the node instead
/// would race with a thread that turns a weak reference into a strong one.)
///
/// *Both.* One walk does both, because each leads to the other: what is scoped turns a release into a disposal, and a dependent
/// that is disposed may be the last to hold what is then merely released.
///
/// Allocates only when a container that has younger siblings holds a container.
package struct DisposalWalk {
  /// What is left of one container's children: `one`, then `rest`.
  private struct Frame {
    var one: (any Disposable)?
    var rest = ChildList()
    var disposes = false

    var isEmpty: Bool { one == nil && rest.isEmpty }
  }

  /// What is left to do.
  private enum Step {
    case next, over
    case release(Unmanaged<AnyObject>)
  }

  private var next: (any Disposable)?
  private var nextDisposes = false
  private var frame = Frame()
  private var outer: [Frame] = []
  /// Whether what is pushed now is to be disposed, or else released.
  private var disposes: Bool
  /// What is to be waited for after the disposal; nil if nothing is.
  private var awaited: [Awaited]?

  /// Something that was disposed; and, if it is a node, what its wait was announced with.
  private typealias Awaited = (disposable: any Disposable, late: LateReturn?)

  /// Disposes `root` and all that is below it.
  package static func dispose(_ root: some DisposalNode) {
    dispose { root.detachChildren(into: &$0) }
  }

  /// Disposes `child`, taken out of a container, and all that is below it; without a walk if that is `child` alone.
  package static func disposeChild(_ child: any Disposable) {
    if node(child) == nil {
      child.dispose()
    } else {
      dispose { $0.push(child) }
    }
  }

  /// Disposes `root` and all that is below it, and then waits for what was running of that.
  static func disposeAndWait(_ root: any DisposalNode) {
    var awaited = disposed(root)
    var next = 0
    while next < awaited.count {
      let (disposable, late) = awaited[next]
      next += 1
      guard let late, let node = disposable as? any AwaitedNode else {
        disposable.disposeAndWait()
        continue
      }
      if let returned = node.endWait(late) { awaited += disposed(returned) }
    }
  }

  /// Disposes `root` and all that is below it. Returns what is to be waited for.
  private static func disposed(_ root: any Disposable) -> [Awaited] {
    run(disposing: true, awaited: [], csched_swift_drain_slot_()) { $0.push(root) } ?? []
  }

  /// Disposes what `fill` pushes and all that is below it.
  package static func dispose(_ fill: (inout DisposalWalk) -> Void) {
    run(disposing: true, csched_swift_drain_slot_(), fill)
  }

  /// Releases what `fill` pushes, undisposed: for the `deinit` of a node.
  package static func release(_ fill: (inout DisposalWalk) -> Void) {
    join(disposing: false, fill)
  }

  /// Disposes what `fill` pushes: for the `deinit` of a node that disposes when it is released.
  package static func disposeOnRelease(_ fill: (inout DisposalWalk) -> Void) {
    join(disposing: true, fill)
  }

  /// Leaves what `fill` pushes to the walk that is releasing the caller, if there is one.
  private static func join(disposing: Bool, _ fill: (inout DisposalWalk) -> Void) {
    let slot: UnsafeMutablePointer<UnsafeMutableRawPointer?> = csched_swift_drain_slot_()
    guard let active = slot.pointee?.assumingMemoryBound(to: DisposalWalk.self) else {
      run(disposing: disposing, slot, fill)
      return
    }
    active.pointee.disposes = disposing
    fill(&active.pointee)
  }

  @discardableResult
  private static func run(
    disposing: Bool, awaited: [Awaited]? = nil, _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>,
    _ fill: (inout DisposalWalk) -> Void
  ) -> [Awaited]? {
    var walk = DisposalWalk(disposes: disposing, awaited: awaited)
    fill(&walk)
    return withUnsafeMutablePointer(to: &walk) { walk in
      while true {
        switch walk.pointee.step() {
        case .next: break
        case .over: return walk.pointee.awaited
        case .release(let reference):
          slot.pointee = UnsafeMutableRawPointer(walk)
          reference.release()  // its deinit, if this was the last reference, pushes to `walk`
          slot.pointee = nil
        }
      }
    }
  }

  /// Runs `body`, which may run user code, for the `deinit` of a node, which a walk may be releasing: what is released inside
  /// is gone when `body` returns, instead of waiting for that walk.
  package static func outsideOfRelease(_ body: () -> Void) {
    let slot: UnsafeMutablePointer<UnsafeMutableRawPointer?> = csched_swift_drain_slot_()
    let active = slot.pointee
    slot.pointee = nil
    body()
    slot.pointee = active
  }

  /// Adds the only child of a container.
  package mutating func push(_ child: any Disposable) {
    next = child
    nextDisposes = disposes
  }

  /// Leaves `node` to be released, undisposed, by a disposal: as the only child of a container.
  package mutating func push(released node: some DisposalNode) {
    disposes = false
    push(node)
  }

  /// Adds the two children of a container.
  package mutating func push(_ first: any Disposable, _ second: any Disposable) {
    save()
    frame.one = second
    push(first)
  }

  /// Adds the children of a container. The caller keeps no copy: a shared list would be copied, and its children would
  /// live until the end of the walk.
  package mutating func push(_ children: consuming ChildList) {
    switch children.count {
    case 0: return
    case 1: push(children.popFirst()!)
    default:
      save()
      frame.rest = children
    }
  }

  private mutating func save() {
    if !frame.isEmpty { outer.append(frame) }
    frame = Frame(disposes: disposes)
  }

  private mutating func pop() -> (child: any Disposable, disposes: Bool)? {
    if let child = next.take() { return (child, nextDisposes) }
    while true {
      if let child = frame.one.take() { return (child, frame.disposes) }
      if let child = frame.rest.popFirst() { return (child, frame.disposes) }
      guard let parent = outer.popLast() else { return nil }
      frame = parent
    }
  }

  /// Disposes or releases the next child; but the last reference to a node is left to the caller.
  private mutating func step() -> Step {
    guard let (child, isToDispose) = pop() else { return .over }
    guard let node = Self.node(child) else {
      if isToDispose {
        child.dispose()
        awaited?.append((child, nil))
      }
      return .next
    }
    if isToDispose {
      disposes = true
      if awaited != nil, let action = node as? any AwaitedNode { awaited!.append((action, action.beginWait())) }
      node.detachChildren(into: &self)
    }
    return .release(.passRetained(node))
  }

  /// Returns `child` as a node, if it is one.
  private static func node(_ child: any Disposable) -> (any DisposalNode)? {
    // Speed only: the two most common kinds are told by their type. Asking the runtime for a conformance costs 25 ns.
    let kind = type(of: child)
    if kind == AnonymousDisposable.self { return nil }
    if kind == SingleAssignmentDisposable.self { return object(child, as: SingleAssignmentDisposable.self) }
    guard kind is any DisposalNode.Type else { return nil }
    return child as? any DisposalNode
  }

  /// Returns `child`, which is a `Node`. The argument opens the existential, so the cast sees the reference itself.
  private static func object<Child: Disposable, Node: DisposalNode>(_ child: Child, as: Node.Type) -> Node {
    unsafeBitCast(child, to: Unmanaged<Node>.self).takeUnretainedValue()
  }
}
