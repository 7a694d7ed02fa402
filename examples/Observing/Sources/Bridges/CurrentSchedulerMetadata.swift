import Logging
import Scheduler

extension Logger.MetadataProvider {
  /// Adds the name of the scheduler whose action logs, as `scheduler`; nothing outside of any.
  ///
  /// ```swift
  /// LoggingSystem.bootstrap(StreamLogHandler.standardError, metadataProvider: .currentScheduler)
  /// ```
  ///
  /// A handler asks for it on the thread that logs. An entry's own metadata of that key has precedence.
  public static let currentScheduler = Logger.MetadataProvider {
    Schedulers.nameOfCurrent.map { ["scheduler": .string($0)] } ?? [:]
  }
}
