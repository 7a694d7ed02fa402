internal import CScheduler
internal import Synchronization

/// A serial queue: runs its actions one at a time, in the order of submission, on its target. The default target is the
/// shared pool of threads.
///
/// ```swift
/// let images = SerialScheduler(name: "images", priority: .low)
/// images.schedule { decode() }
/// let size = images.sync { cache.count }   // at once, on this thread, when the queue is idle
/// ```
///
/// 1. One action runs at a time. Its effects are visible to the next one, on any thread.
/// 2. A queue has no own thread, and an idle queue costs nothing. Make as many as you need.
/// 3. Submitted actions run even after the last reference to the scheduler is released. If the target is stopped, see
///    ``Schedulers/StopPolicy``.
/// 4. No queue starves another one on the same target. After a batch of actions the queue is appended to its target again.
public final class SerialScheduler: SchedulerTarget, @unchecked Sendable {
  // Unchecked, as its superclass is.
  private let queue: SerialCore
  private let base: SchedulerTarget?  // only retained: the target if it is in virtual time; otherwise nil
  private let suspensions = Atomic<Int>(0)  // calls of `suspend` without a `resume`; relaxed: it only counts

  /// Creates a queue on `target`, which it retains while it has work. Without a target, the queue runs on the shared
  /// pool.
  ///
  /// - Parameters:
  ///   - name: the value of ``name``, of any length.
  ///   - target: a thread, the main thread, another queue, the pool, or virtual time. The queue is serial on a
  ///     concurrent target too.
  ///   - priority: the priority among all work on the pool, for a queue on a pool. By default that of `target`, or
  ///     `.default`. A queue on another queue or a thread follows the order there, and this has no effect.
  public convenience init(
    name: String = "", target: SchedulerTarget? = nil, priority: SchedulerPriority? = nil
  ) {
    // replacement: the target in virtual time; nil outside of it
    let base: TargetCore, target = target ?? SharedPool.replacement
    if let target, priority == nil || !(target.core is PoolCore) {
      base = target.core
    } else {  // on a pool, each priority has its own core: that of the target's pool, or of the shared pool
      base = (target?.core as? PoolCore)?.sibling(priority ?? .default) ?? .shared(priority ?? .default)
    }
    // Queued actions must not retain a virtual-time scheduler, which drops them when it is released. So this object
    // retains it.
    let isVirtual = base.timeline != nil
    self.init(
      core: SerialCore(name: name, on: base, keeping: isVirtual ? nil : target), keeping: isVirtual ? target : nil)
  }

  init(core: SerialCore, keeping base: SchedulerTarget? = nil) {
    queue = core
    self.base = base
    super.init(core: core)
  }

  deinit {
    // Ends all suspensions, so that queued actions run. relaxed: no other thread uses this object any more
    for _ in 0..<suspensions.load(ordering: .relaxed) { csched_serial_resume(queue.serial) }
  }

  /// The scheduler's name.
  public var name: String { queue.name }

  // MARK: waiting

  /// Why the queue did not call a closure that a thread waits for.
  private enum Refusal {
    case deadlock, stopped

    var error: SchedulerError { self == .deadlock ? .deadlock : .stopped }

    var advice: String {
      switch self {
      case .deadlock:
        "the caller keeps the queue from going on, so the wait could never end. Call the closure directly, or schedule it."
      case .stopped:
        "the queue's target has been stopped, so it accepts no more work. Make another queue, or use trySync."
      }
    }
  }

