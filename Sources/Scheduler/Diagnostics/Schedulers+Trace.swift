internal import CScheduler

extension Schedulers {
  /// Starts a trace to a file: where work was submitted, when it ran, and on which thread. Perfetto (ui.perfetto.dev)
  /// and Chrome show it.
  ///
  /// ```swift
  /// try Schedulers.startTrace("/tmp/search.json")
  /// search()
  /// try Schedulers.stopTrace()
  /// ```
  ///
  /// The file has a track for each thread and each scheduler, and a slice for each run of an action, with the name of
  /// its closure. An arrow leads from each submission to its run. A counter shows the waiting work of each scheduler.
  /// Instants mark each disposal, drop, wake, and long wait for a lock. Work that was submitted before the start is not
  /// in the file.
  ///
  /// To trace an unchanged program from start to exit, set `SCHEDULER_TRACE=FILE` in its environment. A `%p` in the
  /// name becomes the process number.
  ///
  /// Threads that submit and run work never wait for the file. Each thread has room for 16 384 events that are not
  /// written yet. Events that find no room are not written; the file says how many. In a child of `fork` the trace is
  /// off. Thread: any.
  ///
  /// - Parameter path: the path of the file, which is created or emptied, readable for its owner only.
  /// - Throws: ``SchedulerError/system(_:)`` with `EBUSY` if a trace is on, `ELOOP` for a link, `EPERM` if the path is
  ///   not a plain file of this user, or another error.
  public static func startTrace(_ path: String) throws(SchedulerError) {
    let error = csched_trace_begin(path)
    if error != 0 { throw SchedulerError.system(error) }
  }

  /// Ends the trace and completes the file. The slices of running work end now. Does nothing without a trace. Thread:
  /// any; it waits for the file.
  ///
  /// - Throws: ``SchedulerError/system(_:)`` with the system's error number of the first write that failed.
  public static func stopTrace() throws(SchedulerError) {
    let error = csched_trace_end()
    if error != 0 { throw SchedulerError.system(error) }
  }

  /// Starts to record events in memory, with their times: submissions, starts and ends, disposals, drops, wakes and
  /// waits. They are written by ``writeRecord(to:)``, by a watchdog without a closure, and with a message that stops
  /// the process.
  ///
  /// ```swift
  /// try Schedulers.startRecording()
  /// defer { Schedulers.stopRecording() }
  /// ```
  ///
  /// The record has the latest 1024 events of each thread. A report has the latest 2000 events, of 64 threads.
  /// Recording costs about 200 ns for each action, and 90 KB for each thread. With `SCHEDULER_RECORD=1` in its
  /// environment a program records from its start. Thread: any.
  ///
  /// - Throws: ``SchedulerError/system(_:)`` with `ENOMEM`.
  public static func startRecording() throws(SchedulerError) {
    let error = csched_events_begin()
    if error != 0 { throw SchedulerError.system(error) }
  }

  /// Ends ``startRecording()``. Thread: any.
  public static func stopRecording() { csched_events_end() }

  /// Writes the latest runs of each thread, the newest at the end, ten thousand runs in all: the closure's code and its
  /// scheduler's address. Runs are always recorded. After ``startRecording()``, the latest events follow. A message
  /// that stops the process includes the record. Thread: any;
  /// it blocks as the descriptor does.
  ///
  /// - Parameter descriptor: the file descriptor to write to; by default the standard error.
  /// - Returns: 0, or the system's error number of the first write that failed.
  @discardableResult
  public static func writeRecord(to descriptor: Int32 = 2) -> Int32 { csched_recorder_write(descriptor) }
}
