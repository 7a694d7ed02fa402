// What the core's cancellation (cancellation.c) does not know: what is scheduled for each context, and whose memory it is.
//
// Obligations
//   AX1  A handler is called as the core says, CN1; its closure is let go of after that, or when it is taken back.
//   AX2  What is scheduled through a context never begins once a disposal of that, or of what is above it, has returned: it looks before it begins. Its
//        captures go by what its own handler disposes.
//   AX3  What has ended is kept by the tree only while something is below it, CN4; and one below what has gone keeps that. To let go of a chain
//        takes no stack.
//   AX4  Who waits finds what is under way, whoever has disposed it: `scheduled` stays until the end.
// Checked by: "a running action sees its disposal, and its handlers are called in order before that returns", "what is scheduled through a context is
//   cancelled with it, also when that has ended, down the tree", "a context that is kept cancels what is scheduled through it, and holds nothing
//   that has ended", "an action may dispose itself, and a handler its action and others", "who waits comes after the action and what it scheduled,
//   also after another one has disposed them".
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
public final class ActionContext: Disposable {
  /// What the core keeps in its tree, in memory that stays where it is.
  private struct Node {
    var cancellation = csched_cancellation()
    /// Disposes what is scheduled.
    var handler = csched_cancel_handler()
    let context: Unmanaged<ActionContext>
  }

  private let counted = CountedDisposable()
  // The core's, which any thread may call.
  nonisolated(unsafe) private let node = UnsafeMutablePointer<Node>.allocate(capacity: 1)
  /// What is under way, until the end.
  private let scheduled = Protected<(any Disposable)?>(nil)
  /// What it is below, if that has gone: nobody else may keep it.
  private let parent = Protected<ActionContext?>(nil)

  fileprivate init(below parent: ActionContext? = nil) {
    node.initialize(to: Node(context: .passUnretained(self)))
    _ = Unmanaged.passRetained(self)  // the tree's, until it has gone
    let isHeld = csched_cancellation_init(cancellation, parent?.cancellation) { gone in
      let context = ActionContext.of(gone!)
      context.takeUnretainedValue().parent.write(nil)  // AX3
      context.release()
    }
    if !isHeld { self.parent.write(parent) }  // AX3
  }

  deinit { node.deallocate() }

  private var cancellation: UnsafeMutablePointer<csched_cancellation> { node.pointer(to: \.cancellation)! }

  private static func of(_ cancellation: UnsafeMutablePointer<csched_cancellation>) -> Unmanaged<ActionContext> {
    UnsafeMutableRawPointer(cancellation).assumingMemoryBound(to: Node.self).pointee.context
  }

  /// Whether it has been disposed. Who sees it sees what was before the disposal. It takes no lock.
  public var isCancelled: Bool { csched_cancellation_is_cancelled(cancellation) }

  /// Whether it has been disposed, or its action has ended.
  public var isDisposed: Bool { csched_cancellation_is_over_(cancellation) }

  /// Cancels the action, and what was scheduled through this.
  public func dispose() { csched_cancellation_cancel(cancellation) }

  /// Cancels them, and waits for those that have begun: see rule 4.
  public func disposeAndWait() {
    dispose()
    var all: [ActionContext] = []
    withUnsafeMutablePointer(to: &all) { all in
      csched_cancellation_visit_(
        cancellation,
        { each, all in
          let context = ActionContext.of(each!).takeUnretainedValue()
          all!.assumingMemoryBound(to: [ActionContext].self).pointee.append(context)
        }, all)
    }
    for each in all { each.scheduled.read()?.disposeAndWait() }  // AX4
  }

  /// Has `handler` called when the action is disposed while it runs: on the thread that disposes, before that returns, in the order in which they were
  /// added; at once, here, where it has been disposed.
  ///
  /// - Parameter handler: called once at the most, on the thread that disposes.
  /// - Returns: what takes the handler back: it is not called after that, but a call on another thread may have begun. Wait for its end by
  ///   ``Disposable/disposeAndWait()`` before you take away what it uses. At the end of the action all are taken back.
  @discardableResult
  public func onDispose(_ handler: @escaping @Sendable () -> Void) -> any Disposable {
    let added = DisposalHandler(handler)
    added.add(to: cancellation)
    return added
  }

  /// Schedules `action` on `scheduler` as a part of this one: it is cancelled with it, and sees that; where this one has been disposed, at once.
  ///
  /// - Parameters:
  ///   - scheduler: where it runs; it may be another one than this action's.
  ///   - action: what to run. It is given a context of its own.
  /// - Returns: what cancels it alone, and what is scheduled through it.
  @discardableResult
  public func schedule(
    on scheduler: some ImmediateSchedulerType, _ action: @escaping @Sendable (ActionContext) -> Void
  ) -> any Disposable { ActionContext(below: self).start(action) { scheduler.schedule($0) } }

