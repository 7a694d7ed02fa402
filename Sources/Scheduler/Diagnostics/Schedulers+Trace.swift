internal import CScheduler

extension Schedulers {
  /// Traces to a file from now on: what was submitted where, when it ran, and on which thread. Perfetto (ui.perfetto.dev) and Chrome show it.
  ///
  /// ```swift
  /// try Schedulers.startTrace("/tmp/search.json")
  /// search()
  /// try Schedulers.stopTrace()
  /// ```
  ///
  /// The file has a track for each thread and each scheduler; a slice for each run, with the name of its closure; an arrow from each submission to its run; a
  /// counter of what waits on each scheduler; and an instant for each disposal, drop, wake, and long wait for a lock. What waits already is not in it.
  ///
  /// A program need not be changed: with `SCHEDULER_TRACE=FILE` in its environment it traces itself from its start to its exit; a `%p` in it stands for
  /// the number of the process.
  ///
  /// Who submits and runs never waits for the file: each thread has room for 16 384 events; what comes while that is full is left out, and counted in the file.
  /// In a child of `fork` the trace is off. Any thread.
  ///
  /// - Parameter path: the file's; it is made, or emptied, readable for its owner only.
  /// - Throws: ``SchedulerError/system(_:)`` with `EBUSY` when a trace is on, `ELOOP` for a link, `EPERM` for what is no plain file of this user's, and the system's others.
  public static func startTrace(_ path: String) throws(SchedulerError) {
    let error = csched_trace_begin(path)
    if error != 0 { throw SchedulerError.system(error) }
  }

  /// Ends the trace, and the file; what runs just now is in it as far as it has come. It does nothing when none is on. Any thread; it waits for the file.
  ///
  /// - Throws: ``SchedulerError/system(_:)`` with the system's error number of the first write that failed.
  public static func stopTrace() throws(SchedulerError) {
    let error = csched_trace_end()
    if error != 0 { throw SchedulerError.system(error) }
  }

  /// Writes what each thread has run last, the newest at the end, ten thousand runs in all: the closure's code and its scheduler's address. It is always
  /// recorded, and written behind each message that stops the process. Any thread; it blocks as the descriptor does.
  ///
  /// - Parameter descriptor: the file descriptor to write to; by default the standard error.
  /// - Returns: 0, or the system's error number of the first write that failed.
  @discardableResult
  public static func writeRecord(to descriptor: Int32 = 2) -> Int32 { csched_recorder_write(descriptor) }
}
