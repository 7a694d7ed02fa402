// A cancellation context for a running action and for the child actions scheduled through it. cancellation.c maintains
// the tree of contexts.
// This file adds the actions that a context cancels, and the references that keep contexts alive.
//
// Invariants
//   AX1  A handler is called at most once (CN1 of cancellation.c). Its closure is released after the call, or when the
//        handler is removed.
//   AX2  An action scheduled through a context never starts after a disposal of that context, or of an ancestor, has
//        returned: the action checks before it starts. A handler in the action's own context disposes the action, which
//        releases its captures.
//   AX3  A context leaves the tree when it has ended and has no children (CN4); until then the tree retains it. A child
//        created later retains its parent itself. Releasing a chain of contexts does not recurse.
//   AX4  `disposeAndWait` finds each action that runs, or whose captures another thread releases: `scheduled` is set
//        until the captures are gone. An action may run before its submission has returned, and so before `scheduled`
//        is set: a wait first awaits the submission, unless the waiting thread submits or runs the action.
// Models: swift/groups/contexts.swift.

internal import CScheduler
internal import Synchronization

/// Lets a running action check whether it is cancelled, and cancels it: see
/// ``ImmediateSchedulerType/schedule(_:)-(_)``.
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
/// 1. Cancellation is a request: an action that has started runs to its end.
/// 2. Disposing a context also cancels the actions that were scheduled through it, and their own children, also when
///    the context's action has ended. An action scheduled in any other way is independent.
/// 3. You may use the context on any thread, and store it. After the end of the action no handler is called. Once the
///    action and all its children have ended, a disposal of the parent no longer reaches the context. For an action
///    scheduled through it after that, dispose this context.
/// 4. Each tick of a periodic action has a context, whose disposal ends the ticks. Handlers are those of one tick. What
///    a tick has scheduled through its context is cancelled with the periodic action, also after that tick.
/// 5. ``Disposable/disposeAndWait()`` waits for the action and for all unfinished actions below it in the tree, except
///    those that the calling thread is inside. Actions of a tree that wait for each other must not call it.
public final class ActionContext: Disposable {
  /// The C core's part of the context, at a fixed address, as the core requires.
  private struct Node {
    var cancellation = csched_cancellation()  // a node in the core's tree of cancellations; first field: see `owner`
    var handler = csched_cancel_handler()  // the handler that disposes `scheduled`
    var submission = csched_group()  // AX4: entered from the creation until the submission has returned
    let submitter = csched_swift_thread_number_()  // the thread that submits the action
    let context: Unmanaged<ActionContext>
  }

  private let counted = CountedDisposable()  // for the diagnostic count of disposables
  // Unsafe, because of the pointer: the C core guards the node with its own locks.
  nonisolated(unsafe) private let node = UnsafeMutablePointer<Node>.allocate(capacity: 1)
  /// The disposable that `scheduler.schedule` returned for this context's action. Nil before the submission and after
  /// the action's end.
  private let scheduled = Protected<(any Disposable)?>(nil)
  private let runner = Atomic<UInt>(0)  // the thread that runs the action; 0: none
  /// The parent context, if it had left the tree before this context was created. Otherwise nil: the tree then retains
  /// the parent.
  private let parent = Protected<ActionContext?>(nil)

  // the context of all ticks, and of what they schedule, if this is the context of one tick
  private let series: ActionContext?

  /// Makes a context without an action: a child of `parent`, or a root. ``start(_:repeats:by:)`` adds the action.
  /// `isTick`: it is for one tick of the action of `parent`.
  fileprivate init(below parent: ActionContext? = nil, isTick: Bool = false) {
    series = isTick ? parent : nil
    node.initialize(to: Node(context: .passUnretained(self)))
    csched_group_enter(submission, 1)  // AX4: before another thread can find this context; `start` leaves
    _ = Unmanaged.passRetained(self)  // the tree's reference; the closure below releases it
    // the core calls the closure when this node leaves the tree: the action has ended and the node has no children
    let treeRetainsParent = csched_cancellation_init(cancellation, parent?.cancellation) { node in
      let context = ActionContext.owner(node!)
      // AX3: this node no longer refers to the parent's node, so the parent may be freed
      context.takeUnretainedValue().parent.write(nil)
      context.release()
    }
    // AX3: without the tree's reference, the parent's node would be freed too early
    if !treeRetainsParent { self.parent.write(parent) }
  }

  deinit { node.deallocate() }
  private var cancellation: UnsafeMutablePointer<csched_cancellation> { node.pointer(to: \.cancellation)! }
  private var submission: UnsafeMutablePointer<csched_group> { node.pointer(to: \.submission)! }

