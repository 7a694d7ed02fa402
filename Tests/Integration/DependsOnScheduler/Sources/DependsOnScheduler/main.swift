import Scheduler

final class Service: @unchecked Sendable {  // Unchecked: a wrapped property is a `var` to the compiler.
  @Protected var served = 0
  private let thread: ThreadScheduler
  init() throws { thread = try ThreadScheduler(name: "service") }

  func serve(_ count: Int) -> Int {
    for _ in 0..<count { thread.schedule { self.served += 1 } }
    thread.stop()
    thread.join()
    return served
  }
}

let bag = DisposeBag()
AnyDisposable { print("disposed") }.disposed(by: bag)
CurrentThreadScheduler.instance.schedule {
  CurrentThreadScheduler.instance.schedule { print("second") }
  print("first")
}
print("a dependent Swift package served", try Service().serve(1_000))