  /// Calls `body` as an action of the queue, waits until it has returned, and returns its result or throws its error.
  ///
  /// If the queue is idle and its target is not another thread, `body` runs at once on the calling thread. On a pool,
  /// the wait needs no other thread: while this thread waits, it runs the actions before `body`, unless another thread
  /// runs them. The wait could never end if the caller is an action of this queue, or of a queue that waits for this
  /// queue: then the process stops with a message, and ``trySync(_:)`` throws. The same happens if the target has been
  /// stopped.
  ///
  /// - Parameter body: called once, as an action of the queue, on this thread or another one.
  // Inlinable, so that it is specialised in the caller's module: without that, the benchmark's row P3s took 247 ns.
  // Rejected: a C callback that runs the closure on the idle queue, because the closure must be wrapped (95 ns).
  @available(*, noasync, message: "it blocks a thread of Swift's own: use await perform")
  @inlinable
  public func sync<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
    var inside = InlineEntry()
    let result = withUnsafeMutablePointer(to: &inside) { inside in
      guard tryEnter(inside) else { return nil as Result<Value, Failure>? }  // busy, stopped, or on another thread
      defer { leave(inside) }
      do throws(Failure) { return .success(try body()) } catch { return .failure(error) }
    }
    return try (result ?? callInTurn(body)).get()  // nil: `body` was not called
  }

  /// The slow path of `sync`: waits until the queue has called `body`. If the queue refuses the call, stops the process
  /// with a message.
  @usableFromInline
  func callInTurn<Value, Failure: Error>(_ body: () throws(Failure) -> Value) -> Result<Value, Failure> {
    var result: Result<Value, Failure>?
    let refusal = perform {
      do throws(Failure) { result = .success(try body()) } catch { result = .failure(error) }
    }
    if let refusal { misuse("SerialScheduler.sync", of: name, refusal.advice) }
    return result!
  }

  /// Calls `body` as ``sync(_:)`` does, but throws where `sync` stops the process: ``SchedulerError/deadlock`` if the
  /// wait could never end, or ``SchedulerError/stopped`` if the target has been stopped. Rethrows the error of `body`.
  ///
  /// - Parameter body: called once, as an action of the queue, on this thread or another one. Not called if this
  ///   function throws an error of its own.
  @available(*, noasync, message: "it blocks a thread of Swift's own: use await perform")
  public func trySync<Value>(_ body: () throws -> Value) throws -> Value {
    var result: Result<Value, any Error>?
    let refusal = perform {
      do { result = .success(try body()) } catch { result = .failure(error) }
    }
    if let refusal { throw refusal.error }
    return try result!.get()
  }

  /// Stack storage (a `csched_target_inside`) for a thread that runs the idle queue itself.
  @usableFromInline
  struct InlineEntry {
    var words: (UInt, UInt, UInt, UInt, UInt, UInt) = (0, 0, 0, 0, 0, 0)  // target.h asserts the size
    @usableFromInline init() {}
  }

  /// If the queue is idle and may run on this thread, makes this thread its owner. Returns whether it did; each success
  /// needs one `leave`.
  @usableFromInline
  func tryEnter(_ entry: UnsafeMutablePointer<InlineEntry>) -> Bool {
    csched_serial_try_enter(
      queue.serial, UnsafeMutableRawPointer(entry).assumingMemoryBound(to: csched_target_inside.self))
  }

  /// Ends the ownership that `tryEnter` began. Actions submitted meanwhile may then run.
  @usableFromInline
  func leave(_ entry: UnsafeMutablePointer<InlineEntry>) {
    csched_serial_leave(queue.serial, UnsafeMutableRawPointer(entry).assumingMemoryBound(to: csched_target_inside.self))
  }

  /// Waits until the queue has called `body`. Returns nil, or why `body` was not called.
  private func perform(_ body: () -> Void) -> Refusal? {
    // Not escaping: csched_serial_sync calls the closure only before it returns. It returns 0, EDEADLK or ECANCELED.
    let code = withoutActuallyEscaping(body) { body in
      var call = body
      return withUnsafeMutablePointer(to: &call) { call in  // the C core calls the closure through this pointer
        csched_serial_sync(queue.serial, { $0!.assumingMemoryBound(to: (() -> Void).self).pointee() }, call)
      }
    }
    return code == 0 ? nil : csched_swift_is_deadlock_error_(code) ? .deadlock : .stopped
  }

  // MARK: suspending

  /// Prevents the queue from starting another action, until each ``suspend()`` is matched by a ``resume()``. A running
  /// action runs to its end.
  public func suspend() {
    suspensions.add(1, ordering: .relaxed)
    csched_serial_suspend(queue.serial)
  }

  /// Ends one ``suspend()``. Without a matching suspend it stops the process with a message.
  public func resume() {
    if suspensions.subtract(1, ordering: .relaxed).newValue < 0 {
      misuse("SerialScheduler.resume", of: name, "the queue is not suspended. Resume once for each suspend.")
    }
    csched_serial_resume(queue.serial)
  }

  /// Whether the caller runs in an action of this queue, or of a queue that targets it.
  public var isCurrent: Bool { csched_target_is_inside(core.target) }
}