  /// Returns the context whose node begins with `cancellation`, unretained.
  private static func owner(_ cancellation: UnsafeMutablePointer<csched_cancellation>) -> Unmanaged<ActionContext> {
    UnsafeMutableRawPointer(cancellation).assumingMemoryBound(to: Node.self).pointee.context
  }

  /// Whether the context has been disposed. If so, the caller sees everything that was done before the disposal. Takes
  /// no lock.
  public var isCancelled: Bool {
    // the second: a tick that has ended is not in the tree any more
    csched_cancellation_is_cancelled(cancellation) || series?.isCancelled == true
  }

  /// Whether the context has been disposed, or its action has ended.
  public var isDisposed: Bool { csched_cancellation_is_over_(cancellation) }

  /// Cancels the action, and the actions scheduled through this context. In a periodic action no tick follows.
  public func dispose() { csched_cancellation_cancel((series ?? self).cancellation) }

  /// Cancels like ``dispose()``, and waits for the cancelled actions that have started: see rule 5.
  public func disposeAndWait() {
    if let series { return series.disposeAndWait() }
    dispose()
    var all: [ActionContext] = []
    withUnsafeMutablePointer(to: &all) { all in
      csched_cancellation_visit_(  // appends this context, and each descendant that is still in the tree, to `all`
        cancellation,
        { each, all in
          let context = ActionContext.owner(each!).takeUnretainedValue()
          all!.assumingMemoryBound(to: [ActionContext].self).pointee.append(context)
        }, all)
    }
    for each in all {
      each.awaitSubmission()
      // AX4: `scheduled` is set until the action ends, so this waits also if another thread disposed the context
      each.scheduled.read()?.disposeAndWait()
    }
  }

  /// Waits until the scheduler has accepted the action, and `scheduled` is set.
  private func awaitSubmission() {
    let thread = csched_swift_thread_number_()
    // AX4: relaxed: only this thread's own number matters
    if node.pointee.submitter == thread || runner.load(ordering: .relaxed) == thread { return }
    csched_group_wait(submission)
  }

  /// Adds a handler that is called if the action is disposed while it runs. The disposing thread calls the handlers
  /// before `dispose()`
  /// returns, in the order in which they were added. If the action is already disposed, the handler is called here, at
  /// once.
  ///
  /// - Parameter handler: called at most once, on the thread that disposes.
  /// - Returns: a disposable that removes the handler. After its disposal no call starts, but a call on another thread
  ///   may be in progress. Use ``Disposable/disposeAndWait()`` to wait for the end of that call before you free what
  ///   the handler uses. The end of the action removes all handlers.
  @discardableResult
  public func onDispose(_ handler: @escaping @Sendable () -> Void) -> any Disposable {
    let added = DisposalHandler(handler)
    added.add(to: cancellation)
    return added
  }

  /// Schedules `action` on `scheduler` as a child of this action: disposing this context cancels the child. If this
  /// context is already disposed, the child is cancelled at once.
  ///
  /// - Parameters:
  ///   - scheduler: where the child runs; it may differ from this action's scheduler.
  ///   - action: what to run. It is given its own context.
  /// - Returns: a disposable that cancels only the child, and the actions scheduled through the child's context.
  @discardableResult
  public func schedule(
    on scheduler: some ImmediateSchedulerType, _ action: @escaping @Sendable (ActionContext) -> Void
  ) -> any Disposable { ActionContext(below: series ?? self).start(action) { scheduler.schedule($0) } }

  /// Schedules a child action for `delay` from now, or up to `tolerance` later.
  ///
  /// - Parameters:
  ///   - scheduler: where the child runs; it may differ from this action's scheduler.
  ///   - delay: how long from now. Zero or less is a plain submission; with more than the clock can hold, it never
  ///     runs.
  ///   - tolerance: how much later it may run, so that one wakeup serves more timers.
  ///   - action: what to run. It is given its own context.
  @discardableResult
  public func schedule(
    on scheduler: some SchedulerType, after delay: Duration, tolerance: Duration = .zero,
    _ action: @escaping @Sendable (ActionContext) -> Void
  ) -> any Disposable {
    schedule(on: scheduler, .after(delay, tolerance: tolerance), action)
  }

  /// Schedules a child action at the times that `timing` describes, once or repeatedly.
  ///
  /// - Parameters:
  ///   - scheduler: where the child runs; it may differ from this action's scheduler.
  ///   - timing: when the child runs.
  ///   - action: what to run. It is given its own context.
  @discardableResult
  public func schedule(
    on scheduler: some SchedulerType, _ timing: ActionTiming, _ action: @escaping @Sendable (ActionContext) -> Void
  ) -> any Disposable {
    ActionContext(below: series ?? self).start(action, repeats: timing.period != nil) { scheduler.schedule(timing, $0) }
  }

