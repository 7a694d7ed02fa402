import Scheduler
import SchedulerRx
import Synchronization
import TestSupport
import Testing

@Suite("RefCountDisposable", .nothingIsLeft)
struct RefCountDisposableTests {
  @Test("the underlying is disposed once, by the last of primary and dependents", arguments: 0..<4)  // RF1, RF3
  func last(primaryAt: Int) {
    let underlying = DisposalCounter()
    let shared = RefCountDisposable(disposable: underlying)
    let dependents = (0..<3).map { _ in shared.retain() }
    for step in 0..<4 {
      #expect(underlying.value == 0)
      #expect(!shared.isDisposed)
      let one: any Disposable = step == primaryAt ? shared : dependents[step < primaryAt ? step : step - 1]
      one.dispose()
      one.dispose()
    }
    #expect(underlying.value == 1)
    #expect(shared.isDisposed)
    #expect(dependents.allSatisfy { $0.isDisposed })
  }

  @Test("retaining after the primary's disposal holds the underlying up; after its own, nothing is left to hold")
  func late() {
    let underlying = DisposalCounter()
    let shared = RefCountDisposable(disposable: underlying)
    let first = shared.retain()
    shared.dispose()
    let second = shared.retain()
    first.dispose()
    #expect(underlying.value == 0)
    #expect(!second.isDisposed)
    second.dispose()
    #expect(underlying.value == 1)
    let third = shared.retain()
    #expect(third.isDisposed)
    third.dispose()
    #expect(underlying.value == 1)
  }

  @Test("a primary without dependents disposes at once, and releases")
  func alone() {
    weak var weakly: DisposalCounter?
    let shared: RefCountDisposable
    do {
      let underlying = DisposalCounter()
      weakly = underlying
      shared = RefCountDisposable(disposable: underlying)
    }
    #expect(weakly != nil)
    shared.dispose()
    #expect(weakly == nil)
    #expect(shared.isDisposed)
  }

  @Test("a dependent that is released undisposed does not dispose")
  func released() {
    let underlying = DisposalCounter()
    let shared = RefCountDisposable(disposable: underlying)
    _ = shared.retain()
    shared.dispose()
    #expect(underlying.value == 0)
    #expect(!shared.isDisposed)
  }

  @Test("the underlying may retain, dispose and read isDisposed inside its disposal")
  func reentrant() {
    let holder = SerialDisposable()
    let runs = DisposalCounter()
    let shared = RefCountDisposable(
      disposable: Disposables.create {
        let shared = holder.disposable as! RefCountDisposable
        #expect(shared.isDisposed)
        #expect(shared.retain().isDisposed)
        shared.dispose()
        runs.dispose()
      })
    holder.disposable = shared
    let dependent = shared.retain()
    shared.dispose()
    dependent.dispose()
    #expect(runs.value == 1)
  }

  @Test("dependents that race the primary never lose the underlying nor dispose it early")  // RF1, RF2
  func race() {
    let seed = SeededGenerator.freshSeed(for: "RefCountDisposableTests.race")
    for round in 0..<Scale.count(300) {
      let underlying = DisposalCounter()
      let shared = RefCountDisposable(disposable: underlying)
      let held = DisposalCounter()
      raceDisposal(threads: 4) { index in
        var random = SeededGenerator(seed: seed &+ UInt64(round * 4 + index))
        if index == 0 {
          for _ in 0..<Int.random(in: 0..<20, using: &random) { _ = shared.isDisposed }
          return shared.dispose()
        }
        var mine: [any Disposable] = []
        for _ in 0..<20 {
          if mine.isEmpty || Bool.random(using: &random) {
            let dependent = shared.retain()
            if dependent.isDisposed {
              #expect(underlying.value <= 1)
            } else {
              held.dispose()
              mine.append(dependent)
            }
          } else {
            #expect(underlying.value == 0, "disposed under a dependent; seed \(seed)")
            mine.remove(at: Int.random(in: mine.indices, using: &random)).dispose()
          }
        }
        for dependent in mine {
          #expect(underlying.value == 0, "disposed under a dependent; seed \(seed)")
          dependent.dispose()
        }
      }
      #expect(underlying.value == 1, "seed \(seed)")
      #expect(shared.isDisposed)
    }
  }
}
