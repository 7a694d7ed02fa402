import Scheduler
import SchedulerRx
import TestSupport
import Testing

@Suite("ScopedDisposable and AnyDisposable", .nothingIsLeft)
struct ScopedDisposableTests {
  @Test("a scoped disposable disposes when it is released, or before, once", arguments: [false, true])
  func once(before: Bool) {
    let child = DisposalCounter()
    do {
      let scoped = ScopedDisposable(child)
      #expect(!scoped.isDisposed)
      if before {
        scoped.dispose()
        #expect(scoped.isDisposed)
        #expect(child.value == 1)
      }
      withExtendedLifetime(scoped) {}
    }
    #expect(child.value == 1)
  }

  @Test("replacing a scoped disposable in its field disposes the old one")
  func replaced() {
    let first = DisposalCounter()
    let second = DisposalCounter()
    var field: ScopedDisposable<AnyDisposable>? = first.scoped()
    #expect(field?.isDisposed == false)
    field = second.scoped()
    #expect(first.value == 1)
    #expect(second.value == 0)
    field = nil
    #expect(second.value == 1)
  }

  @Test("a composite that is released disposes the scoped ones of its children, in order, before the release is over")
  func inside() {
    let log = DisposalLog()
    do {
      let inner = DeathNotice { log.add("capture") }
      let all = CompositeDisposable(
        log.entry("no"),
        CompositeDisposable(
          log.entry("1").scoped(),
          Disposables.create {
            // A container released in here has ended when the release returns, though a walk is under way.
            var held: CompositeDisposable? = CompositeDisposable(Disposables.create { withExtendedLifetime(inner) {} })
            #expect(held?.count == 1)
            held = nil
            log.add("2")
          }.scoped()),
        log.entry("3").scoped())
      withExtendedLifetime((all, inner)) {}
    }
    #expect(log.all == ["1", "2", "capture", "3"] || log.all == ["1", "2", "3", "capture"])
  }

  @Test("a scoped disposable that races its own release disposes once")  // A1
  func race() {
    let seed = SeededGenerator.freshSeed(for: "ScopedDisposableTests.race")
    for round in 0..<Scale.count(300) {
      let child = DisposalCounter()
      let slots = { () -> [Protected<ScopedDisposable<DisposalCounter>?>.Holder] in
        let scoped = ScopedDisposable(child)
        return (0..<4).map { _ in .init(scoped) }
      }()
      raceDisposal(threads: 4) { index in
        var random = SeededGenerator(seed: seed &+ UInt64(round * 4 + index))
        let scoped = slots[index].take()
        if Int.random(in: 0..<4, using: &random) == 0 {
          scoped?.dispose()
          #expect(scoped?.isDisposed == true)
        }
      }
      #expect(child.value == 1, "seed \(seed)")
    }
  }

  @Test("a cancel closure runs once, by 8 threads at once")  // A1
  func cancelClosure() {
    for _ in 0..<50 {
      let runs = DisposalCounter()
      let token = AnyDisposable { runs.dispose() }
      #expect(!token.isDisposed)
      raceDisposal(threads: 8) { _ in token.dispose() }
      #expect(runs.value == 1)
      #expect(token.isDisposed)
    }
  }

  // A2
  @Test(
    "a cancel closure and its captures are released by dispose, or by its own release, and then it has not run"
  )
  func cancelClosureReleased() {
    let runs = DisposalCounter()
    weak var weakly: Capture?
    func make() -> AnyDisposable {
      let capture = Capture()
      weakly = capture
      return AnyDisposable {
        capture.touch()
        runs.dispose()
      }
    }
    let token = make()
    token.dispose()
    #expect(weakly == nil)
    _ = make()
    #expect(weakly == nil)
    let all = CompositeDisposable(make())
    #expect(weakly != nil)
    all.dispose()
    #expect(weakly == nil)
    #expect(runs.value == 2)
  }

  @Test("a disposable goes into a closure and back")
  func conversions() {
    let child = DisposalCounter()
    let erased = AnyDisposable(child)
    let cancel = erased.asCancelClosure
    let again = AnyDisposable(cancel)
    #expect(!erased.isDisposed)
    again.dispose()
    again.dispose()
    cancel()
    #expect(child.value == 1)
    #expect(erased.isDisposed)
    let nothing = AnyDisposable()
    nothing.dispose()
    #expect(nothing.isDisposed)
  }

  @Test("a bag stores disposables; a composite takes closures and optionals")
  func conveniences() {
    let log = DisposalLog()
    do {
      let bag = DisposeBag()
      log.entry("1").store(in: bag)
      log.entry("2").disposed(by: bag)
    }
    let all = CompositeDisposable()
    let absent: (any Disposable)? = nil
    #expect((all += absent) == nil)
    #expect((all += log.entry("3")) != nil)
    all += { log.add("4") }
    all.insert { log.add("5") }
    all.dispose()
    #expect(all.insert { log.add("6") } == nil)
    #expect(log.all == ["1", "2", "3", "4", "5", "6"])
  }
}

extension Protected where Value == ScopedDisposable<DisposalCounter>? {
  /// Holds one reference until it is taken.
  final class Holder: Sendable {
    private let box: Protected<ScopedDisposable<DisposalCounter>?>

    init(_ held: ScopedDisposable<DisposalCounter>) { box = Protected(held) }

    func take() -> ScopedDisposable<DisposalCounter>? { box.withLock { $0.take() } }
  }
}
