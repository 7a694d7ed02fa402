internal import CScheduler

extension Schedulers {
  /// Writes what there is, as text for people: threads that have run something here, what they run and wait for; loops, pools, virtual times, queues and limits
  /// with what is pending; locks that somebody sleeps for, with their owners; and who sleeps for a condition, semaphore, latch, group or read-write lock.
  ///
  /// ```swift
  /// Schedulers.dump()   // why does my action not run?
  /// ```
  ///
  /// All goes on while it is written, so two lines may be of two instants. Its form may change with any version. It takes a constant amount of
  /// memory, however much there is. Any thread; it blocks as the descriptor does.
  ///
  /// - Parameter descriptor: the file descriptor to write to; by default the standard error.
  /// - Returns: 0, or the system's error number of the first write that failed.
  @discardableResult
  public static func dump(to descriptor: Int32 = 2) -> Int32 { csched_dump(descriptor) }

  /// Has each such signal write a dump from now on: inside of the signal's handler a table of the threads and loops, at once, whatever is locked; and the whole
  /// within a second, from a thread of its own.
  ///
  /// ```swift
  /// try Schedulers.dump(onSignal: SIGUSR1)   // then: kill -USR1 PID
  /// ```
  ///
  /// It takes the place of what handled the signal before. A later call replaces signal and descriptor. In a child of `fork` the table only is written,
  /// until it is called again there. Any thread.
  ///
  /// - Parameters:
  ///   - signal: the signal's number; 0 ends it: the handler from before is back, and the thread is gone.
  ///   - descriptor: the file descriptor to write to, which stays open; by default the standard error.
  /// - Throws: ``SchedulerError/system(_:)`` with `EINVAL` for what is no signal that can be handled, `EAGAIN` when there is no thread to be had.
  public static func dump(onSignal signal: Int32, to descriptor: Int32 = 2) throws(SchedulerError) {
    let error = csched_dump_on_signal(signal, descriptor)
    if error != 0 { throw SchedulerError.system(error) }
  }
}
