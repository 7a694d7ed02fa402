// The Swift module's single-threaded paths, to be counted by Tools/counts: CountedPaths NAME N runs one of them N
// times. Without arguments it names them. Nothing here depends on time or chance, so that two runs have the same
// instructions.
import Scheduler
import SchedulerRx

private let main = MainScheduler.asyncInstance
private let trampoline = CurrentThreadScheduler.instance
private let anyMain: any SchedulerType = main, anyTrampoline: any ImmediateSchedulerType = trampoline
private let noWork: @Sendable () -> Void = {}

/// A chain of actions each of which returns the disposable of the next.
@Sendable private func hop(_ left: Int) -> any Disposable {
  left == 0 ? Disposables.create() : trampoline.schedule(left - 1, action: hop)
}

/// As `hop`, through the protocol.
@Sendable private func anyHop(_ left: Int) -> any Disposable {
  left == 0 ? Disposables.create() : anyTrampoline.schedule(left - 1, action: anyHop)
}

/// A source that is over at once.
private let just = BlockingObservable { next, end in
  if next(1) { end(nil) }
  return Disposables.create()
}

private let paths: KeyValuePairs<String, (Int) -> Void> = [
  "protected_withLock": { count in
    let value = Protected(0)
    for _ in 0..<count { value.withLock { $0 += 1 } }
  },
  "immediate_schedule": { count in
    for _ in 0..<count { ImmediateScheduler.instance.schedule(noWork) }
  },
  "trampoline_outermost": { count in
    for _ in 0..<count { trampoline.schedule(noWork) }
  },
  "trampoline_nested": { count in
    trampoline.schedule { for _ in 0..<count { trampoline.schedule(noWork) } }
  },
  "trampoline_chain": { count in _ = trampoline.schedule(count, action: hop) },
  "any_trampoline_chain": { count in _ = anyTrampoline.schedule(count, action: anyHop) },
  "any_returning_run": { count in
    for _ in 0..<count {
      anyMain.schedule(1) { _ in Disposables.create() }
      MainScheduler.runUntilIdle()
    }
  },
  "any_delayed_dispose": { count in
    for _ in 0..<count { anyMain.schedule(after: .seconds(1_000_000), noWork).dispose() }
  },
  "any_delayed_returning_dispose": { count in
    for _ in 0..<count {
      anyMain.schedule(1, after: .seconds(1_000_000)) { _ in Disposables.create() }.dispose()
    }
  },
  "main_schedule_run": { count in
    for _ in 0..<count {
      main.schedule(noWork)
      MainScheduler.runUntilIdle()
    }
  },
  "main_schedule_dispose": { count in
    for _ in 0..<count {
      main.schedule(noWork).dispose()
      MainScheduler.runUntilIdle()
    }
  },
  "main_delayed_dispose": { count in
    for _ in 0..<count { main.schedule(after: .seconds(1_000_000), noWork).dispose() }
  },
  "recursive_step": { count in
    trampoline.scheduleRecursive(count) { left, again in if left > 0 { again(left - 1) } }
  },
  "virtual_schedule_step": { count in
    let scheduler = TestScheduler()
    for _ in 0..<count {
      scheduler.schedule(after: .seconds(1), noWork)
      scheduler.step()
    }
  },
  "disposable_action": { count in
    for _ in 0..<count { Disposables.create(with: noWork).dispose() }
  },
  "disposable_single": { count in
    for _ in 0..<count {
      let single = SingleAssignmentDisposable()
      single.setDisposable(Disposables.create(with: noWork))
      single.dispose()
    }
  },
  "disposable_composite": { count in
    for _ in 0..<count {
      let composite = CompositeDisposable()
      composite.insert(Disposables.create(with: noWork))
      composite.dispose()
    }
  },
  "disposable_serial": { count in
    let serial = SerialDisposable()
    for _ in 0..<count { serial.disposable = Disposables.create(with: noWork) }
    serial.dispose()
  },
  "disposable_composite_key": { count in
    let composite = CompositeDisposable()
    for _ in 0..<count {
      if let key = composite.insert(Disposables.create(with: noWork)) { composite.remove(for: key) }
    }
  },
  "blocking_just": { count in
    for _ in 0..<count { _ = try? just.first() }
  },
]

let arguments = CommandLine.arguments
if arguments.count < 3 {
  for path in paths { print(path.key) }
} else if let path = paths.first(where: { $0.key == arguments[1] }), let count = Int(arguments[2]) {
  path.value(count)
}
