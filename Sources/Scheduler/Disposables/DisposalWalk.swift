internal import CScheduler

/// Walks a tree of disposables with a list instead of the stack, to dispose it or to release it.
///
/// *Disposal.* The outermost `dispose()` owns the walk. The walk asks each ``DisposalNode`` for its children and calls
/// `dispose()` on every other disposable. The order is that of a recursion: depth first, children in order. When
/// `dispose()` returns, all descendants are disposed. If user code that the walk calls disposes another node, a nested
/// walk starts, and ends before that call returns. Disposables that are no nodes recurse.
///
/// *Release.* For a container that is released undisposed, only `deinit` runs. That `deinit` finds the walk that is
/// releasing the container through a thread-local slot, and moves its children there. The slot is set only while the
/// walk releases a node, whose `deinit` runs no user code. All other objects are released with the slot empty, so user
/// code cannot notice that a release was deferred. (Rejected: to empty a node that `isKnownUniquelyReferenced`, because
/// that races with a thread that turns a weak reference into a strong one.)
///
/// One walk disposes and releases, because each can cause the other. The release of a scoped disposable disposes its
/// child. The disposal of a dependent may release the last reference to its parent.
///
/// The walk allocates only when it reaches a container with several children while siblings of that container, or of an
/// ancestor, wait.
package struct DisposalWalk: ~Copyable {
  /// The unvisited children of one container: `sibling` is next, then `rest`. `disposes`: whether to dispose them, or
  /// only to release them.
  private struct Frame {
    let sibling: (any Disposable)?
    let rest: LaterChildren
    let disposes: Bool
  }

  /// The result of `visitNext`: continue; no child remains; or the caller must release this reference, and then
  /// continue.
  private enum Step {
    case next, over
    case release(Unmanaged<AnyObject>)
  }

  // the next child, visited before `sibling` and `rest`. An only child is stored here, and needs no frame.
  private var next = ChildSlot()
  private var nextDisposes = false  // whether `next` is to be disposed
  // The present frame: the unvisited children of the innermost container that has some. Its fields are those of
  // `Frame`.
  private var sibling = ChildSlot()
  private var rest = LaterChildren()
  private var restDisposes = false
  private var outer: [Frame] = []  // the frames of enclosing containers, the innermost one last
  /// Whether the next pushed children are to be disposed; otherwise they are only released. The code that pushes sets
  /// it before.
  private var disposes: Bool
  /// The disposables to wait for after the disposal; nil if the caller does not wait.
  private var awaited: [Awaited]?

  /// A disposable that was disposed. `late`: the result of its `beginWait`; nil if it is no `AwaitedNode`.
  private typealias Awaited = (disposable: any Disposable, late: LateReturn?)

  /// Disposes `root` and all its descendants.
  package static func dispose(_ root: some DisposalNode) {
    dispose { root.detachChildren(into: &$0) }
  }

  /// Disposes `child`, which its container has removed, and all its descendants. Starts no walk if `child` is not a
  /// node.
  package static func disposeChild(_ child: any Disposable) {
    if node(child) == nil { child.dispose() } else { disposeNode(child) }
  }

  // Speed only: not in line, because the walk has 200 bytes that most callers do not need.
  @inline(never) private static func disposeNode(_ child: any Disposable) {
    dispose { $0.push(child) }
  }

  /// Disposes `root` and all its descendants, and then waits for the descendants whose work was running.
  static func disposeAndWait(_ root: any DisposalNode) {
    var awaited = disposeCollecting(root)
    var next = 0
    while next < awaited.count {  // not `for`: a wait may append to `awaited`
      let (disposable, late) = awaited[next]
      next += 1
      guard let late, let node = disposable as? any AwaitedNode else {
        disposable.disposeAndWait()  // it is disposed already, so this call only waits
        continue
      }
      if let returned = node.endWait(late) { awaited += disposeCollecting(returned) }
    }
  }

  /// Disposes `root` and all its descendants. Returns the disposables to wait for.
  private static func disposeCollecting(_ root: any Disposable) -> [Awaited] {
    run(disposing: true, awaited: [], csched_swift_walk_slot_()) { $0.push(root) } ?? []
  }

  /// Disposes the children that `fill` pushes, and all their descendants.
  package static func dispose(_ fill: (inout DisposalWalk) -> Void) {
    run(disposing: true, csched_swift_walk_slot_(), fill)
  }

  /// Releases the children that `fill` pushes, undisposed: for the `deinit` of a node.
  package static func release(_ fill: (inout DisposalWalk) -> Void) {
    addToActiveWalk(disposing: false, fill)
  }

  /// Disposes the children that `fill` pushes: for the `deinit` of a node that disposes when it is released.
  package static func disposeOnRelease(_ fill: (inout DisposalWalk) -> Void) {
    addToActiveWalk(disposing: true, fill)
  }

  /// Adds the children that `fill` pushes to the walk that is releasing the caller. Starts a walk if there is none.
  private static func addToActiveWalk(disposing: Bool, _ fill: (inout DisposalWalk) -> Void) {
    let slot: UnsafeMutablePointer<UnsafeMutableRawPointer?> = csched_swift_walk_slot_()
    guard let active = slot.pointee?.assumingMemoryBound(to: DisposalWalk.self) else {
      run(disposing: disposing, slot, fill)
      return
    }
    active.pointee.disposes = disposing
    fill(&active.pointee)
  }

  /// Starts a walk with the children that `fill` pushes, and runs it to its end. Returns the disposables to wait for;
  /// nil if `awaited` is nil. `slot`: this thread's slot. The `deinit` of a node that the walk releases finds the walk
  /// in it.
  @discardableResult
  private static func run(
    disposing: Bool, awaited: [Awaited]? = nil, _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>,
    _ fill: (inout DisposalWalk) -> Void
  ) -> [Awaited]? {
    var walk = DisposalWalk(disposes: disposing, awaited: awaited)
    fill(&walk)
    return withUnsafeMutablePointer(to: &walk) { walk in
      while true {
        switch walk.pointee.visitNext() {
        case .next: break
        case .over: return walk.pointee.awaited
        case .release(let reference):
          slot.pointee = UnsafeMutableRawPointer(walk)
          reference.release()  // if this was the only reference, deinit pushes the children to `walk`
          slot.pointee = nil  // user code that a later step runs must not find this walk
        }
      }
    }
  }

  /// Runs `body`, which may run user code, inside the `deinit` of a node. Objects that `body` releases are destroyed
  /// before `body` returns: they do not join the walk that may be releasing the node.
  package static func outsideOfRelease(_ body: () -> Void) {
    let slot: UnsafeMutablePointer<UnsafeMutableRawPointer?> = csched_swift_walk_slot_()
    let active = slot.pointee
    slot.pointee = nil
    body()
    slot.pointee = active
  }

  /// Adds the only child of a container.
  package mutating func push(_ child: any Disposable) {
    next.set(child)
    nextDisposes = disposes
  }

  /// Adds `node` as the only child of a container. The walk releases it without disposing it.
  package mutating func push(released node: some DisposalNode) {
    disposes = false
    push(node)
  }

  /// Adds the two children of a container.
  package mutating func push(_ first: any Disposable, _ second: any Disposable) {
    pushFrame()
    sibling.set(second)
    push(first)
  }

  /// Adds the children of a container.
  package mutating func push(_ children: consuming ChildList) {
    guard !children.isEmpty else { return }
    let first = children.takeFirst()
    if !children.isEmpty {
      pushFrame()
      rest = children.takeLater()
    }
    push(first)
  }

  /// Starts an empty frame. Saves the present frame in `outer`, if it has children; `pop` restores it when the new
  /// frame is empty again.
  private mutating func pushFrame() {
    if sibling.isSet || !rest.isEmpty {
      outer.append(Frame(sibling: sibling.isSet ? sibling.take() : nil, rest: rest.takeAll(), disposes: restDisposes))
    }
    restDisposes = disposes  // for the new frame, which the caller fills
  }

  /// Removes and returns the next child in depth-first order.
  private mutating func pop() -> (child: any Disposable, disposes: Bool)? {
    if next.isSet { return (next.take(), nextDisposes) }
    while true {
      if sibling.isSet { return (sibling.take(), restDisposes) }
      if let child = rest.popFirst() { return (child, restDisposes) }
      guard let parent = outer.popLast() else { return nil }
      if let child = parent.sibling { sibling.set(child) }
      (rest, restDisposes) = (parent.rest, parent.disposes)
    }
  }

  /// Disposes or releases the next child. If the child is a node, the caller must release the returned reference, which
  /// may be the only one.
  private mutating func visitNext() -> Step {
    guard let (child, isToDispose) = pop() else { return .over }
    guard let node = Self.node(child) else {
      if isToDispose {
        child.dispose()
        awaited?.append((child, nil))  // nil: `disposeAndWait` above calls the child's own disposeAndWait
      }
      return .next
    }
    if isToDispose {
      disposes = true
      // before the disposal: `beginWait`
      if awaited != nil, let action = node as? any AwaitedNode { awaited!.append((action, action.beginWait())) }
      node.detachChildren(into: &self)  // marks the node as disposed, and pushes its children
    }
    // `run` releases it when the references of this function are gone: a `deinit` here would recurse
    return .release(.passRetained(node))
  }

  /// Returns `child` as a node, or nil if it is none.
  // Speed only: generic, because `Child.self` is a word of the existential, and `type(of:)` calls the runtime, 50
  // instructions. A dynamic check of a conformance costs 25 ns. To spare it, the most common types are compared first,
  // and the size excludes the struct that `schedule` returns.
  private static func node<Child: Disposable>(_ child: Child) -> (any DisposalNode)? {
    if Child.self == AnonymousDisposable.self { return nil }
    if Child.self == SingleAssignmentDisposable.self { return object(child, as: SingleAssignmentDisposable.self) }
    guard MemoryLayout<Child>.size == MemoryLayout<AnyObject>.size, Child.self is any DisposalNode.Type else {
      return nil
    }
    return child as? any DisposalNode
  }

  /// Returns the type of `child`.
  // Speed only: the runtime call `type(of:)` costs 50 instructions.
  static func kind<Child: Disposable>(of child: Child) -> Any.Type { Child.self }

  /// Returns `child` as a `Node`. Requires: it is one. The generic parameter opens the existential, so `child` is the
  /// bare reference.
  static func object<Child: Disposable, Node: DisposalNode>(_ child: Child, as: Node.Type) -> Node {
    unsafeBitCast(child, to: Unmanaged<Node>.self).takeUnretainedValue()
  }
}

