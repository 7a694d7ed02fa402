import Foundation
import Scheduler
import TestSupport
import Testing

/// In processes of their own, because they end what all share. What concerns the main thread, which is not a test's, is
/// in Tests/Integration/EndsClean.
@Suite(.nothingIsLeft) struct SchedulersShutdownTests {
  @Test(
    "outstanding work runs, or is dropped, and then no thread and no object is left", arguments: [true, false])
  func outstanding(runs: Bool) async {
    await withExitArgument(runs) {
      await #expect(processExitsWith: .success) {
        let runs: Bool = exitArgument()
        let count = Counter()
        let pool = ConcurrentScheduler(), queue = SerialScheduler(), background = SubscriptionScheduler.instance
        let hold = block(queue)
        for scheduler: any ImmediateSchedulerType in [queue, queue, queue] {
          scheduler.schedule { count.increment() }
        }
        for scheduler: any SchedulerType in [pool, queue, background] {
          scheduler.schedule(after: .seconds(60)) { count.increment() }
        }
        ImmediateScheduler.instance.schedule(after: .milliseconds(1)) {}
        CurrentThreadScheduler.instance.schedule { CurrentThreadScheduler.instance.schedule {} }
        hold.open()
        Schedulers.shutdown(runs ? .runOutstanding : .dropOutstanding)
        if runs { #expect(count.value == 3) }
        #expect(Diagnostics.live.isEmpty && Diagnostics.live.threads == 0)
        Schedulers.shutdown()
      }
    }
  }

  @Test("schedulers of the old pool refuse; later ones work, until the next shutdown")
  func afterwards() async {
    await #expect(processExitsWith: .success) {
      let old: [any SchedulerType] = [
        ConcurrentScheduler(), SerialScheduler(), SerialScheduler(target: SerialScheduler()),
      ]
      let custom = CustomScheduler { work in work() }
      custom.schedule(after: .milliseconds(1)) {}
      let cancelledLate = old.map { $0.schedule(after: .seconds(60)) {} }
      Schedulers.shutdown(.dropOutstanding)
      let ran = Counter()
      for scheduler in old + [MainScheduler.asyncInstance] {
        let action = scheduler.schedule { ran.increment() }
        #expect(action.isDisposed)
        let delayed = scheduler.schedule(after: .zero) { ran.increment() }
        #expect(delayed.isDisposed)
      }
      let late = custom.schedule(after: .milliseconds(1)) {}
      #expect(late.isDisposed)
      for each in cancelledLate { each.dispose() }
      #expect(Diagnostics.live.threads == 0 && Diagnostics.live.jobs == 0)

      let new: [any SchedulerType] = [ConcurrentScheduler(), SerialScheduler(), SubscriptionScheduler.instance]
      for scheduler in new {
        let done = Gate()
        scheduler.schedule(after: .milliseconds(1)) { done.open() }
        #expect(done.wait())
      }
      #expect((try? synchronously { try runAndWait { 7 } }) == 7)
      #expect(Diagnostics.live.threads > 0)
      Schedulers.shutdown()
      #expect(Diagnostics.live.threads == 0 && Diagnostics.live.jobs == 0 && ran.value == 0)
    }
  }

  @Test("tasks that run on the pool outlive it") func tasks() async {
    await #expect(processExitsWith: .success) {
      let late = Task.detached {
        try synchronously { try runAndWait { for _ in 0..<200 { try await Task.sleep(for: .milliseconds(1)) } } }
        return 7
      }
      for _ in 0..<20 {
        try await Task.sleep(for: .milliseconds(5))
        await Task.detached { Schedulers.shutdown() }.value
      }
      #expect(try await late.value == 7)
    }
  }

  @Test("an action that runs while the pool ends finds its current scheduler, which is of that pool")
  func currentMeanwhile() async {
    await #expect(processExitsWith: .success) {
      for _ in 0..<Scale.count(10) {
        let began = Gate(), wrong = Counter(), many = 4
        let look: @Sendable () -> Void = {
          began.open()
          // Waits until the pool ends and accepts no more work. All these actions wait at the same time. A later pool
          // would never be ended.
          let isRefused = ConcurrentScheduler.withReplacementThread {
            eventually {
              let current = Schedulers.current as? ConcurrentScheduler
              if current == nil || Schedulers.enclosing !== current { wrong.increment() }
              return current?.schedule {}.isDisposed == true
            }
          }
          if !isRefused { wrong.increment() }
          for _ in 0..<50 {
            if !(Schedulers.current is ConcurrentScheduler) { wrong.increment() }
            usleep(100)
          }
        }
        for number in 0..<many {
          if number % 2 == 0 { Thread.detachNewThread { try? runAndWait { () async -> Void in look() } } }
          if number % 2 == 1 { ConcurrentScheduler().schedule(look) }  // and is gone
        }
        for _ in 0..<many { began.wait() }
        Schedulers.shutdown()
        #expect(wrong.value == 0 && Diagnostics.live.threads == 0)
      }
    }
  }

  @Test("submissions that race the shutdown run or are refused, and nothing is left") func races() async {
    await #expect(processExitsWith: .success) {
      for _ in 0..<Scale.count(20) {
        let submitted = Counter(), over = Counter(), ready = Gate()
        let witnesses = Counter()
        let submitters = Task.detached {
          onThreads(3) { index in
            let schedulers: [any SchedulerType] = [ConcurrentScheduler(), SerialScheduler()]
            ready.open()
            for number in 0..<200 {
              submitted.increment()
              let witness = Witness(witnesses)
              let scheduler = schedulers[number % 2]
              if number % 3 == 0 {
                scheduler.schedule(after: .microseconds(1)) { witness.touch() }
              } else {
                scheduler.schedule { witness.touch() }
              }
            }
            over.increment()
          }
        }
        ready.wait()
        Schedulers.shutdown(Bool.random() ? .runOutstanding : .dropOutstanding)
        await submitters.value
        Schedulers.shutdown()
        #expect(witnesses.value == submitted.value)
        #expect(Diagnostics.waitUntilEmpty().isEmpty)
      }
    }
  }

  @Test("inside of an action it is reported") func inside() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let over = Gate()
      ConcurrentScheduler().schedule {
        Schedulers.shutdown()
        over.open()
      }
      over.wait()
    }
    expectMessage(result, "Scheduler: Schedulers.shutdown: called inside of an action", "Call it outside")
  }
}
