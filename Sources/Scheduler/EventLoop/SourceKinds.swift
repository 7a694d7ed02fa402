internal import CScheduler

// Each subclass owns a C source, which its `init` initialises and `begin()` adds to the loop. LoopSource.swift has the contracts of the overrides.

extension LoopSource {
  /// Returns the Swift object to which the `context` of a C source points. `context` does not retain the object: the loop's reference
  /// does, from the addition of the C source to its removal (LS3).
  fileprivate static func from(_ context: UnsafeMutableRawPointer) -> Self {
    Unmanaged<Self>.fromOpaque(context).takeUnretainedValue()
  }
}

/// A source that waits for a descriptor.
final class DescriptorSource: LoopSource<Void>, @unchecked Sendable {
  // Unchecked, because of `source`. Only the loop's thread uses it; `unregister` alone may use it on another thread.
  private let source = UnsafeMutablePointer<csched_fd_source>.allocate(capacity: 1)
  // descriptor: the caller's, even if the C source waits for a copy of it. events: what to wait for
  private let descriptor: Int32, events: csched_fd_events

  init(
    _ descriptor: Int32, _ events: csched_fd_events, on scheduler: SchedulerTarget, onDrop: OnDrop?,
    _ handler: @escaping Handler
  ) {
    self.descriptor = descriptor
    self.events = events
    super.init(on: scheduler, onDrop: onDrop, handler)
    csched_fd_source_init(
      source, descriptor, events.rawValue, { source, _ in DescriptorSource.from(source!.pointee.context).tell(()) },
      Unmanaged.passUnretained(self).toOpaque())
    source.pointee.dropped = { source, error in  // the loop was closed, or the descriptor was
      let ended = DescriptorSource.from(source!.pointee.context)
      csched_swift_close_fd_copy_(source, ended.descriptor)  // closes its copy, if it has one: `remove` is not called
      ended.handleRemovalByCore(error)
    }
  }

  deinit { source.deallocate() }

  // If another source of the loop waits for the descriptor, the C source gets a copy of it. `remove` closes the copy, or `dropped` if the loop ends
  // the source.
  override func add(to loop: OpaquePointer) -> Int32 { csched_swift_add_fd_(loop, source) }

  // On any thread: the system reports no more events. `remove` follows on the loop's thread.
  override func unregister(in loop: OpaquePointer) { csched_loop_unregister_fd_(loop, source) }

  override func remove(from loop: OpaquePointer) { csched_swift_remove_fd_(loop, source, descriptor) }
}

/// A source that waits for a signal.
final class SignalSource: LoopSource<Int>, @unchecked Sendable {
  // Unchecked, because of `source`. Only the loop's thread uses it; `unregister` alone may use it on another thread.
  private let source = UnsafeMutablePointer<csched_signal_source>.allocate(capacity: 1)
  private let signal: Int32

  init(_ signal: Int32, on scheduler: SchedulerTarget, onDrop: OnDrop?, _ handler: @escaping Handler) {
    self.signal = signal
    super.init(on: scheduler, onDrop: onDrop, handler)
    csched_signal_source_init(
      source, signal, { source, count in SignalSource.from(source!.pointee.context).tell(Int(count)) },
      Unmanaged.passUnretained(self).toOpaque())
    source.pointee.dropped = { source, error in SignalSource.from(source!.pointee.context).handleRemovalByCore(error) }
  }

  deinit { source.deallocate() }

  override func add(to loop: OpaquePointer) -> Int32 { csched_loop_add_signal(loop, source) }

  override func unregister(in loop: OpaquePointer) { csched_loop_unregister_signal_(loop, source) }

  override func remove(from loop: OpaquePointer) { csched_loop_remove_signal(loop, source) }
}

/// A source that waits for the end of a process.
final class ChildSource: LoopSource<ProcessEnd>, @unchecked Sendable {
  // Unchecked, because of `source`. Only the loop's thread uses it; `unregister` alone may use it on another thread.
  private let source = UnsafeMutablePointer<csched_child_source>.allocate(capacity: 1)
  private let process: Int32

