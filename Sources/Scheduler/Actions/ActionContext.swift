// States, under the lock: what waits for the cancel (`scheduled`, `handlers`, `children`), `isCancelled`, `hasEnded`: both final.
// Obligations
//   AX1  A handler is called at most once, by the disposal or at once where that has been; not after it was taken back, nor after the action's end.
//   AX2  What is scheduled through a context is disposed by its disposal, and by that of whatever it was scheduled through, however deep: it stays among
//        the children until it has ended and has none left.
//   AX3  What has ended, and has no children, is held by nobody here. To let go of a chain takes no stack.
//   AX4  User code is called outside of the lock.
// Checked by: "a running action sees its disposal, and its handlers are called in order before that returns", "what is scheduled through a context is
//   cancelled with it, also when that has ended, down the tree", "a context that is kept cancels what is scheduled through it, and holds nothing
//   that has ended", "an action may dispose itself, and a handler its action and others".
// Models: swift/groups/contexts.swift.

internal import CScheduler

/// What a running action sees of its cancellation, and what cancels it: see ``ImmediateSchedulerType/schedule(_:)-(_)``.
///
/// ```swift
/// let download = workers.schedule { context in
///   let interrupt = context.onDispose { shutdown(socket, SHUT_RDWR) }   // ends the read below
///   defer { interrupt.disposeAndWait() }                                // before the socket is closed
///   while !context.isCancelled, let part = socket.read() { context.schedule(on: decoders) { _ in decode(part) } }
/// }
/// download.dispose()   // and what it has scheduled, too
/// ```
///
/// 1. To cancel is to ask: an action that has begun runs to its end.
/// 2. What is scheduled through the context is cancelled with it, whether the action has ended by then or not, and so on down the tree. What is
///    scheduled otherwise is its own.
/// 3. It may be used on any thread, and kept. After the end of the action no handler is called, and what is scheduled through it is cancelled by its own
///    ``dispose()`` alone.
/// 4. ``Disposable/disposeAndWait()`` waits for the action and for all that is left of the tree, unless this thread is inside of it: members
///    that wait for each other must not be waited for by one of them.
public final class ActionContext: DisposalNode {
  private struct State {
    var isCancelled = false
    var hasEnded = false
    var scheduled: (any Cancelable)?
    var handlers = ChildList()
    var children = ChildList()
    /// What it was scheduled through, until it leaves that.
    var parent: (context: ActionContext, key: UInt64)?

    var isDone: Bool { hasEnded && children.isEmpty }
  }

  private let counted = CountedDisposable()
  // Unchecked for the compiler's sake: no child is sent anywhere but by a disposal, which any thread may do.
  private let state = Protected(Unchecked(State()))

  fileprivate init() {}

  /// Whether it has been disposed. Who sees it sees what was before the disposal. One lock, some nanoseconds.
  public var isCancelled: Bool { state.withLock { $0.value.isCancelled } }

  /// Whether it has been disposed, or its action has ended.
  public var isDisposed: Bool { state.withLock { $0.value.isCancelled || $0.value.hasEnded } }

  /// Cancels the action, and what was scheduled through this.
  public func dispose() { DisposalWalk.dispose(self) }

  func detachChildren(into walk: inout DisposalWalk) {
    // All stays: what is under way for those who wait after another one has cancelled it, the handlers for the end, which takes back what has not begun.
    var (scheduled, handlers, children) = state.withLock { state in
      state.value.isCancelled = true
      return (state.value.scheduled, state.value.handlers, state.value.children)
    }
    var all = ChildList()
    if let scheduled = scheduled.take() { all.append(scheduled) }
    while let handler = handlers.popFirst() as? DisposalHandler { all.append(AnonymousDisposable { handler.call() }) }
    while let child = children.popFirst() { all.append(child) }
    walk.push(all)
  }

  /// Has `handler` called when the action is disposed while it runs: on the thread that disposes, before that returns, in the order in which they were
  /// added; at once, here, where it has been disposed.
  ///
  /// - Returns: what takes the handler back: it is not called after that, but a call on another thread may have begun. Wait for its end by
  ///   ``Disposable/disposeAndWait()`` before you take away what it uses. At the end of the action all are taken back.
  @discardableResult
  public func onDispose(_ handler: @escaping @Sendable () -> Void) -> any Cancelable {
    let added = DisposalHandler(handler)
    let (isLate, hasEnded) = state.withLock { state in
      if !state.value.isCancelled, !state.value.hasEnded { added.key.write((self, state.value.handlers.append(added))) }
      return (state.value.isCancelled, state.value.hasEnded)
    }
    if hasEnded { added.dispose() } else if isLate { added.call() }  // AX1
    return added
  }

  /// Schedules `action` on `scheduler` as a part of this one: it is cancelled with it, and sees that; where this one has been disposed, at once.
  ///
  /// - Returns: what cancels it alone, and what is scheduled through it.
  @discardableResult
  public func schedule(
    on scheduler: some ImmediateSchedulerType, _ action: @escaping @Sendable (ActionContext) -> Void
  ) -> any Cancelable { add { $0.start(action) { scheduler.schedule($0) } } }

