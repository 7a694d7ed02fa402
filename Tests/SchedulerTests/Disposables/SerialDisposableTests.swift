import Scheduler
import TestSupport
import Testing

@Suite("SerialDisposable", .nothingIsLeft)
struct SerialDisposableTests {
  @Test("setting disposes the old one, with the new one in place")
  func set() {
    let holder = SerialDisposable()
    let log = DisposalLog()
    let second = DisposalCounter()
    holder.disposable = Disposables.create {
      #expect(holder.disposable as? DisposalCounter === second)
      log.add("first")
    }
    #expect(log.all == [])
    holder.disposable = second
    #expect(log.all == ["first"])
    #expect(second.value == 0)
    holder.disposable = nil
    #expect(second.value == 1)
    #expect(holder.disposable == nil)
  }

  @Test("swapping hands the old one back undisposed")
  func swap() {
    let holder = SerialDisposable()
    let first = DisposalCounter()
    #expect(holder.swap(first) == nil)
    #expect(holder.swap(DisposalCounter()) as? DisposalCounter === first)
    #expect(first.value == 0)
    holder.dispose()
    #expect(first.value == 0)
  }

  @Test("what is set or swapped in after the disposal is disposed at once")
  func afterDisposal() {
    let holder = SerialDisposable()
    holder.dispose()
    #expect(holder.isDisposed)
    let child = DisposalCounter()
    holder.disposable = child
    #expect(child.value == 1)
    #expect(holder.swap(child) == nil)
    #expect(child.value == 2)
    #expect(holder.disposable == nil)
  }

  @Test("what was held is gone when the assignment or the disposal is over")
  func captures() {
    let holder = SerialDisposable()
    weak var weakly: DisposalCounter?
    func put() {
      let child = DisposalCounter()
      weakly = child
      holder.disposable = child
    }
    put()
    #expect(weakly != nil)
    holder.disposable = nil
    #expect(weakly == nil)
    put()
    holder.dispose()
    #expect(weakly == nil)
  }

  @Test("each of the disposables that 4 threads set while one disposes is disposed exactly once")
  func race() {
    for _ in 0..<100 {
      let holder = SerialDisposable()
      let children = (0..<80).map { _ in DisposalCounter() }
      raceDisposal(threads: 5) { index in
        if index == 4 { return holder.dispose() }
        for child in children[(index * 20)..<(index * 20 + 20)] {
          if child === children[index * 20] {
            holder.swap(child)?.dispose()
          } else {
            holder.disposable = child
          }
        }
      }
      #expect(children.allSatisfy { $0.value == 1 })
      #expect(holder.disposable == nil)
    }
  }

  @Test("readers that race setters see a disposable that is alive")
  func raceGet() {
    let holder = SerialDisposable()
    raceDisposal(threads: 4) { index in
      for _ in 0..<500 {
        if index < 2 {
          holder.disposable = DisposalCounter()
        } else if let found = holder.disposable {
          #expect(found is DisposalCounter)
        }
      }
    }
    holder.dispose()
  }
}
