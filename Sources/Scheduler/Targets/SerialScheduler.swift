internal import CScheduler
internal import Synchronization

/// Runs its actions one after the other, in the order of their submission, on its target: by default a pool of threads that
/// all share.
///
/// ```swift
/// let images = SerialScheduler(name: "images", priority: .low)
/// images.schedule { decode() }
/// let size = images.sync { cache.count }   // at once, on this thread, when the queue is idle
/// ```
///
/// 1. One action at a time; what one did is visible to the next, on whichever thread that runs.
/// 2. Without work it costs nothing, and it has no thread of its own: make as many as you like.
/// 3. What has been submitted runs, also when the last reference to the scheduler is gone; but see ``Schedulers/StopPolicy`` if its target is stopped.
/// 4. No queue starves another one on the same target: after 64 actions it lines up again.
public final class SerialScheduler: SchedulerTarget, @unchecked Sendable {
  // Unchecked, as its superclass is.
  private let queue: SerialCore
  private let base: SchedulerTarget?
  private let suspensions = Atomic<Int>(0)

  /// Makes a queue on `target`, which stays as long as the queue has work; without one, on the pool that everybody shares.
  ///
  /// - Parameters:
  ///   - name: for ``name``, any length.
  ///   - target: a thread, the main thread, another queue, the pool, virtual time. A concurrent target's order stays serial here.
  ///   - priority: among all that is on the pool, for a queue on one; without one, that of `target`, or the default. On a
  ///     queue or a thread it is the order there that counts, and this changes nothing.
  public convenience init(
    name: String = "", target: SchedulerTarget? = nil, priority: SchedulerPriority? = nil
  ) {
    let base: TargetCore
    if let target, priority == nil || !(target.core is PoolCore) {
      base = target.core
    } else {
      base = (target?.core as? PoolCore)?.sibling(priority ?? .default) ?? .shared(priority ?? .default)
    }
    // What waits in virtual time must not keep that.
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
    for _ in 0..<suspensions.load(ordering: .relaxed) { csched_serial_resume(queue.serial) }  // what it has still runs
  }

  /// What it was called.
  public var name: String { queue.name }

  // MARK: waiting

  /// Why a closure could not be called.
  private enum Refusal {
    case deadlock, stopped

    var error: SchedulerError { self == .deadlock ? .deadlock : .stopped }

    var advice: String {
      switch self {
      case .deadlock:
        "the caller keeps the queue from going on, so the wait could never end. Call the closure directly, or schedule it."
      case .stopped:
        "the queue's target has been stopped, so it takes no more. Make another queue, or use trySync."
      }
    }
  }

  /// Calls `body` as an action of the queue, waits until it has returned, and returns its result or throws its error.
  ///
  /// On the calling thread, at once, when the queue is idle and its target is not another thread. When the wait could never end (the
  /// caller is an action of this queue, or of one that waits for it) that stops the process with a message; ``trySync(_:)`` throws.
  ///
  /// - Parameter body: called once, as an action of the queue, on this thread or another one.
  // Made for its types where it is called: the benchmark's row P3s took 247 ns without, and 95 ns when the idle queue was run by a
  // call back from C, for which a closure has to be wrapped.
  @available(*, noasync, message: "it blocks a thread of Swift's own: use await perform")
  @inlinable
  public func sync<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
    var inside = InlineEntry()
    let result = withUnsafeMutablePointer(to: &inside) { inside in
      guard tryEnter(inside) else { return nil as Result<Value, Failure>? }
      defer { leave(inside) }
      do throws(Failure) { return .success(try body()) } catch { return .failure(error) }
    }
    return try (result ?? inLine(body)).get()
  }

  @usableFromInline
  func inLine<Value, Failure: Error>(_ body: () throws(Failure) -> Value) -> Result<Value, Failure> {
    var result: Result<Value, Failure>?
    let refusal = perform {
      do throws(Failure) { result = .success(try body()) } catch { result = .failure(error) }
    }
    if let refusal { misuse("SerialScheduler.sync", of: name, refusal.advice) }
    return result!
  }

  /// The same, but throws when the closure cannot be called: ``SchedulerError/deadlock``, or ``SchedulerError/stopped`` when the target has been stopped.
  ///
  /// - Parameter body: called once, as an action of the queue, on this thread or another one; not at all, where this throws an error of its own.
  @available(*, noasync, message: "it blocks a thread of Swift's own: use await perform")
  public func trySync<Value>(_ body: () throws -> Value) throws -> Value {
    var result: Result<Value, any Error>?
    let refusal = perform {
      do { result = .success(try body()) } catch { result = .failure(error) }
    }
    if let refusal { throw refusal.error }
    return try result!.get()
  }

  /// Room for what is on the stack of a thread that runs the idle queue itself.
  @usableFromInline
  struct InlineEntry {
    var words: (UInt, UInt, UInt, UInt, UInt, UInt) = (0, 0, 0, 0, 0, 0)  // target.h asserts that it is as large
    @usableFromInline init() {}
  }

  @usableFromInline
  func tryEnter(_ entry: UnsafeMutablePointer<InlineEntry>) -> Bool {
    csched_serial_try_enter(
      queue.serial, UnsafeMutableRawPointer(entry).assumingMemoryBound(to: csched_target_inside.self))
  }

  @usableFromInline
  func leave(_ entry: UnsafeMutablePointer<InlineEntry>) {
    csched_serial_leave(queue.serial, UnsafeMutableRawPointer(entry).assumingMemoryBound(to: csched_target_inside.self))
  }

  private func perform(_ body: () -> Void) -> Refusal? {
    let code = withoutActuallyEscaping(body) { body in
      var call = body
      return withUnsafeMutablePointer(to: &call) { call in
        csched_serial_sync(queue.serial, { $0!.assumingMemoryBound(to: (() -> Void).self).pointee() }, call)
      }
    }
    return code == 0 ? nil : csched_swift_is_deadlock_(code) ? .deadlock : .stopped
  }

  // MARK: suspending

  /// Keeps the queue from beginning another action, until as many calls of ``resume()``. One that has begun runs to its end.
  public func suspend() {
    suspensions.add(1, ordering: .relaxed)
    csched_serial_suspend(queue.serial)
  }

  /// Takes one ``suspend()`` back. Without one it stops the process with a message.
  public func resume() {
    if suspensions.subtract(1, ordering: .relaxed).newValue < 0 {
      misuse("SerialScheduler.resume", of: name, "the queue is not suspended. Resume once for each suspend.")
    }
    csched_serial_resume(queue.serial)
  }

  /// Whether the caller is an action of this queue, or of a queue on it.
  public var isCurrent: Bool { csched_target_is_inside(core.target) }
}
