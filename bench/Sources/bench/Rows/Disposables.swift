import BenchKit
import CBench
import Dispatch
import Scheduler
import SchedulerRx

private func each(_ body: @escaping @Sendable () -> Void) -> @Sendable (Int) -> Double {
  { count in time { for _ in 0..<count { body() } } }
}

private let shared = CompositeDisposable()

/// What a disposable cannot do without: an object that holds a closure, made and let go. Nothing of it is inlined, or
/// it would be no object.
private final class Bare {
  private let body: () -> Void
  @inline(never) init(_ body: @escaping () -> Void) { self.body = body }
  @inline(never) func call() { body() }
}

private final class BarePair {
  private let first: Bare
  @inline(never) init(_ first: Bare) { self.first = first }
  @inline(never) func call() { first.call() }
}

@inline(never) private func bare() -> Bare { Bare {} }
@inline(never) private func barePair() -> BarePair { BarePair(bare()) }

// MARK: schedule, put in a bag, dispose

/// Actions that wait in one bag.
private let batch = 64

/// Schedules on a busy thread, puts what comes into a bag, disposes of the bag; `count` in all.
private func bagged(_ count: Int) -> Double {
  let busy = DispatchSemaphore(value: 0), isBusy = DispatchSemaphore(value: 0), done = DispatchSemaphore(value: 0)
  var took = 0.0, left = count
  while left > 0 {
    left -= 4_096
    thread.schedule {
      isBusy.signal()
      busy.wait()
    }
    isBusy.wait()
    took += time {
      for _ in 0..<(4_096 / batch) {
        let bag = DisposeBag()
        for _ in 0..<batch { thread.schedule {}.store(in: bag) }
      }
    }
    thread.schedule { done.signal() }
    busy.signal()
    done.wait()
  }
  return took * Double(count) / Double((count + 4_095) / 4_096 * 4_096)
}

/// The same with work items in an array, which are cancelled: Dispatch has no bag.
private func cancelledItems(_ count: Int) -> Double {
  let busy = DispatchSemaphore(value: 0)
  var took = 0.0, left = count
  while left > 0 {
    left -= 4_096
    serial.async { busy.wait() }
    took += time {
      for _ in 0..<(4_096 / batch) {
        var items: [DispatchWorkItem] = []
        for _ in 0..<batch {
          let item = DispatchWorkItem {}
          serial.async(execute: item)
          items.append(item)
        }
        for item in items { item.cancel() }
      }
    }
    busy.signal()
    serial.sync {}
  }
  return took * Double(count) / Double((count + 4_095) / 4_096 * 4_096)
}

let disposableRows = [
  Row(
    "D1a", "a disposable of a closure: create, dispose",
    [
      .ours("Disposables.create", each { Disposables.create {}.dispose() }),
      .peer("a bare object", each { bare().call() }),
    ], targets: [.peer("a bare object", 1.2)], references: ["RxSwift 6.10 90 ns on another machine"]),
  Row(
    "D1s", "a single assignment: create, assign a disposable of a closure, dispose",
    [
      .ours(
        "SingleAssignmentDisposable",
        each {
          let single = SingleAssignmentDisposable()
          single.setDisposable(Disposables.create {})
          single.dispose()
        }),
      .peer("two bare objects", each { barePair().call() }),
    ], targets: [.peer("two bare objects", 1.2)], references: ["RxSwift 6.10 182 ns on another machine"]),
  Row(
    "D1c", "a composite: insert a disposable of a closure, dispose all",
    [
      .ours(
        "CompositeDisposable",
        each {
          let composite = CompositeDisposable()
          composite.insert(Disposables.create {})
          composite.dispose()
        })
    ], targets: [.scaled(131)], references: ["RxSwift 6.10 1471 ns on another machine"]),
  Row(
    "D1k", "a composite that lives: insert, remove by key",
    [
      .ours(
        "CompositeDisposable",
        each { if let key = shared.insert(Disposables.create {}) { shared.remove(for: key) } })
    ], targets: [.scaled(90)]),
  Row(
    "D1h", "schedule on a busy thread, put in a bag, dispose of the bag",
    [.ours("DisposeBag", bagged), .dispatch("cancelled work items", cancelledItems)],
    targets: [.peer("cancelled work items", 0.5)]),
  Row(
    "D1h-allocations", "the same: allocations of each, counted in an untimed process", unit: "allocations",
    [
      Contender("DisposeBag", .ours, allocations(40_960, bagged)),
      Contender("cancelled work items", .dispatch, allocations(40_960, cancelledItems)),
    ], targets: [.promise(0.15, "0 beyond the list: ≤0.15")]),
]
