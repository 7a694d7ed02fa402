import Logging
import Scheduler

extension Logger {
  /// Logs what goes wrong on any scheduler from now on, until what is returned is disposed: what takes longer than
  /// `duration`, what is dropped, and jobs of tasks that come after their thread has ended.
  ///
  /// ```swift
  /// let log = try Logger(label: "schedulers").logSchedulers(longerThan: .milliseconds(250))
  /// ```
  ///
  /// - Throws: `SchedulerError` when the watchdog cannot be started.
  public func logSchedulers(longerThan duration: Duration) throws(SchedulerError) -> any Disposable {
    CompositeDisposable(try logWatch(longerThan: duration), logDrops(), logLateJobs())
  }

  /// Logs each action that runs for longer than `duration`, each scheduler whose next action has waited for longer, and
  /// each wait that blocks a thread for longer: `Schedulers.watch(longerThan:_:)`.
  ///
  /// An action that runs or waits too long is a warning; a wait may be what the program wants, so it is a notice. There
  /// is one watchdog in a process: a later call takes the place of this one, and any disposal ends it. Once disposed,
  /// nothing is logged any more.
  public func logWatch(longerThan duration: Duration) throws(SchedulerError) -> any Disposable {
    try Schedulers.watch(longerThan: duration) { report in
      log(level: report.kind.level, report.kind.message, metadata: report.metadata)
    }
    return AnyDisposable { Schedulers.stopWatching() }
  }

  /// Logs each action that is dropped: `Schedulers.onDrop(_:)`. One that was refused is an error, because its author
  /// expects it to run; one that a stop dropped is a notice, because the stop asked for it.
  public func logDrops() -> any Disposable {
    Schedulers.onDrop { scheduler, reason in
      var metadata: Logger.Metadata = ["reason": reason == .refused ? "refused" : "stopped"]
      if let scheduler { metadata["scheduler"] = "\(Schedulers.name(of: scheduler))" }
      log(level: reason == .refused ? .error : .notice, "an action was dropped", metadata: metadata)
    }
  }

  /// Logs each job of a task that comes to a thread's scheduler when the thread has ended, and so runs on another
  /// thread: `Schedulers.onLateJob(_:)`. A warning.
  public func logLateJobs() -> any Disposable {
    Schedulers.onLateJob { scheduler in
      warning("a task goes on after the end of its thread", metadata: ["scheduler": "\(scheduler.name)"])
    }
  }
}

extension WatchReport {
  /// What a program can filter and sort by. Durations are in milliseconds.
  fileprivate var metadata: Logger.Metadata {
    var metadata: Logger.Metadata = [
      "kind": "\(kind)", "duration_ms": "\(duration / .milliseconds(1))", "subject": "\(subject)",
    ]
    if kind != .waiting { metadata["thread"] = "\(thread)" }
    if kind == .running { metadata["code"] = "\(code)" }
    if kind == .running || kind == .waiting { metadata["depth"] = "\(depth)" }
    if kind == .deadlock { metadata["details"] = "\(details)" }
    return metadata
  }
}

extension WatchReport.Kind {
  fileprivate var level: Logger.Level {
    switch self {
    case .blocked: .notice
    case .running, .waiting: .warning
    case .deadlock: .error
    }
  }

  fileprivate var message: Logger.Message {
    switch self {
    case .running: "an action runs for too long"
    case .waiting: "the next action has waited for too long"
    case .blocked: "a thread is blocked"
    case .deadlock: "threads wait for each other"
    }
  }
}
