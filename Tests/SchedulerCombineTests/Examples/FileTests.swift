#if Combine
  import Foundation
  import OpenCombine
  import SchedulerCombine
  import Streams
  import TestSupport
  import Testing

  /// A file that is there as long as this is.
  final class TemporaryFile: Sendable {
    let path: String

    init(_ bytes: [UInt8] = [], size: Int? = nil) throws {
      var name = Array((NSTemporaryDirectory() + "/streams-XXXXXX").utf8CString)
      let descriptor = mkstemp(&name)
      path = String(decoding: name.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
      let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
      try handle.write(contentsOf: bytes)
      if let size { try handle.truncate(atOffset: UInt64(size)) }
    }

    deinit { unlink(path) }

    /// How many descriptors of this process lead to it.
    var openCount: Int {
      let links = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
      let target = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
      return links.count {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == target
      }
    }
  }

  @Suite("Example: a file's bytes", .nothingIsLeft) struct FileBytesTests {
    @Test(
      "all bytes come, in order, in actions of the scheduler, whatever the pieces", arguments: [1, 7, 1_000, 65_536])
    func all(_ pieceSize: Int) throws {
      let bytes = (0..<3_000).map { UInt8(truncatingIfNeeded: $0 * 7) }, file = try TemporaryFile(bytes)
      let queue = SerialScheduler(name: "bytes"), elsewhere = Protected(0)
      let recorder = Recorder<[UInt8], FileError> { _, _ in
        if Schedulers.current !== queue { elsewhere.withLock { $0 += 1 } }
        return .none
      }
      FileBytes(path: file.path, pieceSize: pieceSize).publisher(on: queue).subscribe(recorder)
      #expect(eventually { recorder.hasEnded })
      #expect(recorder.values.flatMap { $0 } == bytes && recorder.ends == [.finished] && recorder.broken.isEmpty)
      #expect(recorder.values.allSatisfy { !$0.isEmpty && $0.count <= pieceSize } && elsewhere.read() == 0)
      #expect(eventually { file.openCount == 0 })
    }

    @Test("an empty file ends at once; a file that cannot be opened, or read, fails with the system's error")
    func failures()
      throws
    {
      let queue = SerialScheduler(name: "bytes"), empty = try TemporaryFile()
      for (path, code) in [(empty.path, nil), ("/no-such-file", ENOENT), ("/", EISDIR)] {
        let recorder = Recorder<[UInt8], FileError>()
        FileBytes(path: path).publisher(on: queue).subscribe(recorder)
        #expect(eventually { recorder.hasEnded })
        #expect(recorder.ends == [code.map { .failure(FileError(path: path, code: $0)) } ?? .finished])
        #expect(recorder.values == [] && recorder.broken.isEmpty)
      }
      #expect("\(FileError(path: "/no-such-file", code: ENOENT))" == "/no-such-file: No such file or directory")
    }

    @Test("no more is read than the demand, but for one piece, and a cancellation from inside closes the file")
    func demand() throws {
      let file = try TemporaryFile(size: 100_000), queue = SerialScheduler(name: "bytes"), isOpen = Protected(false)
      let recorder = Recorder<[UInt8], FileError>(.max(2)) { recorder, _ in
        if recorder.count.read() == 4 { recorder.cancel() }
        return .none
      }
      let read = Protected(0)
      FileBytes(path: file.path, pieceSize: 10).lazy.map { piece in
        read.withLock { $0 += 1 }
        return piece
      }
      .publisher(on: queue.combine).tryMap { try $0.get() }.mapError { $0 as! FileError }.subscribe(recorder)
      #expect(eventually { recorder.count.read() == 2 })
      queue.sync { isOpen.write(file.openCount == 1) }  // behind the action that looks ahead
      #expect(isOpen.read() && read.read() == 3)
      recorder.request(.unlimited)
      #expect(eventually { file.openCount == 0 })
      #expect(recorder.values.count == 5 && recorder.broken.isEmpty && !recorder.hasEnded)
    }

    @Test("eight readers that block do not keep the pool from other work") func blocking() throws {
      let pool = ConcurrentScheduler(name: "work"), pipe = try TemporaryFile(), ran = Protected(false)
      unlink(pipe.path)
      #expect(mkfifo(pipe.path, 0o600) == 0)  // an open for reading waits for a writer
      let recorders = (0..<8).map { _ in Recorder<[UInt8], FileError>() }
      for recorder in recorders {
        FileBytes(path: pipe.path).publisher(on: SerialScheduler(name: "reader")).subscribe(recorder)
      }
      pool.schedule { ran.write(true) }
      #expect(eventually { ran.read() } && recorders.allSatisfy { !$0.hasEnded })
      let writer = open(pipe.path, O_RDWR)
      #expect(eventually { pipe.openCount == 9 })
      close(writer)
      #expect(eventually { recorders.allSatisfy { $0.ends == [.finished] } })
    }

    @Test("two gigabytes are read in flat memory, at the speed of the demand") func sparse() async throws {
      await #expect(processExitsWith: .success) {
        let isMeasured = Scale.sanitizer == .none
        let size = isMeasured ? 2 << 30 : 32 << 20, file = try TemporaryFile(size: size)
        let queue = SerialScheduler(name: "bytes"), slow = SerialScheduler(name: "slow")
        let before = System.residentBytes, most = Protected(0), total = Protected(0)
        let recorder = Recorder<[UInt8], FileError>(.max(2), keeps: false) { _, piece in
          total.withLock { $0 += piece.count }
          most.withLock { $0 = max($0, System.residentBytes) }
          return .max(1)
        }
        // Delivered on another queue, which is slower than the reader: the reader waits for demand.
        FileBytes(path: file.path, pieceSize: 1 << 18).publisher(on: queue).receive(on: slow.combine).subscribe(
          recorder)
        precondition(eventually { recorder.hasEnded }, "it has not ended")
        precondition(total.read() == size, "\(total.read()) bytes have come")
        precondition(!isMeasured || most.read() - before < 20 << 20, "\(most.read() - before) bytes more are in memory")
      }
    }
  }

  @Suite("Example: a file's text", .nothingIsLeft) struct FileTextTests {
    static let text = "aé€😀\n\r\n\u{FEFF}ß𝄞\nlast\r"

    @Test("characters are whole wherever the pieces end", arguments: 1...12) func pieces(_ pieceSize: Int) throws {
      let file = try TemporaryFile(Array(Self.text.utf8)), queue = SerialScheduler(name: "text")
      let pieces = Recorder<String, TextError>(), lines = Recorder<String, TextError>(.max(1)) { _, _ in .max(1) }
      FileText(path: file.path, pieceSize: pieceSize).publisher(on: queue).subscribe(pieces)
      FileLines(path: file.path, pieceSize: pieceSize).publisher(on: queue).subscribe(lines)
      #expect(eventually { pieces.hasEnded && lines.hasEnded })
      #expect(pieces.values.map { Array($0.utf8) }.flatMap { $0 } == Array(Self.text.utf8))
      #expect(pieces.values.allSatisfy { !$0.isEmpty && !$0.unicodeScalars.contains("\u{FFFD}") })
      #expect(lines.values == ["aé€😀", "", "\u{FEFF}ß𝄞", "last\r"])
      #expect(pieces.ends == [.finished] && lines.ends == [.finished] && pieces.broken.isEmpty && lines.broken.isEmpty)
    }

    @Test(
      "lines end as they are to, with and without a last end",
      arguments: [
        ("", []), ("\n", [""]), ("a", ["a"]), ("a\n", ["a"]), ("a\n\n", ["a", ""]), ("\r\na\r\nb", ["", "a", "b"]),
      ]) func lines(_ text: String, _ expected: [String]) throws
    {
      let file = try TemporaryFile(Array(text.utf8)), queue = SerialScheduler(name: "text")
      for pieceSize in [1, 2, 100] {
        let recorder = Recorder<String, TextError>()
        FileLines(path: file.path, pieceSize: pieceSize).publisher(on: queue).subscribe(recorder)
        #expect(eventually { recorder.hasEnded })
        #expect(recorder.values == expected && recorder.ends == [.finished])
      }
    }

    @Test("invalid UTF-8, cut at the end, too, and a line that is too long, fail behind the valid text")
    func failures() throws {
      let queue = SerialScheduler(name: "text")
      for bytes in [
        [0x61, 0x0A, 0x62, 0xFF, 0x63], [0x61, 0x0A, 0xC3], [0x61, 0x0A, 0xF0, 0x9F, 0x98],
        [0x61, 0x0A, 0xED, 0xA0, 0x80],
      ] {
        let file = try TemporaryFile(bytes.map { UInt8($0) })
        for pieceSize in 1...6 {
          let text = Recorder<String, TextError>(), lines = Recorder<String, TextError>()
          FileText(path: file.path, pieceSize: pieceSize).publisher(on: queue).subscribe(text)
          FileLines(path: file.path, pieceSize: pieceSize).publisher(on: queue).subscribe(lines)
          #expect(eventually { text.hasEnded && lines.hasEnded })
          #expect(lines.values == ["a"] && lines.ends == [.failure(.notUTF8(offset: 2))])
          guard case .failure(.notUTF8(let offset)) = text.ends[0] else { Issue.record("\(text.ends)"); continue }
          #expect(offset == text.values.joined().utf8.count && offset <= 3)
        }
      }
      let file = try TemporaryFile(Array("abc\nabcd\n".utf8)), lines = Recorder<String, TextError>()
      FileLines(path: file.path, longest: 3, pieceSize: 2).publisher(on: queue).subscribe(lines)
      let missing = Recorder<String, TextError>()
      FileText(path: "/no-such-file").publisher(on: queue).subscribe(missing)
      #expect(eventually { lines.hasEnded && missing.hasEnded })
      #expect(lines.values == ["abc"] && lines.ends == [.failure(.tooLongLine(offset: 4))])
      #expect(missing.ends == [.failure(.file(FileError(path: "/no-such-file", code: ENOENT)))])
    }

    @Test("a line without end fails in flat memory, and text without lines does not") func endless() async {
      await #expect(processExitsWith: .success) {
        let isMeasured = Scale.sanitizer == .none, size = isMeasured ? 256 << 20 : 8 << 20,
          file = try TemporaryFile(size: size)
        let queue = SerialScheduler(name: "text"), before = System.residentBytes, most = Protected(0),
          total = Protected(0)
        let text = Recorder<String, TextError>(.max(1), keeps: false) { _, piece in
          total.withLock { $0 += piece.utf8.count }
          most.withLock { $0 = max($0, System.residentBytes) }
          return .max(1)
        }
        let lines = Recorder<String, TextError>()
        FileText(path: file.path, pieceSize: 1 << 18).publisher(on: queue).subscribe(text)
        FileLines(path: file.path).publisher(on: queue).subscribe(lines)
        precondition(eventually { text.hasEnded && lines.hasEnded }, "it has not ended")
        precondition(total.read() == size && lines.ends == [.failure(.tooLongLine(offset: 0))])
        precondition(!isMeasured || most.read() - before < 20 << 20, "\(most.read() - before) bytes more are in memory")
      }
    }

    @Test("many lines, one at a time") func many() throws {
      let count = manyValues / 5, queue = SerialScheduler(name: "million"), sum = Sum()
      let file = try TemporaryFile((0..<count).flatMap { Array("\($0)\n".utf8) })
      let recorder = Recorder<String, TextError>(.max(1), keeps: false) { _, line in
        sum.value += Int(line) ?? 0
        return .max(1)
      }
      FileLines(path: file.path).publisher(on: queue).subscribe(recorder)
      #expect(eventually { recorder.hasEnded })
      #expect(sum.value == count * (count - 1) / 2 && recorder.broken.isEmpty)
    }
  }
#endif
