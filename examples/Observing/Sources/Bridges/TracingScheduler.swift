import Scheduler
import ServiceContextModule
import Tracing

extension SchedulerType {
  /// A scheduler whose every action runs on this one, in the service context of the code that scheduled it, and inside
  /// of a span of its own.
  ///
  /// ```swift
  /// withSpan("request") { _ in
  ///   images.traced("decode").schedule { decode() }   // a child of "request", on another thread
  /// }
  /// ```
  ///
  /// It has no state that changes: make one wherever you need another name.
  ///
  /// - Parameters:
  ///   - operation: what the spans are called; by default the scheduler's name.
  ///   - tracer: makes the spans; by default the one that the program was set up with. Without one the context is
  ///     carried all the same.
  public func traced(
    _ operation: String? = nil, by tracer: any Tracer = InstrumentationSystem.tracer
  ) -> TracingScheduler { TracingScheduler(self, operation: operation, tracer: tracer) }
}

/// Runs each action of another scheduler in the service context of the code that scheduled it, and inside of a span:
/// see ``SchedulerType/traced(_:by:)``.
///
/// `ServiceContext.current` is a task local. That is looked up in the current task, or where there is none in a list of
/// the current thread, and holds during the call of `withValue` alone. A task inherits it from the code that makes it;
/// an action is no task, but a plain closure that some thread calls later, and by then `withValue` has returned, or was
/// called on another thread. So it is not carried by itself: this takes the context in `schedule`, and sets it around
/// the action. It is set even where there was none, because an action may run in the middle of other code, which has
/// set its own: virtual time that is advanced, or a wait that runs actions.
///
/// 1. A plain or delayed action's span begins at its submission, and ends with its run, its disposal or its drop:
///    ``ActionSpan`` lists its attributes.
/// 2. Each tick of a periodic action has a span, which begins with it. All have the context of the code that scheduled
///    the action.
/// 3. Each step of `scheduleRecursive` is an action: a child of the step that asked for it.
/// 4. What was disposed before it began never begins.
/// 5. `Schedulers.current` inside is the scheduler below.
/// 6. Queue time is the monotonic clock's, from when the action was due by its clock at the submission; it says nothing
///    of virtual time.
public final class TracingScheduler: SchedulerType {
  /// What begins a span: all that an action may keep, which must not keep the scheduler that it waits in.
  private struct Spans: Sendable {
    let operation: String
    let scheduler: String
    let tracer: any Tracer

    func begin(in context: ServiceContext) -> any Tracing.Span {
      let span = tracer.startAnySpan(operation, context: context)
      span.updateAttributes { $0["scheduler.name"] = scheduler }
      return span
    }
  }

  private let base: any SchedulerType
  private let spans: Spans

  init(_ base: any SchedulerType, operation: String?, tracer: any Tracer) {
    let name = Schedulers.name(of: base)
    self.base = base
    spans = Spans(operation: operation ?? name, scheduler: name, tracer: tracer)
  }

  public var now: MonotonicTime { base.now }

  // MARK: one span an action

  /// Begins a span here and now, and has `submit` schedule what ends it.
  private func spanned(
    queueTime: @escaping @Sendable () -> Duration, _ submit: (SpannedAction) -> any Disposable
  ) -> any Disposable {
    let span = ActionSpan(spans.begin(in: .current ?? .topLevel), queueTime: queueTime)
    return SpannedDisposable(submit(SpannedAction(span)), span)
  }

  @discardableResult
  public func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
    let due = MonotonicTime.now
    return spanned(queueTime: { due.duration(to: .now) }) { spanned in base.schedule { spanned.run(action) } }
  }

  @discardableResult
  public func schedule(_ timing: ActionTiming, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    if timing.period != nil { return ticking(timing, action) }
    let due = MonotonicTime.now.advanced(by: max(.zero, timing.delay(from: now)))
    return spanned(queueTime: { due.duration(to: .now) }) { spanned in base.schedule(timing) { spanned.run(action) } }
  }

  // MARK: one span a tick

  private func ticking(_ timing: ActionTiming, _ action: @escaping @Sendable () -> Void) -> any Disposable {
    let context = ServiceContext.current ?? .topLevel
    return base.schedule(timing) { [spans] in
      let span = spans.begin(in: context)
      defer { span.end() }
      ServiceContext.withValue(span.context, operation: action)
    }
  }
}
