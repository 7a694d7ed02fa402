import Foundation
import Grammar
import Scheduler

/// Counts a further action until its end.
final class OtherAction: Sendable {
  let world: World
  init(in world: World) {
    self.world = world
    world.others.change(by: 1)
  }
  deinit { world.others.change(by: -1) }
  func run() {}
}

extension World {
  /// Does the steps of a task.
  func runTask(_ first: Int32, in group: ActionGroup?) async {
    for number in list(first) {
      note(number, "begins")
      await run(number, in: group)
      note(number, "is over")
    }
  }

  private func run(_ number: Int32, in group: ActionGroup?) async {
    let own = step(number), fate = fate(number)
    do {
      switch own.kind {
      case PERFORM:
        let got = try await place(own.node).scheduler.perform { [self] in
          require(fate.runs.change(by: 1) == 1, "step \(number) runs again")
          work(number)
          return number
        }
        require(got == number && fate.hasEnded.value == 1, "step \(number): perform returns before the end of its body")
      case ASYNC_SLEEP:
        let span = Duration.microseconds(Int(own.amount)), due = now + span
        try await place(own.node).scheduler.sleep(for: span)
        require(isRight(now, for: due), "step \(number): a sleep ends at \(now), not at \(due)")
      case SLEEP:
        // in virtual time the duration of a sleep on Swift's clocks is estimated, rightly if it is long
        try await Task.sleep(for: time == nil ? .microseconds(Int(own.amount)) : .seconds(100 * (1 + own.amount % 9)))
      case ASYNC_LOCK:
        // long and round, because in virtual time the duration of a wait until an instant of Swift's clocks is
        // estimated
        let span = own.amount % 2 == 0 ? Duration.seconds(100 * (1 + own.amount % 9)) : endless[2], due = now + span
        func body(_ value: inout Int) async throws {
          require(value == 0, "step \(number): another task has the lock")
          value = 1
          await runTask(own.first, in: nil)
          value = 0
        }
        if own.amount % 3 == 0 {
          try await asyncLock.withLock { try await body(&$0) }
        } else {
          do { try await asyncLock.withLock(deadline: .now + span) { try await body(&$0) } } catch SchedulerError
            .timeout
          {
            require(isRight(now, for: due), "step \(number): a timeout comes at \(now), not at \(due)")
          }
        }
      case ASYNC_GROUP:
        let group = ActionGroup()
        synchronously { runBody(own.first, on: none, in: group) }
        try await group.waitForAll()
        checkMembers(of: number)
      case ASYNC_UNIT where own.amount % 2 == 0:
        // The queue's action signals the unit, while the handler of the task that waits for the unit waits for the
        // queue.
        guard let queue = place(own.node).scheduler as? SerialScheduler else { break }
        for round in 0..<8 {
          let semaphore = AsyncSemaphore(), action = OtherAction(in: self)
          let waiting = Task {
            await withTaskCancellationHandler {
              try? await semaphore.wait()
            } onCancel: {
              try? queue.trySync {}
            }
          }
          queue.schedule {
            usleep(UInt32(own.amount) * UInt32(round) / 16)
            action.run()
            semaphore.signal()
          }
          await Task.yield()
          waiting.cancel()
          await waiting.value
        }
      case ASYNC_UNIT:
        let semaphore = AsyncSemaphore(), action = OtherAction(in: self)
        place(own.node).scheduler.schedule {
          action.run()
          semaphore.signal()
        } onDrop: { _ in
          semaphore.signal()
        }
        try await semaphore.wait()
      case TIMEOUT:
        let span = own.amount % 8 == 0 ? endless[Int(own.amount) / 8 % 4] : .microseconds(Int(own.amount))
        let due = now + span
        do {
          try await withTimeout(span) {
            await runTask(own.first, in: nil)
            fate.hasEnded.change(by: 1)
            try Task.checkCancellation()
          }
        } catch SchedulerError.timeout {
          require(fate.hasEnded.value == 1, "step \(number): a timeout comes before the end of its body")
          require(isRight(now, for: due), "step \(number): a timeout comes at \(now), not at \(due)")
        }
      case CANCEL_AND_WAIT:
        guard let token = cancelled(own.other) else { break }
        await token.disposeAndWait()
        checkCancelled(own.other)
      case HANDLER:
        let scheduler = place(own.node).scheduler
        await withTaskCancellationHandler {
          await runTask(own.first, in: nil)
        } onCancel: { [self] in
          if let queue = scheduler as? SerialScheduler, own.amount % 2 == 0 {
            try? queue.trySync {}
          } else {
            let action = OtherAction(in: self)
            scheduler.schedule { action.run() }
          }
        }
      default: synchronously { run(number, on: none, in: group) }  // what a thread does, too, without a wait
      }
    } catch {
      switch error {
      case is CancellationError: require(Task.isCancelled, "step \(number): cancelled without a cancel")
      case SchedulerError.stopped:
        require(own.node != none && mayBeRefused(own.node), "step \(number): stopped without a stop")
      default: require(false, "step \(number): \(error)")
      }
      if own.kind == PERFORM {
        require(fate.runs.value == 0, "step \(number): perform throws \(error) beside its body")
      }
    }
  }

  /// For functions that must not be called in a task, though they do not wait here.
  private func synchronously(_ body: () -> Void) { body() }
}
