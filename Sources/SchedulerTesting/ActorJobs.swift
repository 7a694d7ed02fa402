internal import Synchronization

/// Whose job is whose actor: the runtime keeps an actor's job in the actor itself, always at the same distance from its beginning.
enum ActorJobs {
  @globalActor private actor Sample {
    static let shared = Sample()
  }

  private static let isMeasuring = Atomic(false)
  private static let measured = Atomic(0)
  private static let measuredKind = Atomic<UInt8>(0)

  /// The distance, and what marks such jobs; 0 where the runtime does it in another way.
  private static let layout: (distance: UInt, kind: UInt8) = {
    isMeasuring.store(true, ordering: .relaxed)
    Task { @Sample in }  // its executor is given the actor's job in this call
    isMeasuring.store(false, ordering: .relaxed)
    return (UInt(measured.load(ordering: .relaxed)), measuredKind.load(ordering: .relaxed))
  }()

  /// Looks at a job that is on its way to an executor, while that is to be found out.
  static func measure(_ job: RoutedJob) {
    guard isMeasuring.load(ordering: .relaxed), job.task == nil else { return }
    let distance = Int(bitPattern: job.address) - Int(bitPattern: Unmanaged.passUnretained(Sample.shared).toOpaque())
    guard 0 < distance, distance < 512 else { return }  // another thread's actor
    measured.store(distance, ordering: .relaxed)
    measuredKind.store(job.kind, ordering: .relaxed)
  }

  /// Finds the layout out, once.
  static func prepare() { _ = layout }

  /// The actor whose job it is, which the executor's call keeps alive; nil where that cannot be told.
  static func actor(of job: RoutedJob) -> AnyObject? {
    guard layout.distance != 0, job.kind == layout.kind else { return nil }
    return UnsafeRawPointer(bitPattern: job.address - layout.distance).map {
      Unmanaged<AnyObject>.fromOpaque($0).takeUnretainedValue()
    }
  }
}
