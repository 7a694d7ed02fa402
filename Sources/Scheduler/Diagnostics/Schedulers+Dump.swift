internal import CScheduler

extension Schedulers {
  /// Writes the state of the library as text. The dump lists threads that have run work of this library, with their
  /// work and the object that they wait for. It lists loops, pools, virtual times, queues and limits with their pending
  /// work; contended locks with their owners; and the threads that wait for a condition, semaphore, latch, group or
  /// read-write lock.
  ///
  /// ```swift
  /// Schedulers.dump()   // why does my action not run?
  /// ```
  ///
  /// Work continues during the dump, so two lines may show different instants. The form may change with any version.
  /// The memory use is constant.
  /// Thread: any; it blocks as the descriptor does.
  ///
  /// - Parameter descriptor: the file descriptor to write to; by default the standard error.
  /// - Returns: 0, or the system's error number of the first write that failed.
  @discardableResult
  public static func dump(to descriptor: Int32 = 2) -> Int32 { csched_dump(descriptor) }

  /// Writes a dump at each `signal` from now on. The signal's handler writes a table of threads and loops at once, even
  /// if locks are held. A separate thread writes the whole dump within a second.
  ///
  /// ```swift
  /// try Schedulers.dump(onSignal: SIGUSR1)   // then: kill -USR1 PID
  /// ```
  ///
  /// This function replaces the previous handler of `signal`. A later call replaces the signal and the descriptor. In a
  /// child of `fork` only the table is written, until this function is called again there. Thread: any.
  ///
  /// - Parameters:
  ///   - signal: the signal's number. 0 ends the dumps: the previous handler is restored, and the thread ends.
  ///   - descriptor: the file descriptor to write to, which must stay open; by default the standard error.
  /// - Throws: ``SchedulerError/system(_:)`` with `EINVAL` if the number is not a signal that can be handled, `EAGAIN`
  ///   if no thread can be created.
  public static func dump(onSignal signal: Int32, to descriptor: Int32 = 2) throws(SchedulerError) {
    let error = csched_dump_on_signal(signal, descriptor)
    if error != 0 { throw SchedulerError.system(error) }
  }
}