  init(_ process: Int32, on scheduler: SchedulerTarget, onDrop: OnDrop?, _ handler: @escaping Handler) {
    self.process = process
    super.init(on: scheduler, onDrop: onDrop, handler)
    csched_child_source_init(
      source, process,
      { source, end, status in  // status: the exit status, or the signal's number
        let ended = ChildSource.from(source!.pointee.context)
        switch end {
        case CSCHED_CHILD_EXITED: ended.tell(.exited(status: status))
        case CSCHED_CHILD_SIGNALED: ended.tell(.terminated(signal: status))
        default: ended.tell(.reapedElsewhere)
        }
        ended.handleRemovalByCore(nil)  // the C core has already removed the source
      }, Unmanaged.passUnretained(self).toOpaque())
    source.pointee.dropped = { source, error in ChildSource.from(source!.pointee.context).handleRemovalByCore(error) }
  }

  deinit { source.deallocate() }

  override func add(to loop: OpaquePointer) -> Int32 { csched_loop_add_child(loop, source) }

  // `fd`: the descriptor source inside the C source, by which the system reports its events
  override func unregister(in loop: OpaquePointer) { csched_loop_unregister_fd_(loop, &source.pointee.fd) }

  override func remove(from loop: OpaquePointer) { csched_loop_remove_child(loop, source) }
}

/// A source that waits for changes of a file.
final class FileSource: LoopSource<FileChange>, @unchecked Sendable {
  // Unchecked, because of `source`. Only the loop's thread uses it; `unregister` alone may use it on another thread.
  private let source = UnsafeMutablePointer<csched_file_source>.allocate(capacity: 1)
  private let path: UnsafeMutableBufferPointer<CChar>, changes: FileChange.Kinds  // path: a C string for the C source

  init(
    _ path: String, _ changes: FileChange.Kinds, on scheduler: SchedulerTarget, onDrop: OnDrop?,
    _ handler: @escaping Handler
  ) {
    self.path = .allocate(capacity: path.utf8.count + 1)  // + 1: the final zero
    _ = self.path.initialize(from: path.utf8CString)  // discards the count: all bytes fit
    self.changes = changes
    super.init(on: scheduler, onDrop: onDrop, handler)
    csched_file_source_init(
      source, self.path.baseAddress, changes.rawValue,
      { source, changes, name in  // name: the directory entry; NULL: the path itself
        FileSource.from(source!.pointee.context).tell(
          FileChange(kinds: FileChange.Kinds(rawValue: changes), name: name.map { String(cString: $0) }))
      }, Unmanaged.passUnretained(self).toOpaque())
    source.pointee.dropped = { source, error in FileSource.from(source!.pointee.context).handleRemovalByCore(error) }
  }

  deinit {
    source.deallocate()
    path.deallocate()
  }

  override func add(to loop: OpaquePointer) -> Int32 { csched_loop_add_file(loop, source) }

  // `fd`: the descriptor source inside the C source, by which the system reports its events
  override func unregister(in loop: OpaquePointer) { csched_loop_unregister_fd_(loop, &source.pointee.fd) }

  override func remove(from loop: OpaquePointer) { csched_loop_remove_file(loop, source) }
}

/// A hook before the loop sleeps, or after it wakes. It needs no `unregister`: it is not registered with the system.
final class HookSource: LoopSource<Void>, @unchecked Sendable {
  // Unchecked, because of `hook`, which the loop's thread alone uses.
  private let hook = UnsafeMutablePointer<csched_loop_hook>.allocate(capacity: 1)
  private let isBeforeSleep: Bool  // called before the sleep; false: after the wake

  init(isBeforeSleep: Bool, on scheduler: SchedulerTarget, onDrop: OnDrop?, _ handler: @escaping Handler) {
    self.isBeforeSleep = isBeforeSleep
    super.init(on: scheduler, onDrop: onDrop, handler)
  }

  deinit { hook.deallocate() }

  override func add(to loop: OpaquePointer) -> Int32 {
    hook.initialize(to: csched_loop_hook())  // here, because a hook has no init function in C
    hook.pointee.context = Unmanaged.passUnretained(self).toOpaque()
    hook.pointee.dropped = { HookSource.from($0!.pointee.context).handleRemovalByCore($1) }
    let callHandler: @convention(c) (UnsafeMutablePointer<csched_loop_hook>?) -> Void = {
      HookSource.from($0!.pointee.context).tell(())
    }
    if isBeforeSleep { hook.pointee.before_sleep = callHandler } else { hook.pointee.after_wake = callHandler }
    return csched_loop_add_hook(loop, hook)
  }

  override func remove(from loop: OpaquePointer) { csched_loop_remove_hook(loop, hook) }
}
