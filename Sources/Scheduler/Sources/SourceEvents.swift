/// How a process has ended: ``LoopScheduler/onExit(of:_:onDrop:)``.
public enum ProcessEnd: Hashable, Sendable {
  /// It has returned this status.
  case exited(status: Int32)
  /// This signal has ended it.
  case terminated(signal: Int32)
  /// It has ended, and somebody else was told how (`waitpid`, an ignored `SIGCHLD`), or it is no child of this process.
  case reapedElsewhere
}

/// A change of a file or of a directory: ``LoopScheduler/onChange(ofFileAt:kinds:_:onDrop:)``.
public struct FileChange: Hashable, Sendable {
  /// What has become of it.
  public struct Kinds: OptionSet, Hashable, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Its contents are others.
    public static let modified = Kinds(rawValue: 1)
    /// Its owner, times, permissions or links are others.
    public static let attributes = Kinds(rawValue: 2)
    /// The directory has a new entry.
    public static let created = Kinds(rawValue: 4)
    /// The directory has an entry less; without a name: the file itself is gone.
    public static let deleted = Kinds(rawValue: 8)
    /// The file itself was moved.
    public static let moved = Kinds(rawValue: 16)
    /// Somebody who had it open to write has closed it.
    public static let written = Kinds(rawValue: 32)
    /// Told in any case: there were more changes than the system keeps. Look anew.
    public static let lost = Kinds(rawValue: 64)
    /// Told in any case: nothing more will come, because the file is gone, or was unmounted.
    public static let gone = Kinds(rawValue: 128)
    /// All that can be asked for.
    public static let all: Kinds = [.modified, .attributes, .created, .deleted, .moved, .written]
  }

  /// What has become of it.
  public let kinds: Kinds
  /// The entry of the directory that it is about; `nil`: the path itself.
  public let name: String?
}