  /// Calls `submit` with a closure that runs `action` and then ends this context. Returns this context. If the context
  /// is cancelled already, ends the context without a submission. If the context is disposed during the submission,
  /// disposes the disposable that `submit` returned. `repeats`: the scheduler calls the closure for each tick, and this
  /// context ends when the scheduler releases the closure.
  fileprivate func start(
    _ action: @escaping @Sendable (ActionContext) -> Void, repeats: Bool = false,
    by submit: (@escaping @Sendable () -> Void) -> any Disposable
  ) -> ActionContext {
    defer { csched_group_leave(submission) }  // AX4
    if isCancelled {
      end()
      return self
    }
    let running = Running(self, action)  // its deinit ends the context if the scheduler drops the closure
    scheduled.write(repeats ? submit { running.tick() } : submit { running.run() })
    disposeWhenCancelled()
    // AX3: if the scheduler has released the closure, `running` is released here. So its deinit clears `scheduled` and
    // removes the handler.
    withExtendedLifetime(running) {}
    return self
  }

  /// Adds the handler by which a cancellation disposes the scheduled action. If the context is already cancelled, the
  /// core calls it at once. If the action has already run and ended the context, the core releases the handler without
  /// a call.
  private func disposeWhenCancelled() {
    let handler = node.pointer(to: \.handler)!
    // released by `release` below, after the call or the removal
    handler.pointee.context = Unmanaged.passRetained(self).toOpaque()
    handler.pointee.call = { handler in
      let context = Unmanaged<ActionContext>.fromOpaque(handler!.pointee.context).takeUnretainedValue()
      context.scheduled.read()?.dispose()
    }
    handler.pointee.release = { Unmanaged<ActionContext>.fromOpaque($0!.pointee.context).release() }
    csched_cancellation_add(cancellation, handler)
  }

  /// Ends the context: clears `scheduled` and removes all handlers. Called after the action, and again when the
  /// submitted closure is released: in between, `start` may have set `scheduled`. The second `csched_cancellation_end`
  /// does nothing.
  fileprivate func end() {
    let submitted = scheduled.exchange(nil)
    // released after the core has removed the handlers: the release may run user code, which must see the context ended
    withExtendedLifetime(submitted) { csched_cancellation_end(cancellation) }
  }

  /// After `start` has returned, only the submitted closure retains this object. So its release ends the context, also
  /// when the scheduler drops the closure without a call.
  private final class Running: @unchecked Sendable {
    // Unchecked: only the thread that runs the action, and later deinit, access `action`.
    private let context: ActionContext
    @exclusivity(unchecked) private var action: (@Sendable (ActionContext) -> Void)?
    @exclusivity(unchecked) private var hasBegun = false  // of a periodic action: its first tick has

    init(_ context: ActionContext, _ action: @escaping @Sendable (ActionContext) -> Void) {
      self.context = context
      self.action = action
    }

    deinit {
      action = nil  // AX4: its captures are gone before the context ends
      context.end()
    }

    func run() {
      let member = GroupMember.takeBegun()  // if a group cancels its members
      context.runner.store(csched_swift_thread_number_(), ordering: .relaxed)  // AX4
      member?.contextBegins(context)
      callOnce()
      member?.contextEnded()
      context.end()
      context.runner.store(0, ordering: .relaxed)  // AX4
    }

    /// Calls a periodic action, with a context for this tick.
    func tick() {
      let member = GroupMember.takeBegun(), tick = ActionContext(below: context, isTick: true)
      csched_group_leave(tick.submission)  // AX4: the tick itself is not submitted
      context.runner.store(csched_swift_thread_number_(), ordering: .relaxed)  // AX4
      if let member, !hasBegun {  // the member keeps the context of the series, so a cancel between ticks finds it
        hasBegun = true
        member.contextBegins(context)
      }
      if !tick.isCancelled { action!(tick) }  // AX2
      tick.end()
      context.runner.store(0, ordering: .relaxed)  // AX4
    }

    /// Calls and releases the action. Not inlined, so that the captures have been released when it returns.
    @inline(never)
    private func callOnce() {
      let action = action.take()!
      // AX2: a scheduler may run an action that was disposed during its submission, so the action checks here
      if !context.isCancelled { action(context) }
    }
  }

  /// A closure that the context's disposal calls once, unless the handler is removed before.
  private final class DisposalHandler: Disposable, @unchecked Sendable {
    // Unchecked, because of the pointer: the C core guards what it points to.
    // AX1: entered by the core's call, and finished by the call or the removal
    private let body: RepeatedCall<@Sendable () -> Void, Void>
    private let handler = UnsafeMutablePointer<csched_cancel_handler>.allocate(capacity: 1)
    private let counted = CountedDisposable()  // for the diagnostic count of disposables