  /// The same for `delay` from now, or up to `tolerance` later.
  ///
  /// - Parameters:
  ///   - scheduler: where it runs; it may be another one than this action's.
  ///   - delay: how long from now. Zero or less is a plain submission; more than the clock can hold never comes.
  ///   - tolerance: up to how much later it may run, so that one wake serves more timers.
  ///   - action: what to run. It is given a context of its own.
  @discardableResult
  public func schedule(
    on scheduler: some SchedulerType, after delay: Duration, tolerance: Duration = .zero,
    _ action: @escaping @Sendable (ActionContext) -> Void
  ) -> any Disposable {
    ActionContext(below: self).start(action) { scheduler.schedule(.after(delay, tolerance: tolerance), $0) }
  }

  /// Submits what calls `action`. Disposed meanwhile, it is disposed here.
  fileprivate func start(
    _ action: @escaping @Sendable (ActionContext) -> Void, by submit: (@escaping @Sendable () -> Void) -> any Disposable
  ) -> ActionContext {
    if isCancelled {
      end()
      return self
    }
    let running = Running(self)
    scheduled.write(
      submit {
        if !running.context.isCancelled { action(running.context) }  // AX2
        running.context.end()
      })
    disposeWhenCancelled()
    withExtendedLifetime(running) {}  // AX3: so the last end comes after this
    return self
  }

  /// Has what is scheduled disposed by the core; at once, where it is late for that.
  private func disposeWhenCancelled() {
    let handler = node.pointer(to: \.handler)!
    handler.pointee.context = Unmanaged.passRetained(self).toOpaque()
    handler.pointee.call = { handler in
      let context = Unmanaged<ActionContext>.fromOpaque(handler!.pointee.context).takeUnretainedValue()
      context.scheduled.read()?.dispose()
    }
    handler.pointee.release = { Unmanaged<ActionContext>.fromOpaque($0!.pointee.context).release() }
    csched_cancellation_add(cancellation, handler)
  }

  /// After the action, and when what was submitted has gone.
  fileprivate func end() {
    let last = scheduled.exchange(nil)
    withExtendedLifetime(last) { csched_cancellation_end(cancellation) }
  }

  /// Held by the closure that is submitted, so that a drop is an end.
  private final class Running: Sendable {
    let context: ActionContext
    init(_ context: ActionContext) { self.context = context }
    deinit { context.end() }
  }

  /// A closure that is called once, or taken back before.
  private final class DisposalHandler: Disposable, @unchecked Sendable {
    // Unchecked: `body` is the caller's, and then that of the release, which comes once, after it.
    @exclusivity(unchecked) private var body: (@Sendable () -> Void)?
    private let handler = UnsafeMutablePointer<csched_cancel_handler>.allocate(capacity: 1)
    private let counted = CountedDisposable()

    init(_ body: @escaping @Sendable () -> Void) {
      self.body = body
      handler.initialize(to: csched_cancel_handler())
    }

    deinit { handler.deallocate() }

    func add(to cancellation: UnsafeMutablePointer<csched_cancellation>) {
      handler.pointee.context = Unmanaged.passRetained(self).toOpaque()
      handler.pointee.call = {
        Unmanaged<DisposalHandler>.fromOpaque($0!.pointee.context).takeUnretainedValue().body!()
      }
      handler.pointee.release = {
        let handler = Unmanaged<DisposalHandler>.fromOpaque($0!.pointee.context)
        handler.takeUnretainedValue().body = nil  // AX1
        handler.release()
      }
      csched_cancellation_add(cancellation, handler)
    }

    var isDisposed: Bool { !csched_cancellation_handler_waits_(handler) }

    func dispose() { csched_cancellation_remove(handler) }

    func disposeAndWait() { csched_cancellation_remove_and_wait(handler) }
  }
}

extension ImmediateSchedulerType {
  /// Schedules `action`, which is given a context in which it sees that it is cancelled while it runs.
  ///
  /// - Parameter action: what to run. It asks the context whether it is to end.
  /// - Returns: what cancels it: before it begins as any action; while it runs by telling its context; and at any time what was scheduled through the context.
  @discardableResult
  public func schedule(_ action: @escaping @Sendable (ActionContext) -> Void) -> any Disposable {
    ActionContext().start(action) { schedule($0) }
  }
}

extension SchedulerType {
  /// Schedules `action` for `delay` from now, or up to `tolerance` later, with a context: as ``ImmediateSchedulerType/schedule(_:)-(_)``.
  ///
  /// - Parameters:
  ///   - delay: how long from now. Zero or less is a plain submission; more than the clock can hold never comes.
  ///   - tolerance: up to how much later it may run, so that one wake serves more timers.
  ///   - action: what to run. It asks the context whether it is to end.
  @discardableResult
  public func schedule(
    after delay: Duration, tolerance: Duration = .zero, _ action: @escaping @Sendable (ActionContext) -> Void
  ) -> any Disposable {
    ActionContext().start(action) { schedule(.after(delay, tolerance: tolerance), $0) }
  }
}
