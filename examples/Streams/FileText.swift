// A file's text as a stream: see FileBytes.swift.
#if Combine
  public import OpenCombine
  public import SchedulerCombine

  /// Why a file's text cannot be had.
  public enum TextError: Error, Equatable {
    case file(FileError)
    /// There is something else than UTF-8 at, or soon behind, this byte of the file.
    case notUTF8(offset: Int)
    /// The line that begins at this byte is longer than was said.
    case tooLongLine(offset: Int)
  }

  /// The text of a file, in pieces. No character's encoding is cut in two, wherever the pieces of the file end.
  public struct FileText: Sequence, Sendable {
    private let bytes: FileBytes

    public init(path: String, pieceSize: Int = 65_536) { bytes = FileBytes(path: path, pieceSize: pieceSize) }

    public func makeIterator() -> Iterator { Iterator(bytes: bytes.makeIterator()) }

    /// Returns a publisher of the pieces: see ``FileBytes/publisher(on:)``.
    public func publisher(on scheduler: some SchedulerType) -> AnyPublisher<String, TextError> {
      publisher(on: scheduler.combine).tryMap { try $0.get() }.mapError { $0 as! TextError }.eraseToAnyPublisher()
    }

    public struct Iterator: IteratorProtocol {
      let bytes: FileBytes.Iterator
      private var rest: [UInt8] = []
      private var offset = 0
      private var isOver = false

      init(bytes: FileBytes.Iterator) { self.bytes = bytes }

      public mutating func next() -> Result<String, TextError>? {
        while !isOver {
          switch bytes.next() {
          case .failure(let error):
            isOver = true
            return .failure(.file(error))
          case .success(let piece):
            rest += piece
            if let text = take(rest.count - rest.lengthOfCutCharacter) { return text }
          case nil:
            isOver = true
            return take(rest.count)
          }
        }
        return nil
      }

      /// The text of the first `count` bytes; nil, where there are none.
      private mutating func take(_ count: Int) -> Result<String, TextError>? {
        guard count > 0 else { return nil }
        guard let text = String(validating: rest[..<count], as: UTF8.self) else {
          isOver = true
          return .failure(.notUTF8(offset: offset))
        }
        rest.removeFirst(count)
        offset += count
        return .success(text)
      }
    }
  }

  /// The lines of a file, without what ends them ("\n" or "\r\n"). A last line need not be ended.
  public struct FileLines: Sequence, Sendable {
    private let bytes: FileBytes
    private let longest: Int

    /// - Parameter longest: how many bytes a line may have: so much is kept in memory at the most, and a piece.
    public init(path: String, longest: Int = 1 << 20, pieceSize: Int = 65_536) {
      bytes = FileBytes(path: path, pieceSize: pieceSize)
      self.longest = longest
    }

    public func makeIterator() -> Iterator { Iterator(bytes: bytes.makeIterator(), longest: longest) }

    /// Returns a publisher of the lines: see ``FileBytes/publisher(on:)``.
    public func publisher(on scheduler: some SchedulerType) -> AnyPublisher<String, TextError> {
      publisher(on: scheduler.combine).tryMap { try $0.get() }.mapError { $0 as! TextError }.eraseToAnyPublisher()
    }

    public struct Iterator: IteratorProtocol {
      let bytes: FileBytes.Iterator
      let longest: Int
      /// The bytes from `start` on are the beginning of the next line; up to `searched` there is no end of it.
      private var buffer: [UInt8] = []
      private var start = 0
      private var searched = 0
      private var offset = 0
      private var isOver = false

      init(bytes: FileBytes.Iterator, longest: Int) { (self.bytes, self.longest) = (bytes, longest) }

      public mutating func next() -> Result<String, TextError>? {
        while !isOver {
          // A byte "\n" is never a part of another character's encoding.
          if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) { return line(to: end) }
          searched = buffer.count
          guard searched - start <= longest else { return fail(.tooLongLine(offset: offset)) }
          switch bytes.next() {
          case .failure(let error): return fail(.file(error))
          case .success(let piece):
            buffer.removeFirst(start)
            (start, searched) = (0, searched - start)
            buffer += piece
          case nil:
            isOver = true
            if start < buffer.count { return line(to: buffer.count) }
          }
        }
        return nil
      }

      private mutating func line(to end: Int) -> Result<String, TextError> {
        guard end - start <= longest else { return fail(.tooLongLine(offset: offset)) }
        let isCarried = end > start && end < buffer.count && buffer[end - 1] == UInt8(ascii: "\r")
        guard let line = String(validating: buffer[start..<(isCarried ? end - 1 : end)], as: UTF8.self) else {
          return fail(.notUTF8(offset: offset))
        }
        offset += end + 1 - start
        start = Swift.min(end + 1, buffer.count)
        searched = start
        return .success(line)
      }

      private mutating func fail(_ error: TextError) -> Result<String, TextError> {
        isOver = true
        return .failure(error)
      }
    }
  }

  extension [UInt8] {
    /// How many bytes at the end are the beginning of a character's encoding whose rest is missing: 0 to 3.
    fileprivate var lengthOfCutCharacter: Int {
      for length in 1...3 where length <= count {
        let byte = self[count - length]
        if byte & 0xC0 == 0x80 { continue }  // in the middle of one
        let whole = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1
        return whole > length ? length : 0
      }
      return 0
    }
  }
#endif
