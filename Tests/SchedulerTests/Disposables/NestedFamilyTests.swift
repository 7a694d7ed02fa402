import Foundation
import Scheduler
import SchedulerRx
import TestSupport
import Testing

/// Another way to put one disposable into another.
private enum FamilyLink: String, CaseIterable, CustomTestStringConvertible {
  case refCount, dependent, scoped, any, scheduled, token, mixed, orphans

  var testDescription: String { rawValue }

  /// Whether a release disposes the inner disposable.
  var disposesOnRelease: Bool { self == .scoped || self == .token || self == .mixed || self == .orphans }

  func wrap(_ child: any Disposable, level: Int) -> any Disposable {
    switch self {
    case .refCount: return RefCountDisposable(disposable: child)
    case .dependent:
      let primary = RefCountDisposable(disposable: child)
      let dependent = primary.retain()
      primary.dispose()
      return dependent
    case .scoped: return ScopedDisposable(child)
    case .any: return AnyDisposable(child)
    case .scheduled: return ScheduledDisposable(scheduler: ImmediateScheduler.instance, disposable: child)
    case .token:
      let (lifetime, token) = Lifetime.make()
      lifetime += child
      return token
    case .orphans:
      // A dependent without a disposal of its primary, and a primary without a disposal of its dependent: neither
      // disposes the child. Their release releases the scoped disposable, which disposes it.
      let shared = RefCountDisposable(disposable: ScopedDisposable(child))
      let dependent = shared.retain()
      return ScopedDisposable(level % 2 == 0 ? shared : dependent)
    case .mixed:
      return level % 2 == 0
        ? Self.allCases[level / 2 % 6].wrap(child, level: level) : DisposalLink.mixed.wrap(child, level: level / 2)
    }
  }

  /// Ten million, when `SCHEDULER_TEST_DEPTH` says so.
  var depth: Int {
    ProcessInfo.processInfo.environment["SCHEDULER_TEST_DEPTH"].flatMap(Int.init) ?? min(deepChain, 200_000)
  }

  func chain(around leaf: any Disposable) -> any Disposable {
    var chain = wrap(leaf, level: 0)
    for level in 1..<depth { chain = wrap(chain, level: level) }
    return chain
  }
}

@Suite("Nested disposables of the rest of the family", .serialized, .nothingIsLeft)
struct NestedFamilyTests {
  @Test("a deep chain is disposed without recursion", arguments: FamilyLink.allCases)
  private func disposesDeep(link: FamilyLink) {
    let leaf = DisposalCounter()
    let chain = link.chain(around: leaf)
    #expect(leaf.value == 0)
    chain.dispose()
    #expect(leaf.value == 1)
    #expect(chain.isDisposed)
  }

  @Test(
    "a deep chain is released without recursion, and disposed only where it is scoped", arguments: FamilyLink.allCases)
  private func releasesDeep(link: FamilyLink) {
    let leaf = DisposalCounter()
    weak var weakly: Capture?
    do {
      let capture = Capture()
      weakly = capture
      let chain = link.chain(around: Disposables.create(leaf, Disposables.create { capture.touch() }))
      #expect(!chain.isDisposed)
    }
    #expect(weakly == nil)
    #expect(leaf.value == (link.disposesOnRelease ? 1 : 0))
  }

  @Test("a closure's captures released with a chain see their own releases done")
  func capturesOfAnyDisposable() {
    let log = DisposalLog()
    do {
      let notice = DeathNotice {
        var held: CompositeDisposable? = CompositeDisposable(
          CompositeDisposable(
            AnyDisposable { [inner = DeathNotice { log.add("inner") }] in withExtendedLifetime(inner) {} }))
        #expect(held?.count == 1)
        held = nil
        log.add("outer")
      }
      let chain = CompositeDisposable(
        CompositeDisposable(AnyDisposable { withExtendedLifetime(notice) {} }), Disposables.create())
      withExtendedLifetime(chain) {}
      handOver(chain)
    }
    #expect(log.all == ["inner", "outer"])
  }

  private func handOver(_: CompositeDisposable) {}
}
