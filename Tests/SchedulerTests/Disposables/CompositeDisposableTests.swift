import Scheduler
import SchedulerRx
import TestSupport
import Testing

@Suite("CompositeDisposable", .nothingIsLeft)
struct CompositeDisposableTests {
  @Test("children are disposed in the order of insertion, once")
  func order() {
    let log = DisposalLog()
    let all = CompositeDisposable(log.entry("1"), log.entry("2"))
    all.insert(log.entry("3"))
    #expect(all.count == 3)
    all.dispose()
    all.dispose()
    #expect(log.all == ["1", "2", "3"])
    #expect(all.count == 0)
    #expect(all.isDisposed)
  }

  @Test("removing disposes, taking does not, and either happens once")
  func removeAndTake() throws {
    let all = CompositeDisposable(disposables: [])
    let removed = DisposalCounter()
    let taken = DisposalCounter()
    let removedKey = try #require(all.insert(removed))
    let takenKey = try #require(all.insert(taken))
    all.remove(for: removedKey)
    all.remove(for: removedKey)
    #expect(removed.value == 1)
    #expect(all.take(for: takenKey) as? DisposalCounter === taken)
    #expect(all.take(for: takenKey) == nil)
    #expect(all.count == 0)
    all.dispose()
    #expect(removed.value == 1)
    #expect(taken.value == 0)
  }

  @Test("a key means nothing to another composite, and is never given out twice")
  func keys() throws {
    let one = CompositeDisposable()
    let other = CompositeDisposable()
    let child = DisposalCounter()
    let key = try #require(one.insert(child))
    _ = try #require(other.insert(child))
    other.remove(for: key)
    #expect(child.value == 0)
    #expect(other.count == 1)
    one.take(for: key)
    let next = try #require(one.insert(child))
    #expect(next != key)
    one.remove(for: key)
    #expect(child.value == 0)
    one.dispose()
    #expect(one.take(for: next) == nil)
  }

  @Test("a child inserted after the disposal is disposed at once, and gets no key")
  func afterDisposal() {
    let all = CompositeDisposable()
    all.dispose()
    let child = DisposalCounter()
    #expect(all.insert(child) == nil)
    #expect(child.value == 1)
    #expect(all.count == 0)
  }

  @Test("any mixture of insertions and removals keeps the order of those that stay")
  func model() throws {
    var random = SystemRandomNumberGenerator()
    let seed = random.next() as UInt64
    var state = seed
    func next(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % bound
    }
    let all = CompositeDisposable()
    let log = DisposalLog()
    var model: [(key: CompositeDisposable.DisposeKey, name: String)] = []
    for step in 0..<5_000 {
      if model.isEmpty || next(100) < (step < 2_500 ? 60 : 45) {
        let key = try #require(all.insert(log.entry("\(step)")))
        model.append((key, "\(step)"))
      } else {
        let (key, _) = model.remove(at: next(3) == 0 ? 0 : next(model.count))
        #expect(all.take(for: key) != nil)
      }
      #expect(all.count == model.count)
    }
    all.dispose()
    #expect(log.all == model.map(\.name), "seed \(seed)")
  }

  @Test("children inserted, removed and taken inside a disposal are disposed exactly once")
  func reentrant() throws {
    let all = CompositeDisposable()
    let late = DisposalCounter()
    let other = DisposalCounter()
    let keys = Protected<CompositeDisposable.DisposeKey?>(nil)
    all.insert(
      Disposables.create {
        #expect(all.isDisposed)
        #expect(all.insert(late) == nil)
        #expect(late.value == 1)
        if let key = keys.withLock({ $0 }) { all.remove(for: key) }
        all.dispose()
      })
    let key = try #require(all.insert(other))
    keys.withLock { $0 = key }
    all.dispose()
    #expect(late.value == 1)
    #expect(other.value == 1)
  }

  @Test("a composite inside itself is disposed like any other")
  func cycle() {
    let all = CompositeDisposable()
    let child = DisposalCounter()
    all.insert(all)
    all.insert(child)
    all.dispose()
    #expect(child.value == 1)
  }

  @Test("each child that races the disposal is disposed exactly once or handed back")  // CD1, CD2
  func race() {
    for _ in 0..<100 {
      let all = CompositeDisposable()
      let children = (0..<80).map { _ in DisposalCounter() }
      let handedBack = DisposalCounter()
      raceDisposal(threads: 5) { index in
        if index == 4 { return all.dispose() }
        for (number, child) in children[(index * 20)..<(index * 20 + 20)].enumerated() {
          guard let key = all.insert(child) else { continue }
          if number % 3 == 0 { all.remove(for: key) }
          if number % 3 == 1, all.take(for: key) != nil {
            child.dispose()
            handedBack.dispose()
          }
        }
      }
      #expect(children.allSatisfy { $0.value == 1 })
      #expect(handedBack.value <= 28)
      #expect(all.count == 0)
    }
  }

  @Test("children are released when dispose returns, each before the next is disposed")  // CD3
  func captures() {
    let all = CompositeDisposable()
    let log = DisposalLog()
    for name in ["1", "2"] {
      let notice = DeathNotice { log.add("\(name) gone") }
      all.insert(
        Disposables.create {
          log.add(name)
          withExtendedLifetime(notice) {}
        })
    }
    #expect(log.all == [])
    all.dispose()
    #expect(log.all == ["1", "1 gone", "2", "2 gone"])
  }
}
