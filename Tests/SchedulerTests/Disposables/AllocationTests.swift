import CTestAllocations
import Scheduler
import SchedulerRx
import TestSupport
import Testing

/// How many blocks `body` allocates on this thread: the least of several calls, the first of which fills caches.
private func allocations(_ body: () -> Void) -> UInt64 {
  (0..<5).map { _ in
    let before = ctest_allocations()
    body()
    return ctest_allocations() - before
  }.min()!
}

/// Keeps the optimizer from doing without `value`.
@inline(never) private func keep<Value>(_ value: Value) {}

@Suite("What disposables allocate", .enabled(if: ctest_counts_allocations()), .nothingIsLeft)
struct AllocationTests {
  @Test("the counter counts")
  func counter() {
    #expect(allocations { keep(Capture()) } == 1)
    #expect(allocations {} == 0)
  }

  @Test("the disposable that does nothing: none")
  func nothing() {
    #expect(allocations { keep(Disposables.create()) } == 0)
  }

  @Test("an action: one")
  func action() {
    let action: @Sendable () -> Void = {}
    #expect(allocations { Disposables.create(with: action).dispose() } <= 1)
    #expect(allocations { AnyDisposable(action).dispose() } <= 1)
  }

  @Test("a single assignment: one, and none for setting and disposing")
  func single() {
    let child = DisposalCounter()
    #expect(
      allocations {
        let holder = SingleAssignmentDisposable()
        holder.setDisposable(child)
        holder.dispose()
      } <= 1)
  }

  @Test("an insertion into a composite: two at the most, and fewer than one in the long run")
  func composite() {
    let child = DisposalCounter()
    var (most, inAll) = (UInt64.max, UInt64.max)
    // The least of several: Swift's runtime fills its tables anew when a library has been loaded meanwhile.
    for _ in 0..<5 {
      let all = CompositeDisposable()
      var mostOfThis: UInt64 = 0
      let start = ctest_allocations()
      for _ in 0..<1_000 {
        let before = ctest_allocations()
        all.insert(child)
        mostOfThis = max(mostOfThis, ctest_allocations() - before)
      }
      inAll = min(inAll, ctest_allocations() - start)
      most = min(most, mostOfThis)
      all.dispose()
    }
    #expect(most <= 2)
    #expect(inAll < 100)
  }

  @Test("setting a serial disposable: none")
  func serial() {
    let child = DisposalCounter()
    let holder = SerialDisposable()
    #expect(allocations { holder.disposable = child } == 0)
  }

  @Test("a wrapper: one; a dependent: one; a token: two")
  func wrappers() {
    let child = DisposalCounter()
    #expect(allocations { Disposables.create(child, child).dispose() } <= 1)
    #expect(allocations { ScopedDisposable(child).dispose() } <= 1)
    #expect(allocations { RefCountDisposable(disposable: child).dispose() } <= 1)
    let shared = RefCountDisposable(disposable: child)
    #expect(allocations { shared.retain().dispose() } <= 1)
    #expect(allocations { Lifetime.Token().dispose() } <= 2)
  }
}
