// The way of a closure, for Tools/way: Way KIND COUNT schedules COUNT closures on a scheduler of that kind, and ends when all have run. Without
// arguments it names the kinds.
import Glibc
import Scheduler
import Synchronization

private let ran = Atomic(0)
private let step: @Sendable () -> Void = { ran.wrappingAdd(1, ordering: .releasing) }

/// One at a time, to threads that have gone to sleep, so that each takes the whole way.
private func schedule(_ count: Int, on scheduler: any ImmediateSchedulerType, moving: () -> Void = {}) {
  for n in 1...count {
    usleep(1_000)
    scheduler.schedule(step)
    moving()
    while ran.load(ordering: .acquiring) < n {}
  }
}

private let kinds: KeyValuePairs<String, (Int) throws -> Void> = [
  "immediate": { schedule($0, on: ImmediateScheduler.instance) },
  "trampoline": { schedule($0, on: CurrentThreadScheduler.instance) },
  "thread": { count in try withExtendedLifetime(ThreadScheduler(name: "way")) { schedule(count, on: $0) } },
  "serial": { schedule($0, on: SerialScheduler()) },
  "concurrent": { schedule($0, on: ConcurrentScheduler()) },
  "main": { schedule($0, on: MainScheduler.asyncInstance) { MainScheduler.runUntilIdle() } },
  "virtual": { count in
    let scheduler = TestScheduler()
    schedule(count, on: scheduler) { scheduler.advance() }
  },
]

private let arguments = CommandLine.arguments
if let kind = kinds.first(where: { $0.key == arguments.dropFirst().first })?.value, let count = Int(arguments[2]) {
  try kind(count)
} else {
  for (name, _) in kinds { print(name) }
}
