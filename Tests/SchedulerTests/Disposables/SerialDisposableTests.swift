import Foundation
import Scheduler
import SchedulerRx
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

  @Test("a disposable set or swapped in after the disposal is disposed at once")
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

  @Test("a value set inside of a replace wins")  // SD1, SD4
  func replace() {
    let holder = SerialDisposable(), old = DisposalCounter(), outer = DisposalCounter(), inner = DisposalCounter()
    holder.disposable = old
    holder.replace {
      #expect(old.value == 0)
      holder.disposable = inner
      #expect(old.value == 1)
      return outer
    }
    #expect(holder.disposable as? DisposalCounter === inner)
    #expect(outer.value == 1 && inner.value == 0)
    holder.replace { DisposalCounter() }
    #expect(inner.value == 1)
  }

  @Test("of replaces inside of each other the innermost wins, also where that puts nothing")
  func nestedReplace() {
    let holder = SerialDisposable(), counters = (0..<5).map { _ in DisposalCounter() }
    func begin(_ depth: Int) -> any Disposable {
      if depth < 4 { holder.replace { begin(depth + 1) } }
      return counters[depth]
    }
    holder.replace { begin(0) }
    #expect(counters.map(\.value) == [1, 1, 1, 1, 0])
    holder.replace {
      holder.replace { nil }
      return counters[0]
    }
    #expect(holder.disposable == nil && counters.map(\.value) == [2, 1, 1, 1, 1])
  }

  @Test("of two replaces the one that began later wins, whichever ends first")
  func laterReplace() {
    for laterEndsFirst in [false, true] {
      let holder = SerialDisposable(), earlier = DisposalCounter(), later = DisposalCounter()
      let hasBegun = Gate(), mayEnd = Gate(), hasEnded = Gate()
      holder.replace {
        Thread.detachNewThread {
          holder.replace {
            hasBegun.open()
            if !laterEndsFirst { mayEnd.wait() }
            return later
          }
          hasEnded.open()
        }
        hasBegun.wait()
        if laterEndsFirst { hasEnded.wait() }
        return earlier
      }
      if !laterEndsFirst {
        mayEnd.open()
        hasEnded.wait()
      }
      #expect(holder.disposable as? DisposalCounter === later && earlier.value == 1 && later.value == 0)
      holder.dispose()
    }
  }

  @Test("a replace whose begin throws, or disposes, or follows the disposal, leaves nothing undisposed")
  func replaceEnds() throws {
    let holder = SerialDisposable(), held = DisposalCounter()
    holder.disposable = held
    #expect(throws: CancellationError.self) { try holder.replace { throw CancellationError() } }
    #expect(holder.disposable as? DisposalCounter === held && held.value == 0)
    let late = DisposalCounter()
    holder.replace {
      holder.dispose()
      return late
    }
    #expect(held.value == 1 && late.value == 1 && holder.disposable == nil)
    holder.replace { late }
    #expect(late.value == 2)
  }

  @Test("work that begins the next at once continues, where an assignment would have disposed it")
  func trap() {
    let assigned = SerialDisposable(), replaced = SerialDisposable(), newest = DisposalCounter()
    assigned.disposable = ImmediateScheduler.instance.schedule { assigned.disposable = newest }
    #expect(newest.value == 1)  // the trap
    replaced.replace { ImmediateScheduler.instance.schedule { replaced.disposable = newest } }
    #expect(newest.value == 1)
    replaced.dispose()
    #expect(newest.value == 2)
  }

  @Test("replaces that race assignments and a disposal dispose each exactly once")
  func raceReplace() {
    for _ in 0..<100 {
      let holder = SerialDisposable()
      let children = (0..<80).map { _ in DisposalCounter() }
      raceDisposal(threads: 5) { index in
        if index == 4 { return holder.dispose() }
        for child in children[(index * 20)..<(index * 20 + 20)] {
          if index % 2 == 0 { holder.replace { child } } else { holder.disposable = child }
        }
      }
      #expect(children.allSatisfy { $0.value == 1 })
    }
  }

  @Test("the old value is released when the assignment or the disposal is over")
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

  @Test("each of the disposables that 4 threads set while one disposes is disposed exactly once")  // SD1
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

  @Test("readers that race setters see a disposable that is alive")  // SD2
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
