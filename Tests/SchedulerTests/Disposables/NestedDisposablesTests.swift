import Scheduler
import SchedulerRx
import TestSupport
import Testing

/// A way to put one disposable into another.
enum DisposalLink: String, CaseIterable, CustomTestStringConvertible {
  case single, serial, composite, binary, nary, mixed

  var testDescription: String { rawValue }

  func wrap(_ child: any Disposable, level: Int) -> any Disposable {
    switch self {
    case .single:
      let holder = SingleAssignmentDisposable()
      holder.setDisposable(child)
      return holder
    case .serial:
      let holder = SerialDisposable()
      holder.disposable = child
      return holder
    case .composite: return CompositeDisposable(child)
    case .binary: return Disposables.create(child, Disposables.create())
    case .nary: return Disposables.create([child])
    case .mixed: return Self.allCases[level % 5].wrap(child, level: level)
    }
  }

  /// The whole depth for the leanest kind, enough to kill a recursion for the others.
  var depth: Int { self == .single ? deepChain : min(deepChain, 200_000) }

  func chain(around leaf: any Disposable) -> any Disposable {
    var chain = wrap(leaf, level: 0)
    for level in 1..<depth { chain = wrap(chain, level: level) }
    return chain
  }
}

@Suite("Nested disposables", .serialized, .nothingIsLeft)
struct NestedDisposablesTests {
  @Test("a deep chain is disposed without recursion", arguments: DisposalLink.allCases)
  func disposesDeep(link: DisposalLink) {
    let leaf = DisposalCounter()
    let chain = link.chain(around: leaf)
    chain.dispose()
    #expect(leaf.value == 1)
  }

  @Test("a deep chain is released without recursion, and not disposed", arguments: DisposalLink.allCases)
  func releasesDeep(link: DisposalLink) {
    let leaf = DisposalCounter()
    weak var weakly: Capture?
    do {
      let capture = Capture()
      weakly = capture
      let chain = link.chain(
        around: Disposables.create(leaf, Disposables.create { capture.touch() }))
      #expect(!chain.isDisposed)
    }
    #expect(weakly == nil)
    #expect(leaf.value == 0)
  }

  @Test("a deep chain in a bag is disposed and released with the bag")
  func bag() {
    let leaf = DisposalCounter()
    do {
      let bag = DisposeBag(disposing: DisposalLink.mixed.chain(around: leaf))
      withExtendedLifetime(bag) {}
    }
    #expect(leaf.value == 1)
  }

  @Test("a tree is disposed in the order of a recursion")
  func order() {
    let log = DisposalLog()
    let serial = SerialDisposable()
    serial.disposable = CompositeDisposable(log.entry("3"), log.entry("4"))
    let single = SingleAssignmentDisposable()
    single.setDisposable(Disposables.create(Disposables.create(log.entry("6"), log.entry("7")), log.entry("8")))
    let root = CompositeDisposable(
      log.entry("1"),
      CompositeDisposable(log.entry("2"), serial, log.entry("5")),
      single,
      Disposables.create([log.entry("9"), Disposables.create(), CompositeDisposable(), log.entry("10")]),
      log.entry("11"))
    root.dispose()
    #expect(log.all == (1...11).map(String.init))
  }

  @Test("a tree is released in the order of a recursion")
  func releaseOrder() {
    let log = DisposalLog()
    func leaf(_ name: String) -> any Disposable {
      let notice = DeathNotice { log.add(name) }
      return Disposables.create { withExtendedLifetime(notice) {} }
    }
    func serial(_ child: any Disposable) -> any Disposable {
      let serial = SerialDisposable()
      serial.disposable = child
      return serial
    }
    do {
      let root = CompositeDisposable(
        leaf("1"),
        CompositeDisposable(leaf("2"), serial(CompositeDisposable(leaf("3"), leaf("4"))), leaf("5")),
        Disposables.create(Disposables.create(leaf("6"), leaf("7")), leaf("8")),
        leaf("9"))
      withExtendedLifetime(root) {}
    }
    #expect(log.all == (1...9).map(String.init))
  }

  @Test("a container disposed by a closure inside a disposal is disposed when that call returns")
  func promiseHolds() {
    let log = DisposalLog()
    let inner = SerialDisposable()
    inner.disposable = CompositeDisposable(log.entry("inner 1"), log.entry("inner 2"))
    let outer = CompositeDisposable(
      CompositeDisposable(
        Disposables.create {
          log.add("before")
          inner.dispose()
          log.add("after")
        }),
      inner)
    outer.dispose()
    #expect(log.all == ["before", "inner 1", "inner 2", "after"])
  }

