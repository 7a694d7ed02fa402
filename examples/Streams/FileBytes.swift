// A file's bytes as a stream. The package's tests compile these files with the trait Combine; in a program of your own
// the condition goes.
#if Combine
  public import OpenCombine
  public import SchedulerCombine

  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// What the system said when a file was opened or read.
  public struct FileError: Error, Equatable, CustomStringConvertible {
    public let path: String
    /// `errno`.
    public let code: Int32

    public init(path: String, code: Int32) { (self.path, self.code) = (path, code) }

    public var description: String { "\(path): \(String(cString: strerror(code)))" }
  }

  /// The bytes of a file, in pieces, each read when it is asked for. The file is open as long as an iteration is.
  public struct FileBytes: Sequence, Sendable {
    let path: String
    let pieceSize: Int

    /// - Parameters:
    ///   - path: the file; opened by the first `next()`.
    ///   - pieceSize: how many bytes a piece has at the most.
    public init(path: String, pieceSize: Int = 65_536) {
      self.path = path
      self.pieceSize = Swift.max(1, pieceSize)
    }

    public func makeIterator() -> Iterator { Iterator(self) }

    /// Returns a publisher of the pieces, which opens and reads the file on `scheduler`: one piece in an action, and
    /// none that is not asked for (one is read ahead, to know the end). A cancellation closes the file.
    public func publisher(on scheduler: some SchedulerType) -> AnyPublisher<[UInt8], FileError> {
      publisher(on: scheduler.combine).tryMap { try $0.get() }.mapError { $0 as! FileError }.eraseToAnyPublisher()
    }

    public final class Iterator: IteratorProtocol {
      private let file: FileBytes
      private var descriptor: Int32 = -1
      private var isOver = false

      init(_ file: FileBytes) { self.file = file }

      deinit { if descriptor >= 0 { close(descriptor) } }

      /// Reads the next piece; after a failure there is none.
      public func next() -> Result<[UInt8], FileError>? {
        guard !isOver else { return nil }
        do throws(FileError) {
          // The scheduler knows that this blocks, and another thread takes the place of this one.
          let piece = try ConcurrentScheduler.withReplacementThread { () throws(FileError) in try read() }
          isOver = piece.isEmpty
          return isOver ? nil : .success(piece)
        } catch {
          isOver = true
          return .failure(error)
        }
      }

      private func read() throws(FileError) -> [UInt8] {
        if descriptor < 0 { descriptor = Int32(try check { open(file.path, O_RDONLY | O_CLOEXEC) }) }
        var piece = [UInt8](repeating: 0, count: file.pieceSize)
        let count = try check { [descriptor] in recv(descriptor, &piece, file.pieceSize) }
        piece.removeLast(piece.count - count)
        return piece
      }

      /// Calls the system until no signal has interrupted it.
      private func check<Answer: BinaryInteger>(_ call: () -> Answer) throws(FileError) -> Int {
        while true {
          let answer = call()
          if answer >= 0 { return Int(answer) }
          guard errno == EINTR else { throw FileError(path: file.path, code: errno) }
        }
      }
    }
  }

  /// `read` of the system, under a name that no method hides.
  private func recv(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer, _ count: Int) -> Int {
    read(descriptor, bytes, count)
  }
#endif