  /// The same for `delay` from now, or up to `tolerance` later.
  @discardableResult
  public func schedule(
    on scheduler: some SchedulerType, after delay: Duration, tolerance: Duration = .zero,
    _ action: @escaping @Sendable (ActionContext) -> Void
  ) -> any Cancelable { add { $0.start(action) { scheduler.schedule(after: delay, tolerance: tolerance, $0) } } }

  private func add(_ start: (ActionContext) -> Void) -> ActionContext {
    let child = ActionContext()
    let isLate = state.withLock { state in
      if state.value.isCancelled { return true }
      let key = state.value.children.append(child)
      child.state.withLock { $0.value.parent = (self, key) }  // nobody else knows the child yet
      return false
    }
    if isLate { child.dispose() }
    start(child)  // refused there, if it is late
    return child
  }

  /// Submits what calls `action`. Disposed meanwhile, it is disposed here.
  fileprivate func start(
    _ action: @escaping @Sendable (ActionContext) -> Void, by submit: (@escaping @Sendable () -> Void) -> any Cancelable
  ) {
    guard !isCancelled else { return end() }
    let running = Running(self)
    let scheduled = submit {
      action(running.context)
      running.context.end()
    }
    let isLate = state.withLock { state in
      if !state.value.hasEnded, !state.value.isCancelled { state.value.scheduled = scheduled }
      return state.value.isCancelled && !state.value.hasEnded
    }
    if isLate { scheduled.dispose() }
  }

  /// After the action, or its drop; only the first time does anything.
  fileprivate func end() {
    let needless = state.withLock { state in
      defer { state.value.hasEnded = true }
      return (state.value.scheduled.take(), state.value.handlers.takeAll())
    }
    var handlers = needless.1
    while let handler = handlers.popFirst() { handler.dispose() }  // AX1
    leave()
  }

  /// Leaves what it was scheduled through, if it is done; and so on upwards.
  private func leave() {
    var each = self
    while let (parent, key) = each.state.withLock({ $0.value.isDone ? $0.value.parent.take() : nil }) {  // AX3
      _ = parent.state.withLock { $0.value.children.take(key) }  // AX2
      each = parent
    }
  }

  fileprivate func forget(_ key: UInt64) { _ = state.withLock { $0.value.handlers.take(key) } }

  /// Held by the closure that is submitted, so that a drop is an end.
  private final class Running: Sendable {
    let context: ActionContext
    init(_ context: ActionContext) { self.context = context }
    deinit { context.end() }
  }

  // Unchecked: the lock guards it.
  private struct Unchecked: @unchecked Sendable {
    var value: State
    init(_ value: State) { self.value = value }
  }

  /// A closure that is called once, or taken back before.
  private final class DisposalHandler: Cancelable {
    private enum Phase {
      case waiting(@Sendable () -> Void)
      case running(thread: UInt)
      case over
    }

    private let phase: Protected<Phase>
    private let ended = Condition()
    private let counted = CountedDisposable()
    /// Where it is kept, if it is.
    let key = Protected<(ActionContext, UInt64)?>(nil)

    init(_ handler: @escaping @Sendable () -> Void) { phase = Protected(.waiting(handler)) }

    var isDisposed: Bool {
      phase.withLock { if case .waiting = $0 { false } else { true } }
    }

    func call() {
      guard let handler = take(leaving: .running(thread: csched_swift_thread_())) else { return }
      handler()
      phase.write(.over)
      ended.broadcast()
    }

    func dispose() {
      _ = take(leaving: .over)
      if let (context, key) = key.exchange(nil) { context.forget(key) }
    }

    func disposeAndWait() {
      dispose()
      let here = csched_swift_thread_()
      phase.withLock(on: ended, when: { if case .running(let thread) = $0 { thread == here } else { true } }) { _ in }
    }

    private func take(leaving next: Phase) -> (@Sendable () -> Void)? {
      phase.withLock { phase in
        guard case .waiting(let handler) = phase else { return nil }
        phase = next
        return handler
      }
    }
  }
}

extension ImmediateSchedulerType {
  /// Schedules `action`, which is given a context in which it sees that it is cancelled while it runs.
  ///
  /// - Returns: what cancels it: before it begins as any action; while it runs by telling its context; and at any time what was scheduled through the context.
  @discardableResult
  public func schedule(_ action: @escaping @Sendable (ActionContext) -> Void) -> any Cancelable {
    let context = ActionContext()
    context.start(action) { schedule($0) }
    return context
  }
}

extension SchedulerType {
  /// Schedules `action` for `delay` from now, or up to `tolerance` later, with a context: as ``ImmediateSchedulerType/schedule(_:)-(_)``.
  @discardableResult
  public func schedule(
    after delay: Duration, tolerance: Duration = .zero, _ action: @escaping @Sendable (ActionContext) -> Void
  ) -> any Cancelable {
    let context = ActionContext()
    context.start(action) { schedule(after: delay, tolerance: tolerance, $0) }
    return context
  }
}
