internal import CScheduler

// Each subclass owns a C source, which its `init` initialises and `begin()` adds to the loop. LoopSource.swift has the
// contracts of the overrides.

extension LoopSource {
  /// Returns the Swift object to which the `context` of a C source points. `context` does not retain the object: the
  /// loop's reference does, from the addition of the C source to its removal (LoopSource.swift LS3).
  fileprivate static func from(_ context: UnsafeMutableRawPointer) -> Self {
    Unmanaged<Self>.fromOpaque(context).takeUnretainedValue()
  }
}

/// A source that waits for a descriptor.
final class DescriptorSource: LoopSource<Void>, @unchecked Sendable {
  // Unchecked, because of `source`. Only the loop's thread uses it; `unregister` alone may use it on another thread.
  private let source = UnsafeMutablePointer<csched_fd_source>.allocate(capacity: 1)

  init(
    _ descriptor: Int32, _ events: csched_fd_events, on scheduler: SchedulerTarget, onDrop: OnDrop?,
    _ handler: @escaping Handler
  ) {
    super.init(on: scheduler, onDrop: onDrop, handler)
    csched_fd_source_init(
      source, descriptor, events.rawValue, { source, _ in DescriptorSource.from(source!.pointee.context).tell(()) },
      Unmanaged.passUnretained(self).toOpaque())
    source.pointee.dropped = { source, error in  // the loop was closed, or the descriptor was
      DescriptorSource.from(source!.pointee.context).handleRemovalByCore(error)
    }
  }

  deinit { source.deallocate() }

  // Shared: several sources may wait for one descriptor.
  override func add(to loop: OpaquePointer) -> Int32 { csched_loop_add_shared_fd_(loop, source) }

  // On any thread: the system reports no more events. `remove` follows on the loop's thread.
  override func unregister(in loop: OpaquePointer) { csched_loop_unregister_fd_(loop, source) }

  override func remove(from loop: OpaquePointer) { csched_loop_remove_fd(loop, source) }
}

/// A source that waits for a signal.
final class SignalSource: LoopSource<Int>, @unchecked Sendable {
  // Unchecked, because of `source`. Only the loop's thread uses it; `prepare` and `unregister` alone may use it on
  // another thread.
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

  // At once, because the signal's own action may end the process. An error is reported by `add`.
  override func prepare(in loop: OpaquePointer) { _ = csched_loop_claim_signal_(loop, source) }

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
        let changed = FileSource.from(source!.pointee.context), kinds = FileChange.Kinds(rawValue: changes)
        changed.tell(FileChange(kinds: kinds, name: name.map { String(cString: $0) }))
        if kinds.contains(.gone) { changed.handleRemovalByCore(nil) }  // the C core has already removed the source
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
