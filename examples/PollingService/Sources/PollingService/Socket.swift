import Scheduler

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Why a request has no answer.
enum RequestError: Error, Hashable {
  case refused, timedOut, cancelled, busy
  /// The other side has hung up before its time.
  case endedEarly
  /// Another error of the system's, by its number.
  case system(Int32)
}

/// A TCP socket on the loopback interface. Its calls block until another thread hangs up. The release of the last
/// reference closes it, so a thread that hangs up never uses a descriptor that was reused.
final class Socket: Sendable {
  private let descriptor: Int32
  private let hungUp = Protected(false)

  init() throws {
    #if canImport(Glibc)
      descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    if descriptor < 0 { throw RequestError.system(errno) }
  }

  private init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// Ends what is blocked on it, now and later.
  func hangUp() {
    hungUp.write(true)
    shutdown(descriptor, Int32(SHUT_RDWR))
  }

  var isHungUp: Bool { hungUp.read() }

  /// Listens on a port that the system chooses, and returns that.
  func listen() throws -> UInt16 {
    try Self.withAddress(port: 0) { try check(bind(descriptor, $0, $1)) }
    var address = sockaddr_in(), size = socklen_t(MemoryLayout<sockaddr_in>.size)
    _ = try withUnsafeMutableBytes(of: &address) {
      try check(getsockname(descriptor, $0.baseAddress!.assumingMemoryBound(to: sockaddr.self), &size))
    }
    #if canImport(Glibc)
      try check(Glibc.listen(descriptor, 1_024))
    #else
      try check(Darwin.listen(descriptor, 1_024))
    #endif
    return UInt16(bigEndian: address.sin_port)
  }

  /// Waits for the next connection.
  func accept() throws -> Socket {
    #if canImport(Glibc)
      Socket(try check(Glibc.accept(descriptor, nil, nil)))
    #else
      Socket(try check(Darwin.accept(descriptor, nil, nil)))
    #endif
  }

  func connect(to port: UInt16) throws {
    try Self.withAddress(port: port) { address, size in
      #if canImport(Glibc)
        try check(Glibc.connect(descriptor, address, size))
      #else
        try check(Darwin.connect(descriptor, address, size))
      #endif
    }
    if isHungUp { throw RequestError.endedEarly }  // hung up before there was a connection to end
  }

  func send(_ text: String) throws {
    var text = text[...]
    try text.withUTF8 { bytes in
      var sent = 0
      while sent < bytes.count {
        sent += Int(try check(Int32(write(descriptor, bytes.baseAddress! + sent, bytes.count - sent))))
      }
    }
  }

  /// Reads until `end`, or until the other side ends.
  func receive(until end: String? = nil) throws -> String {
    var received: [UInt8] = [], buffer = [UInt8](repeating: 0, count: 4_096)
    while true {
      let count = Int(try check(Int32(read(descriptor, &buffer, buffer.count))))
      received += buffer.prefix(count)
      let text = String(decoding: received, as: UTF8.self)
      if count == 0 || end.map(text.hasSuffix) == true { return text }
    }
  }

  @discardableResult
  private func check(_ result: Int32) throws -> Int32 {
    if result >= 0 { return result }
    throw errno == ECONNREFUSED ? RequestError.refused : .system(errno)
  }

  private static func withAddress(port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) throws -> Void) throws {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
    try withUnsafeBytes(of: &address) {
      try body($0.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(MemoryLayout<sockaddr_in>.size))
    }
  }
}
