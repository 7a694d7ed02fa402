import Scheduler
import SchedulerRx
import TestSupport
import Testing

@Suite("Disposables", .nothingIsLeft)
struct DisposablesTests {
  @Test("the disposable that does nothing can be disposed again and again")
  func nothing() {
    let nothing = Disposables.create()
    nothing.dispose()
    nothing.dispose()
  }

  @Test("a closure disposed by 8 threads at once runs once")  // A1
  func race() {
    for _ in 0..<100 {
      let runs = DisposalCounter()
      let token = Disposables.create { runs.dispose() }
      raceDisposal(threads: 8) { _ in token.dispose() }
      #expect(runs.value == 1)
    }
  }

  @Test("a closure and its captures are released when dispose returns")  // A2
  func captures() {
    weak var weakly: Capture?
    let token: any Disposable
    do {
      let capture = Capture()
      weakly = capture
      token = Disposables.create { capture.touch() }
    }
    #expect(weakly != nil)
    token.dispose()
    #expect(weakly == nil)
    #expect(token.isDisposed)
  }

  @Test("a closure sees itself disposed, and may dispose itself again")
  func reentrant() {
    let runs = DisposalCounter()
    let holder = SingleAssignmentDisposable()
    let token = Disposables.create {
      runs.dispose()
      #expect(holder.isDisposed)
      holder.dispose()
    }
    holder.setDisposable(token)
    holder.dispose()
    #expect(runs.value == 1)
  }

  @Test("a capture that disposes from its deinit does so outside of any lock")
  func deinitDisposes() {
    let all = CompositeDisposable()
    let runs = DisposalCounter()
    do {
      let notice = DeathNotice {
        all.insert(runs)
        all.dispose()
      }
      all.insert(Disposables.create { withExtendedLifetime(notice) {} })
    }
    all.dispose()
    #expect(runs.value == 1)
  }

  @Test("a closure that is released undisposed does not run, and its captures are released")
  func released() {
    let runs = DisposalCounter()
    weak var weakly: Capture?
    do {
      let capture = Capture()
      weakly = capture
      let token = Disposables.create {
        capture.touch()
        runs.dispose()
      }
      #expect(!token.isDisposed)
    }
    #expect(weakly == nil)
    #expect(runs.value == 0)
  }

  @Test("two disposables are disposed in order, once, by 8 threads at once")  // ND1
  func two() {
    for _ in 0..<50 {
      let log = DisposalLog()
      let token = Disposables.create(log.entry("1"), log.entry("2"))
      raceDisposal(threads: 8) { _ in token.dispose() }
      #expect(log.all == ["1", "2"])
      #expect(token.isDisposed)
    }
  }

  @Test("any number of disposables is disposed in order, once", arguments: [0, 1, 2, 3, 4, 100])  // ND1
  func any(count: Int) {
    let log = DisposalLog()
    let names = (0..<count).map(String.init)
    let token = Disposables.create(names.map { log.entry($0) as any Disposable })
    #expect(!token.isDisposed)
    raceDisposal(threads: 4) { _ in token.dispose() }
    #expect(log.all == names)
    #expect(token.isDisposed)
  }

  @Test("three and four disposables need no array")
  func threeAndFour() {
    let log = DisposalLog()
    Disposables.create(log.entry("1"), log.entry("2"), log.entry("3")).dispose()
    Disposables.create(log.entry("4"), log.entry("5"), log.entry("6"), log.entry("7")).dispose()
    #expect(log.all == ["1", "2", "3", "4", "5", "6", "7"])
  }
}
