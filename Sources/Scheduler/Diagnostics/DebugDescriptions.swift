internal import CScheduler

// The descriptions of schedulers that a debugger and `String(reflecting:)` show. Each is one line of text; its form may
// change with any version.

extension SchedulerTarget: CustomDebugStringConvertible {
  /// The scheduler's kind, name, target and state, the numbers of pending and delayed actions, and their thread: see
  /// ``Schedulers/dump(to:)``.
  public var debugDescription: String {
    // several schedulers share a pool's core, which has no name
    let name = (self as? ConcurrentScheduler)?.name ?? core.name
    let priority = (core as? PoolCore).map { ", priority \($0.priority)" } ?? ""
    return "\(type(of: self))\(name.isEmpty ? "" : " \"\(name)\"")\(priority): \(core.description)"
  }
}

extension SubscriptionScheduler: CustomDebugStringConvertible {
  public var debugDescription: String {
    "SubscriptionScheduler, in the background \(queue.read().map { String(reflecting: $0) } ?? "nothing yet")"
  }
}

extension ImmediateScheduler: CustomDebugStringConvertible {
  public var debugDescription: String { "ImmediateScheduler: runs each action on its caller's thread, at once" }
}

extension CurrentThreadScheduler: CustomDebugStringConvertible {
  /// Describes the queue of the calling thread.
  public var debugDescription: String {
    "CurrentThreadScheduler: \(Self.isScheduleRequired ? "runs nothing" : "runs an action") on this thread"
  }
}

extension TargetCore {
  /// The C core's description of the target, one line.
  fileprivate var description: String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 2_048) { line in  // a longer line is cut
      let length = csched_target_describe(target, line.baseAddress, line.count)
      return String(decoding: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(line)[..<length]), as: UTF8.self)
    }
  }
}
