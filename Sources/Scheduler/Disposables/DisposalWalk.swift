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
/// Allocates only when a container that has younger siblings holds a container.
struct DisposalWalk {
  /// What is left of one container's children: `one`, then `rest`.
  private struct Frame {
    var one: (any Disposable)?
    var rest = ChildList()

    var isEmpty: Bool { one == nil && rest.isEmpty }
  }

  private var next: (any Disposable)?
  private var frame = Frame()
  private var outer: [Frame] = []

  private init() {}

  /// Disposes `root` and all that is below it.
  static func dispose(_ root: some DisposalNode) {
    dispose { root.detachChildren(into: &$0) }
  }

  /// Disposes `child`, taken out of a container, and all that is below it; without a walk if that is `child` alone.
  static func disposeChild(_ child: any Disposable) {
    if node(child) == nil {
      child.dispose()
    } else {
      dispose { $0.push(child) }
    }
  }

  /// Disposes what `fill` pushes and all that is below it.
  static func dispose(_ fill: (inout DisposalWalk) -> Void) {
    var walk = DisposalWalk()
    fill(&walk)
    while let child = walk.pop() {
      if let node = node(child) {
        node.detachChildren(into: &walk)
      } else {
        child.dispose()
      }
    }
  }

  /// Releases what `fill` pushes, undisposed: for the `deinit` of a node.
  static func release(_ fill: (inout DisposalWalk) -> Void) {
    let slot: UnsafeMutablePointer<UnsafeMutableRawPointer?> = csched_swift_drain_slot_()
    if let active = slot.pointee {
      fill(&active.assumingMemoryBound(to: DisposalWalk.self).pointee)
      return
    }
    var walk = DisposalWalk()
    fill(&walk)
    withUnsafeMutablePointer(to: &walk) { walk in
      while let reference = walk.pointee.popForRelease() {
        slot.pointee = UnsafeMutableRawPointer(walk)
        reference.release()  // its deinit, if this was the last reference, pushes to `walk`
        slot.pointee = nil
      }
    }
  }

  /// Runs `body`, which may run user code, for the `deinit` of a node, which a walk may be releasing: what is released inside
  /// is gone when `body` returns, instead of waiting for that walk.
  static func outsideOfRelease(_ body: () -> Void) {
    let slot: UnsafeMutablePointer<UnsafeMutableRawPointer?> = csched_swift_drain_slot_()
    let active = slot.pointee
    slot.pointee = nil
    body()
    slot.pointee = active
  }

  /// Adds the only child of a container.
  mutating func push(_ child: any Disposable) {
    next = child
  }

  /// Adds the two children of a container.
  mutating func push(_ first: any Disposable, _ second: any Disposable) {
    save()
    frame.one = second
    next = first
  }

  /// Adds the children of a container. The caller keeps no copy: a shared list would be copied, and its children would
  /// live until the end of the walk.
  mutating func push(_ children: consuming ChildList) {
    guard !children.isEmpty else { return }
    save()
    frame.rest = children
  }

  private mutating func save() {
    guard !frame.isEmpty else { return }
    outer.append(frame)
    frame = Frame()
  }

  private mutating func pop() -> (any Disposable)? {
    if let child = next.take() { return child }
    while true {
      if let child = frame.one.take() { return child }
      if let child = frame.rest.popFirst() { return child }
      guard let parent = outer.popLast() else { return nil }
      frame = parent
    }
  }

  /// Releases children until one is a node, and returns the reference that was held to that one.
  private mutating func popForRelease() -> Unmanaged<AnyObject>? {
    while let child = pop() {
      if let node = Self.node(child) { return .passRetained(node) }
    }
    return nil
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
