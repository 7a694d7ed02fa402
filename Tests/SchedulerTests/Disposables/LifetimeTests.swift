import Scheduler
import SchedulerRx
import TestSupport
import Testing

@Suite("Lifetime", .nothingIsLeft)
struct LifetimeTests {
  @Test("a lifetime ends with its token, in the order of registration", arguments: [false, true])
  func ends(byDisposal: Bool) {
    let log = DisposalLog()
    let lifetime: Lifetime
    do {
      let token = Lifetime.Token()
      lifetime = Lifetime(token)
      lifetime.observeEnded { [lifetime] in
        #expect(lifetime.hasEnded)
        log.add("1")
      }
      lifetime += log.entry("2")
      Lifetime(token).observeEnded { log.add("3") }
      #expect(!lifetime.hasEnded)
      #expect(log.all == [])
      if byDisposal {
        token.dispose()
        #expect(log.all == ["1", "2", "3"])
      }
      withExtendedLifetime(token) {}
    }
    #expect(lifetime.hasEnded)
    #expect(log.all == ["1", "2", "3"])
  }

  @Test("releasing the lifetime ends nothing, and the token still disposes")
  func lifetimeReleased() {
    let child = DisposalCounter()
    let token: LifetimeToken
    do {
      let made = Lifetime.make()
      token = made.token
      made.lifetime += child
    }
    #expect(child.value == 0)
    token.dispose()
    token.dispose()
    #expect(child.value == 1)
    #expect(token.isDisposed)
  }

  @Test("after the end an observer is called at once, and nothing is returned")
  func late() {
    let log = DisposalLog()
    #expect(Lifetime.empty.hasEnded)
    #expect(Lifetime.empty.observeEnded { log.add("1") } == nil)
    #expect((Lifetime.empty += log.entry("2")) == nil)
    #expect(log.all == ["1", "2"])
    let absent: (any Disposable)? = nil
    let (lifetime, token) = Lifetime.make()
    #expect((lifetime += absent) == nil)
    token.dispose()
  }

  @Test("a revoked observer is not called, and is released at once")
  func revoked() throws {
    let log = DisposalLog()
    let child = DisposalCounter()
    let (lifetime, token) = Lifetime.make()
    weak var weakly: Capture?
    func observe() -> (any Disposable)? {
      let capture = Capture()
      weakly = capture
      return lifetime.observeEnded {
        capture.touch()
        log.add("no")
      }
    }
    let first = try #require(observe())
    let added = (lifetime += child)
    let second = try #require(added)
    #expect(weakly != nil)
    #expect(!first.isDisposed)
    first.dispose()
    first.dispose()
    second.dispose()
    #expect(weakly == nil)
    #expect(first.isDisposed)
    let third = try #require(lifetime.observeEnded {})
    #expect(!third.isDisposed)
    token.dispose()
    #expect(third.isDisposed)
    #expect(log.all == [])
    #expect(child.value == 0)
  }

  @Test("an observer may register, revoke and end from inside the end")
  func reentrant() {
    let log = DisposalLog()
    let (lifetime, token) = Lifetime.make()
    let other = SerialDisposable()
    lifetime.observeEnded {
      lifetime.observeEnded { log.add("late") }
      other.disposable?.dispose()
      token.dispose()
      log.add("first")
    }
    other.disposable = lifetime.observeEnded { log.add("other") }
    token.dispose()
    // The whole list was taken when the end began, so it is too late to revoke.
    #expect(log.all == ["late", "first", "other"])
  }

  @Test("an observer that is revoked while the lifetime ends is called or revoked")  // CD1
  func race() {
    let seed = SeededGenerator.freshSeed(for: "LifetimeTests.race")
    for round in 0..<Scale.count(200) {
      let token = Protected<Lifetime.Token?>(Lifetime.Token())
      let lifetime = token.withLock { Lifetime($0!) }
      let children = (0..<60).map { _ in DisposalCounter() }
      let revoked = (0..<60).map { _ in DisposalCounter() }
      raceDisposal(threads: 4) { index in
        var random = SeededGenerator(seed: seed &+ UInt64(round * 4 + index))
        if index == 3 {
          for _ in 0..<Int.random(in: 0..<30, using: &random) { _ = lifetime.hasEnded }
          let last = token.withLock { $0.take() }
          if Bool.random(using: &random) { last?.dispose() }
          return
        }
        for number in (index * 20)..<(index * 20 + 20) {
          let child = children[number]
          let registration = lifetime.observeEnded { child.dispose() }
          if Bool.random(using: &random) {
            registration?.dispose()
            if registration != nil { revoked[number].dispose() }
          }
        }
      }
      #expect(token.withLock { $0 == nil })
      for (child, revoked) in zip(children, revoked) {
        #expect(child.value == 1 || (revoked.value == 1 && child.value == 0), "seed \(seed)")
      }
    }
  }
}