/// A container of this module that can move its children into a walk, so that nesting of any depth costs no stack.
///
/// Requirements for a conforming class:
///
/// 1. It is final, and `dispose()` is `DisposalWalk.dispose(self)`. With one child at a time, it may instead remove the
///    child and call `DisposalWalk.disposeChild` with it, which is faster if that child is no container.
/// 2. `deinit` moves the undisposed children into ``DisposalWalk/release(_:)`` and runs no user code itself. It removes
///    the children inside the closure: a child in a local variable would outlive the walk, and be released recursively.
///    Code that runs user code (the release of a closure) goes into ``DisposalWalk/outsideOfRelease(_:)``. Children to
///    be disposed go into ``DisposalWalk/disposeOnRelease(_:)``.
package protocol DisposalNode: AnyObject, Disposable {
  /// Marks this as disposed, and moves all children into `walk` by at most one push. Does nothing the second time.
  func detachChildren(into walk: inout DisposalWalk)
}

/// A node whose work may be running when it is disposed.
protocol AwaitedNode: DisposalNode {
  /// Announces a wait, before the disposal. If the work returns a disposable after the disposal, the node stores it in
  /// the returned object.
  func beginWait() -> LateReturn
  /// Waits for the end of the work, unless this thread is inside it. Returns a disposable that must be waited for too,
  /// if there is one.
  func endWait(_ late: LateReturn) -> (any Disposable)?
}

/// Holds the disposable that running work returned after the work's disposal. Waiters for the work wait for that
/// disposable too.
// Unchecked, because the compiler cannot see that the node's lock guards `returned`.
final class LateReturn: @unchecked Sendable {
  var returned: (any Disposable)?
}