  /// What runs code of the user's when it is released by a walk: by the end of a closure, of a disposable that has been
  /// disposed, of a scheduler.
  enum Leaf: CaseIterable { case closure, anyDisposable, scoped, scheduled }

  private struct Noticing: Disposable, ImmediateSchedulerType {
    let notice: DeathNotice
    var isDisposed: Bool { true }
    func dispose() {}
    func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable { Disposables.create() }
  }

  @Test(
    "a container released by a capture inside a release has ended when that deinit continues", arguments: Leaf.allCases)
  func releasePromiseHolds(_ kind: Leaf) {
    let log = DisposalLog()
    func leaf(_ body: @escaping @Sendable () -> Void) -> any Disposable {
      let notice = DeathNotice(body)
      switch kind {
      case .closure: return Disposables.create { withExtendedLifetime(notice) {} }
      case .anyDisposable: return AnyDisposable { withExtendedLifetime(notice) {} }
      case .scheduled:
        return ScheduledDisposable(scheduler: Noticing(notice: notice), disposable: BooleanDisposable())
      case .scoped:
        let scoped = ScopedDisposable(Noticing(notice: notice))
        scoped.dispose()
        return scoped
      }
    }
    do {
      let boxed = Boxed(CompositeDisposable(CompositeDisposable(leaf { log.add("held gone") })))
      let outer = CompositeDisposable(
        CompositeDisposable(
          leaf {
            log.add("before")
            boxed.empty()
            log.add("after")
          }))
      withExtendedLifetime(outer) {}
    }
    #expect(log.all == ["before", "held gone", "after"])
  }

  @Test("a wrapper from elsewhere around a container keeps the promise")
  func foreign() {
    struct Wrapper: Disposable {
      let inner: CompositeDisposable
      let log: DisposalLog
      var isDisposed: Bool { inner.isDisposed }
      func dispose() {
        inner.dispose()
        log.add("after")
      }
    }
    let log = DisposalLog()
    let root = CompositeDisposable(
      Wrapper(inner: CompositeDisposable(Disposables.create([log.entry("inner")])), log: log))
    root.dispose()
    #expect(log.all == ["inner", "after"])
  }

  @Test("trees disposed from both ends by many threads dispose each leaf once")
  func race() {
    for _ in 0..<50 {
      let leaves = (0..<50).map { _ in DisposalCounter() }
      var nodes: [any Disposable] = []
      var chain: any Disposable = Disposables.create()
      for (level, leaf) in leaves.enumerated() {
        let node = DisposalLink.mixed.wrap(CompositeDisposable(chain, leaf), level: level)
        nodes.append(node)
        chain = node
      }
      let all = nodes
      raceDisposal(threads: 4) { index in
        for level in all.indices { all[index % 2 == 0 ? level : all.count - 1 - level].dispose() }
      }
      #expect(leaves.allSatisfy { $0.value == 1 })
    }
  }

  @Test("a container found through a weak reference while its holder is released still disposes its children")
  func weakReference() {
    for _ in 0..<200 {
      let leaf = DisposalCounter()
      let inner = CompositeDisposable(leaf)
      let reference = WeakComposite(inner)
      let boxed = Boxed(CompositeDisposable(inner))
      handOver(consume inner)
      raceDisposal(threads: 2) { index in
        if index == 0 { return boxed.empty() }
        if let found = reference.target {
          found.dispose()
          #expect(leaf.value == 1)
        }
      }
    }
  }

  private func handOver(_: consuming CompositeDisposable) {}
}

/// Refers to a composite without keeping it.
private final class WeakComposite: Sendable {
  // Set once; a weak reference is safe to read from any thread.
  nonisolated(unsafe) private(set) weak var target: CompositeDisposable?

  init(_ target: CompositeDisposable) { self.target = target }
}

/// Holds a disposable until `empty()`.
private final class Boxed: Sendable {
  private let box: Protected<(any Disposable)?>

  init(_ held: any Disposable) { box = Protected(held) }

  func empty() {
    let held = box.withLock { $0.take() }
    withExtendedLifetime(held) {}
  }
}
