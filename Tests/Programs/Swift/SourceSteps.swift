import Foundation
import Grammar
import Scheduler

// Steps with sources of a thread: descriptors, signals, processes.
extension World {
  /// Watches one end of a pair of sockets, and ends that. The other end must see this, whatever the thread does
  /// meanwhile.
  func watchSocket(_ number: Int32) {
    let own = step(number), thread = place(own.node).thread!, calls = Counter()
    var ends: [Int32] = [-1, -1]
    require(
      socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0,
      "step \(number): no sockets")
    let end = ends[0], other = ends[1]
    let sources = [
      thread.onReadable(end) {
        var byte: UInt8 = 0
        _ = recv(end, &byte, 1, Int32(MSG_DONTWAIT))
        calls.change(by: 1)
      },
      thread.onWritable(end) { calls.change(by: 1) },
    ]
    var byte: UInt8 = 7
    require(send(other, &byte, 1, Int32(MSG_NOSIGNAL)) == 1, "step \(number): no byte")
    let isSeen = CountingSemaphore(), busy = OtherAction(in: self)
    thread.schedule {
      isSeen.wait()  // keeps the thread busy
      busy.run()
    } onDrop: { _ in
    }
    if own.amount % 5 < 3 { usleep(UInt32(own.amount)) }
    if own.amount % 3 == 0 {  // as a daemon that gives its standard streams up
      let null = open("/dev/null", O_RDWR)
      require(dup2(null, end) == end, "step \(number): no /dev/null")
      close(null)
    }
    for source in own.amount % 2 == 0 ? sources : sources.reversed() { source.dispose() }
    close(end)
    var state = pollfd(fd: other, events: Int16(POLLIN), revents: 0)
    var found: Int32
    repeat { found = poll(&state, 1, 5_000) } while found < 0 && errno == EINTR  // by the signal of another step
    isSeen.signal()
    require(found == 1, "step \(number): the socket stays open")
    close(other)
  }

  /// Watches a signal of the step's own, and sends it.
  func watchSignal(_ number: Int32) {
    let own = step(number), signal = __libc_current_sigrtmin() + number, action = OtherAction(in: self)
    if signal > __libc_current_sigrtmax() { return }
    let token = Protected<(any Disposable)?>(nil)
    let source = place(own.node).thread!.onSignal(signal) { count in
      require(count >= 1, "step \(number): \(count) signals")
      token.exchange(nil)?.dispose()  // before the program can end, and stop the thread
      action.run()
    } onDrop: { error in
      require(false, "step \(number): a signal's source ends: \(error)")
    }
    token.write(source)
    kill(getpid(), signal)
  }

  /// Starts a process, which ends by a signal or by itself, and watches it twice: the second time when its end is
  /// known.
  func watchProcess(_ number: Int32) {
    let own = step(number), thread = place(own.node).thread!, isKilled = own.amount % 2 == 0,
      action = OtherAction(in: self)
    var process: pid_t = 0
    let line: [String] = ["sh", "-c", isKilled ? "kill -TERM $$; sleep 5" : "exit 3"]
    var words: [UnsafeMutablePointer<CChar>?] = line.map { strdup($0) } + [nil]
    require(posix_spawn(&process, "/bin/sh", nil, nil, &words, nil) == 0, "step \(number): no process")
    for word in words { free(word) }
    let started = process
    @Sendable func watch(isAgain: Bool) {
      _ = thread.onExit(of: started) { end in
        require(
          end == (isKilled ? .terminated(signal: 15) : .exited(status: 3)),
          "step \(number): the process has ended by \(end)")
        if isAgain { action.run() } else { watch(isAgain: true) }
      } onDrop: { [self] error in
        require(mayBeRefused(own.node), "step \(number): the source of a process ends: \(error)")
      }
    }
    watch(isAgain: false)
  }
}
