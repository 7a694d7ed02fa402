/// How a process has ended: see ``LoopScheduler/onExit(of:_:onDrop:)``.
public enum ProcessEnd: Hashable, Sendable {
  /// The process exited with this status.
  case exited(status: Int32)
  /// This signal ended the process.
  case terminated(signal: Int32)
  /// The process ended, but its status was not available: code that is not this library's reaped it (`waitpid`, an
  /// ignored `SIGCHLD`), or it is not a child.
  case reapedElsewhere
}

/// A change of a file or of a directory: see ``LoopScheduler/onChange(ofFileAt:kinds:_:onDrop:)``.
public struct FileChange: Hashable, Sendable {
  /// A set of changes.
  public struct Kinds: OptionSet, Hashable, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The contents changed.
    public static let modified = Kinds(rawValue: 1)
    /// The owner, times, permissions or links changed.
    public static let attributes = Kinds(rawValue: 2)
    /// The directory has a new entry.
    public static let created = Kinds(rawValue: 4)
    /// The directory lost an entry. Without a name: the file itself was deleted.
    public static let deleted = Kinds(rawValue: 8)
    /// The file itself was moved.
    public static let moved = Kinds(rawValue: 16)
    /// A writer of the file closed it.
    public static let written = Kinds(rawValue: 32)
    /// Always reported: the system's buffer of changes has overflowed. Read the file or directory again.
    public static let lost = Kinds(rawValue: 64)
    /// Always reported, last: the file was deleted or unmounted. The source or sequence has ended.
    public static let gone = Kinds(rawValue: 128)
    /// All changes that can be requested.
    public static let all: Kinds = [.modified, .attributes, .created, .deleted, .moved, .written]
  }

  /// The kinds of this change.
  public let kinds: Kinds
  /// The directory entry that changed, or `nil` for the path itself.
  public let name: String?
}
