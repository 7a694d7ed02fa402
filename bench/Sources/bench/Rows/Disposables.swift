import Scheduler

/// A target by RxSwift's figure on the reference machine, which is not built here.
private func rxSwift(_ nanoseconds: Double, _ times: Double) -> Target {
  let most = nanoseconds / times
  return .fixed(most, "≤\(most.short): 1/\(times.short) of RxSwift's \(nanoseconds.short) on the reference machine")
}

private func each(_ body: @escaping @Sendable () -> Void) -> @Sendable (Int) -> Double {
  { count in time { for _ in 0..<count { body() } } }
}

private let shared = CompositeDisposable()

let disposableRows = [
  Row(
    id: "D1a", work: "a disposable of a closure: create, dispose",
    contenders: [.ours("Disposables.create", each { Disposables.create {}.dispose() })],
    targets: [rxSwift(90, 3), .limit("L7", 3)]),
  Row(
    id: "D1c", work: "a composite: insert a disposable of a closure, dispose all",
    contenders: [
      .ours(
        "CompositeDisposable",
        each {
          let composite = CompositeDisposable()
          composite.insert(Disposables.create {})
          composite.dispose()
        })
    ],
    targets: [rxSwift(1_471, 10)]),
  Row(
    id: "D1k", work: "a composite that lives: insert, remove by key",
    contenders: [
      .ours(
        "CompositeDisposable",
        each { if let key = shared.insert(Disposables.create {}) { shared.remove(for: key) } })
    ]),
  Row(
    id: "D1s", work: "a single assignment: create, assign a disposable of a closure, dispose",
    contenders: [
      .ours(
        "SingleAssignmentDisposable",
        each {
          let single = SingleAssignmentDisposable()
          single.setDisposable(Disposables.create {})
          single.dispose()
        })
    ],
    targets: [rxSwift(182, 3)]),
]
