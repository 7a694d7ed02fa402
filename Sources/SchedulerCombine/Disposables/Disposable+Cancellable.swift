#if Combine
  #if canImport(Combine)
    public import Combine
  #else
    public import OpenCombine
  #endif
  public import Scheduler

  extension Disposable {
    /// Disposes this disposable, under Combine's name for it.
    public func cancel() { dispose() }

    /// Returns a cancellable that disposes this disposable when it is cancelled or released. It may be cancelled on any
    /// thread.
    public func asCancellable() -> AnyCancellable { AnyCancellable(self) }

    /// Stores a cancellable that disposes this disposable, at the latest when `set` releases it.
    ///
    /// ```swift
    /// queue.schedule(after: .seconds(1)) { refresh() }.store(in: &cancellables)
    /// ```
    public func store(in set: inout Set<AnyCancellable>) { set.insert(AnyCancellable(self)) }

    /// Stores a cancellable that disposes this disposable, at the latest when `collection` releases it.
    public func store<Cancellables: RangeReplaceableCollection<AnyCancellable>>(in collection: inout Cancellables) {
      collection.append(AnyCancellable(self))
    }
  }

  extension AnyCancellable {
    /// Creates a cancellable that disposes `disposable` when it is cancelled or released.
    public convenience init(_ disposable: any Disposable) { self.init { disposable.dispose() } }
  }

  extension Cancellable {
    /// Returns a disposable that cancels this cancellable when it is first disposed, and then releases it.
    ///
    /// Releasing the disposable does not cancel by itself. It releases this cancellable, and an `AnyCancellable`
    /// cancels when it is released.
    public func asDisposable() -> any Disposable {
      nonisolated(unsafe) let cancel: () -> Void = cancel  // called once; Combine's contract allows any thread
      return AnonymousDisposable { cancel() }
    }
  }

  /// A cancellable that disposes `disposable`. Unlike an `AnyCancellable`, its release does not cancel.
  struct DisposingCancellable: Cancellable {
    let disposable: any Disposable
    func cancel() { disposable.dispose() }
  }
#endif