    init(_ body: @escaping @Sendable () -> Void) {
      self.body = RepeatedCall(body, ())
      handler.initialize(to: csched_cancel_handler())
    }

    deinit { handler.deallocate() }

    /// Registers this handler with the core, which retains this object until the handler was called or removed. Call
    /// this once.
    func add(to cancellation: UnsafeMutablePointer<csched_cancellation>) {
      handler.pointee.context = Unmanaged.passRetained(self).toOpaque()
      handler.pointee.call = {
        let body = Unmanaged<DisposalHandler>.fromOpaque($0!.pointee.context).takeUnretainedValue().body
        if DisposalHandler.enterAndCall(body) { body.leave { _ in } }
      }
      handler.pointee.release = {
        let handler = Unmanaged<DisposalHandler>.fromOpaque($0!.pointee.context)
        handler.takeUnretainedValue().body.finish()  // AX1: here, because the user may keep this object for long
        handler.release()
      }
      csched_cancellation_add(cancellation, handler)
    }

    /// Calls the closure, unless it was removed. Returns whether it did; then the caller calls `leave`. Not inlined, so
    /// that its reference to the closure is gone before that.
    @inline(never)
    private static func enterAndCall(_ body: RepeatedCall<@Sendable () -> Void, Void>) -> Bool {
      guard let call = body.enter() else { return false }
      body.finish()  // called once: `leave` releases the closure
      call()
      return true
    }

    /// Whether the handler is being called, was called, or was removed.
    var isDisposed: Bool { !csched_cancellation_handler_waits_(handler) }

    func dispose() {
      csched_cancellation_remove(handler)
      body.finish()
    }

    func disposeAndWait() {
      csched_cancellation_remove_and_wait(handler)  // for a call that is about to enter
      body.finish()
      body.awaitOthers()  // for a thread that releases the captures
    }
  }
}

extension ImmediateSchedulerType {
  /// Schedules `action` with a context, by which it can check whether it is cancelled while it runs.
  ///
  /// - Parameter action: what to run. It checks the context to see whether it should end.
  /// - Returns: a disposable that disposes the context. If the action has not started, it never starts. If it runs,
  ///   ``ActionContext/isCancelled`` becomes true. The disposal also cancels the actions that were scheduled through
  ///   the context, even after the action has ended.
  @discardableResult
  public func schedule(_ action: @escaping @Sendable (ActionContext) -> Void) -> any Disposable {
    ActionContext().start(action) { schedule($0) }
  }

  /// Schedules `action` with a context. If the action is dropped, calls `onDrop` once instead: see
  /// ``schedule(_:onDrop:)-(()->Void,_)``.
  ///
  /// - Parameters:
  ///   - action: what to run. It checks the context to see whether it should end.
  ///   - onDrop: called with the reason if `action` never runs, and is not disposed.
  @discardableResult
  public func schedule(
    _ action: @escaping @Sendable (ActionContext) -> Void, onDrop: @escaping @Sendable (SchedulerError) -> Void
  ) -> any Disposable { ActionContext().start(action) { schedule($0, onDrop: onDrop) } }
}

extension SchedulerType {
  /// Schedules `action` with a context for `delay` from now, or up to `tolerance` later: see
  /// ``ImmediateSchedulerType/schedule(_:)-(_)``.
  ///
  /// - Parameters:
  ///   - delay: how long from now. Zero or less is a plain submission; with more than the clock can hold, it never
  ///     runs.
  ///   - tolerance: how much later it may run, so that one wakeup serves more timers.
  ///   - action: what to run. It checks the context to see whether it should end.
  @discardableResult
  public func schedule(
    after delay: Duration, tolerance: Duration = .zero, _ action: @escaping @Sendable (ActionContext) -> Void
  ) -> any Disposable {
    schedule(.after(delay, tolerance: tolerance), action)
  }

  /// Schedules `action` with a context at the times that `timing` describes, once or repeatedly.
  ///
  /// ```swift
  /// let polling = workers.schedule(.every(.seconds(5))) { context in
  ///   for server in servers where !context.isCancelled { server.poll() }
  /// }
  /// polling.dispose()   // a tick that runs sees it, and what it has scheduled through the context is cancelled
  /// ```
  ///
  /// - Parameters:
  ///   - timing: when the action runs.
  ///   - action: what to run. It checks the context to see whether it should end.
  /// - Returns: a disposable that disposes the context: see ``ImmediateSchedulerType/schedule(_:)-(_)``.
  @discardableResult
  public func schedule(
    _ timing: ActionTiming, _ action: @escaping @Sendable (ActionContext) -> Void
  ) -> any Disposable { ActionContext().start(action, repeats: timing.period != nil) { schedule(timing, $0) } }
}
