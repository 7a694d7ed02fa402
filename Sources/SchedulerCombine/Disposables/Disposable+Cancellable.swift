#if Combine
  #if canImport(Combine)
    public import Combine
  #else
    public import OpenCombine
  #endif
  public import Scheduler

  extension Disposable {
    /// Disposes it: Combine's word.
    public func cancel() { dispose() }

    /// Returns a cancellable that disposes this one: when it is cancelled, and when it is released. It may be cancelled on any thread.
    public func asCancellable() -> AnyCancellable { AnyCancellable(self) }

    /// Stores a cancellable that disposes this one, at the latest when `set` lets go of it.
    ///
    /// ```swift
    /// queue.schedule(after: .seconds(1)) { refresh() }.store(in: &cancellables)
    /// ```
    public func store(in set: inout Set<AnyCancellable>) { set.insert(AnyCancellable(self)) }

    /// Stores a cancellable that disposes this one, at the latest when `collection` lets go of it.
    public func store<Cancellables: RangeReplaceableCollection<AnyCancellable>>(in collection: inout Cancellables) {
      collection.append(AnyCancellable(self))
    }
  }

  extension AnyCancellable {
    /// Makes one that disposes `disposable`: when it is cancelled, and when it is released.
    public convenience init(_ disposable: any Disposable) { self.init { disposable.dispose() } }
  }

  extension Cancellable {
    /// Returns a disposable that cancels this one at its first disposal, and has let go of it then. Letting go of the disposable does not
    /// cancel; it releases this one, and an `AnyCancellable` cancels then.
    public func asDisposable() -> any Disposable {
      nonisolated(unsafe) let cancel: () -> Void = cancel  // called once, and on any thread, by Combine's contract
      return AnonymousDisposable { cancel() }
    }
  }

  /// A disposable, where Combine's protocol is wanted and letting go is not to cancel.
  struct DisposingCancellable: Cancellable {
    let disposable: any Disposable
    func cancel() { disposable.dispose() }
  }
#endif
