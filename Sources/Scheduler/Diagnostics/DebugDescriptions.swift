internal import CScheduler

// What a debugger, and `String(reflecting:)`, say of a scheduler. Each is a line for people, whose form may change with any version.

extension SchedulerTarget: CustomDebugStringConvertible {
  /// What it is, its name, its target, its state, how much is pending and delayed, and which thread is inside of it: see ``Schedulers/dump(to:)``.
  public var debugDescription: String {
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
  /// It tells of the calling thread, whose queue it is.
  public var debugDescription: String {
    "CurrentThreadScheduler: \(Self.isScheduleRequired ? "runs nothing" : "runs an action") on this thread"
  }
}

extension TargetCore {
  /// The core's line about it.
  fileprivate var description: String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 2_048) { line in
      let length = csched_target_describe(target, line.baseAddress, line.count)
      return String(decoding: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(line)[..<length]), as: UTF8.self)
    }
  }
}
