#if Combine
  import OpenCombine
  import SchedulerCombine
  import SchedulerRx
  import TestSupport
  import Testing

  @Suite("Disposables and cancellables", .nothingIsLeft) struct CancellableTests {
    @Test("a disposable is a cancellable, which disposes when it is cancelled or released") func toCancellable() {
      for isCancelled in [false, true] {
        let disposed = Protected(0)
        let disposable = Disposables.create { disposed.withLock { $0 += 1 } }
        do {
          let cancellable = disposable.asCancellable()
          if isCancelled { cancellable.cancel() }
          #expect(disposed.read() == (isCancelled ? 1 : 0))
          withExtendedLifetime(cancellable) {}
        }
        #expect(disposed.read() == 1)
      }
    }

    @Test("a cancellable is a disposable, which cancels once and is then released") func toDisposable() {
      let cancelled = Protected(0), gone = Protected(0)
      var cancellable: AnyCancellable? = AnyCancellable { [tracked = Tracked(gone)] in
        withExtendedLifetime(tracked) { cancelled.withLock { $0 += 1 } }
      }
      let disposable = cancellable!.asDisposable()
      cancellable = nil
      #expect(cancelled.read() == 0 && !disposable.isDisposed)
      disposable.dispose()
      disposable.cancel()
      #expect(cancelled.read() == 1 && gone.read() == 1 && disposable.isDisposed)
    }

    @Test("there and back it is disposed once") func roundTrip() {
      let disposed = Protected(0)
      let back = Disposables.create { disposed.withLock { $0 += 1 } }.asCancellable().asDisposable()
      CompositeDisposable(back).cancel()
      #expect(disposed.read() == 1)
    }

    @Test("a set of either kind disposes its elements when it is released") func stores() {
      let clock = TestScheduler()
      do {
        var cancellables: Set<AnyCancellable> = [], list: [AnyCancellable] = [], disposables: Set<AnyDisposable> = []
        clock.schedule(after: .seconds(1)) {}.store(in: &cancellables)
        clock.schedule(after: .seconds(1)) {}.store(in: &list)
        for _ in 0..<2 { clock.schedule(after: .seconds(1)) {}.store(in: &disposables) }
        #expect(clock.pendingCount == 4 && disposables.count == 2 && cancellables.count == 1 && list.count == 1)
        disposables.first?.dispose()
        #expect(clock.pendingCount == 3)
      }
      #expect(clock.pendingCount == 0)
    }

    @Test("an AnyDisposable is equal to itself alone") func hashable() {
      let disposable = NoOperation(), first = AnyDisposable(disposable), second = AnyDisposable(disposable)
      #expect(first == first && first != second && Set([first, first, second]).count == 2)
    }
  }

  private struct NoOperation: Disposable {
    var isDisposed: Bool { true }
    func dispose() {}
  }
#endif
