import Dispatch
import Foundation
import Scheduler
import SchedulerVirtualTime
import TestSupport
import Testing

/// The limits of tests whose body is left soon.
private let impatient = VirtualTime.Limits(jobs: 10_000, patience: .milliseconds(50))

/// The limits of tests that wait for other threads, which a busy machine may delay.
private let patient = VirtualTime.Limits(patience: .seconds(600))

/// Runs `action` on another thread, after the calling task has been suspended: in virtual time no other runs before.
private func elsewhere(_ action: @escaping @Sendable () -> Void) {
  let suspended = DispatchSemaphore(value: 0)
  Task.detached { suspended.signal() }
  DispatchQueue.global().async {
    suspended.wait()
    action()
  }
}

@Suite(.nothingIsLeft, .enabled(if: VirtualTime.isAvailable)) struct VirtualEndTests {
  @Test(
    "a cancelled wait continues in virtual time, at its instant", arguments: [nil, 1, 7] as [UInt64?])
  func cancelled(seed: UInt64?) async throws {
    try await withVirtualTime(seed: seed, limits: patient) { time in
      let scheduler = time.scheduler, queue = SerialScheduler(target: scheduler)
      let waits: [@Sendable () async throws -> Void] = [
        { try await scheduler.sleep(for: .seconds(60)) },
        { try await time.sleep(for: .seconds(60)) },
        { try await time.clock.sleep(for: .seconds(60)) },
        { try await queue.sleep(for: .seconds(60)) },
        { for try await _ in scheduler.ticks(every: .seconds(60)) {} },
        { try await Task.sleep(for: .seconds(60)) },
      ]
      let ticking = Task { while true { try await Task.sleep(for: .milliseconds(1)) } }
      for wait in waits {
        let start = time.now, task = Task { try await wait() }
        await time.advance(by: .milliseconds(5))
        task.cancel()
        _ = await task.result
        #expect(time.now == start.advanced(by: .milliseconds(5)))
      }
      let start = time.now
      for _ in 0..<100 {  // the loser of each is cancelled
        try await withThrowingTaskGroup(of: Void.self) { race in
          race.addTask { try await scheduler.sleep(for: .milliseconds(10)) }
          race.addTask { try await scheduler.sleep(for: .milliseconds(50)) }
          try await race.next()
          race.cancelAll()
        }
      }
      #expect(time.now == start.advanced(by: .seconds(1)))
      ticking.cancel()
      #expect(time.escapes == 0)
    }
  }

  @Test("a sleep that begins on the thread of an actor moves time, as any")
  func sleepElsewhere() async throws {
    actor Pinned {
      private let thread: ThreadScheduler
      nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }
      init(_ thread: ThreadScheduler) { self.thread = thread }

      func sleep(_ time: VirtualTime) async throws -> MonotonicTime {
        usleep(30_000)  // virtual time finds nothing to do meanwhile
        try await time.sleep(for: .seconds(3))
        return time.now
      }
    }
    let thread = try ThreadScheduler(name: "pinned"), pinned = Pinned(thread)
    try await withVirtualTime(limits: patient) { time in
      let woken = try await pinned.sleep(time)
      #expect(woken == MonotonicTime(nanoseconds: 3_000_000_000))
    }
    await thread.stopAndJoin()
  }

  @Test("a task on another thread that waits for virtual time is found at any instant")
  func runElsewhere() async throws {
    actor Pinned {
      private let thread: ThreadScheduler
      nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }
      init(_ thread: ThreadScheduler) { self.thread = thread }

      func run(_ time: VirtualTime, after spins: Int) async {
        for _ in 0..<spins { _ = time.now }
        if spins % 2 == 0 { await time.run() } else { await time.advance(by: .seconds(1)) }
      }
    }
    let thread = try ThreadScheduler(name: "pinned"), pinned = Pinned(thread)
    try await withVirtualTime(limits: VirtualTime.Limits(patience: .seconds(50))) { time async throws in
      for i in 0..<Scale.count(4_000) { await pinned.run(time, after: i % 200) }
    }
    await thread.stopAndJoin()
  }

  @Test("a body that waits for something that never happens gets an error, and is cancelled")
  func stalled() async throws {
    let wasCancelled = Protected(false)
    await #expect(throws: VirtualTimeError.stalled(at: MonotonicTime(nanoseconds: 7_000_000_000))) {
      try await withVirtualTime(limits: impatient) { time async throws in
        try await time.sleep(for: .seconds(7))
        for await _ in AsyncStream<Int>.makeStream().stream {}
        wasCancelled.write(Task.isCancelled)
      }
    }
    #expect(wasCancelled.read())
  }

  @Test("a body that repeats for ever gets an error")
  func endless() async throws {
    await #expect(throws: VirtualTimeError.endless(jobs: 10_000)) {
      try await withVirtualTime(limits: impatient) { time async throws in
        let ticking = Task { while !Task.isCancelled { try await time.sleep(for: .seconds(1)) } }
        defer { ticking.cancel() }
        await time.run()
      }
    }
  }

  @Test("a body that throws nothing, and has no end, stops the process with a message")
  func stops() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      await withVirtualTime(seed: 3, limits: impatient) { _ in
        await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
      }
    }
    expectMessage(
      result, "withVirtualTime: ", "VirtualEndTests.swift:",
      ", seed 3: the body has not ended, and nothing of it can run")
  }

  // A remaining object is a leak, which the address sanitizer reports.
  @Test("a body that does not heed its cancellation is left, too", .enabled(if: Scale.sanitizer != .address))
  func left() async {
    await #expect(processExitsWith: .success) {
      await #expect(throws: VirtualTimeError.stalled(at: MonotonicTime(nanoseconds: 0))) {
        try await withVirtualTime(limits: impatient) { _ async throws in
          await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
        }
      }
      #expect(await withVirtualTime { _ in 1 } == 1)
    }
  }

  @Test("so it is when its caller was cancelled", .enabled(if: Scale.sanitizer != .address))
  func leftByCancelledCaller() async {
    await #expect(processExitsWith: .success) {
      let caller = Task {
        try await withVirtualTime(limits: impatient) { _ async throws in
          await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
        }
      }
      caller.cancel()
      await #expect(throws: VirtualTimeError.stalled(at: MonotonicTime(nanoseconds: 0))) { try await caller.value }
    }
  }

  @Test("inside of another one it is refused, in tasks of that one too")
  func nested() async throws {
    try await withVirtualTime { time async throws in
      await #expect(throws: VirtualTimeError.nested) { try await withVirtualTime { _ async throws in } }
      let task = Task.detached { try await withVirtualTime { _ async throws in } }
      await #expect(throws: VirtualTimeError.nested) { try await task.value }
    }
  }

  @Test("many at once do not affect each other, nor tasks in real time")
  func manyAtOnce() async throws {
    let start = ContinuousClock.now
    let outside = Task {
      for _ in 0..<20 { try await Task.sleep(for: .milliseconds(1)) }
      return ContinuousClock.now - start
    }
    try await withThrowingTaskGroup(of: UInt64.self) { group in
      for number in 1...20 {
        group.addTask {
          try await withVirtualTime { time in
            // Thousands, because the duration of a sleep after work is estimated: a second's delay of a thread could
            // make 15 of 16.
            for _ in 0..<100 { try await Task.sleep(for: .seconds(1_000 * number)) }
            return time.now.nanoseconds / 100_000_000_000_000
          }
        }
      }
      var seen: Set<UInt64> = []
      for try await number in group { seen.insert(number) }
      #expect(seen == Set(1...20))
    }
    #expect(try await outside.value >= .milliseconds(20))
  }

  @Test("the order of objects in memory does not mislead the first virtual time of a process", arguments: 0..<7)
  func beginsAnywhere(_ shift: Int) async {
    await withExitArgument(shift) {
      await #expect(processExitsWith: .success) {
        let shift: Int = exitArgument()
        // An actor takes 113 to 120 bytes, its job 73 to 88: free blocks of such sizes lie side by side, in an order
        // that differs each time.
        func allocate(_ size: Int) -> UnsafeMutableRawPointer { .allocate(byteCount: size, alignment: 8) }
        let taken = (0..<2_000).flatMap { _ in [allocate(120), allocate(88)] }
        let free = (0..<7).map { _ in (allocate(120), allocate(88)) }
        for index in free.indices {
          free[index].0.deallocate()
          free[(index + shift) % free.count].1.deallocate()
        }
        await withVirtualTime { _ in
          actor Inside {
            var calls = 0
            func call() -> Task<Void, Never> { Task { calls += 1 } }
          }
          let inside = Inside()
          for _ in 0..<100 { await inside.call().value }
        }
        for each in taken { each.deallocate() }
      }
    }
  }

  @Test("a task from outside that one inside resumes continues outside, in real time")
  func resumedFromInside() async throws {
    let (stream, source) = AsyncStream<Int>.makeStream()
    let outside = Task {
      var sum = 0
      for await value in stream { sum += value }
      let start = ContinuousClock.now
      try await Task.sleep(for: .milliseconds(5))
      return (sum, ContinuousClock.now - start)
    }
    await withVirtualTime { time in
      for value in 1...10 {
        source.yield(value)
        await time.advance(by: .seconds(1))
      }
      source.finish()
      await time.advance(by: .seconds(1))
      #expect(time.escapes == 0)
    }
    let (sum, slept) = try await outside.value
    #expect(sum == 55)
    #expect(slept >= .milliseconds(5))
  }

  @Test("a task that another thread resumes returns to virtual time, and is counted")
  func escapes() async throws {
    await withVirtualTime(limits: patient) { time in
      await withCheckedContinuation { continuation in elsewhere { continuation.resume() } }
      #expect(time.escapes == 1)
      await time.advance(by: .seconds(1))
      #expect(time.now.nanoseconds == 1_000_000_000)
      #expect(time.escapes == 1)
    }
  }

  @Test("a task of an actor that another thread resumes returns to virtual time, too")
  func escapesOfActors() async throws {
    actor Reader {
      func read() async -> Int {
        await withCheckedContinuation { continuation in
          elsewhere { continuation.resume(returning: 3) }
        }
      }
    }
    await withVirtualTime(limits: patient) { time in
      let reader = Reader()
      #expect(await Task { await reader.read() }.value == 3)
      #expect(time.escapes == 1)
    }
  }

  @Test("an actor with a thread of its own is outside, and its caller returns to virtual time")
  func actorsWithThreads() async throws {
    actor Pinned {
      let thread: ThreadScheduler
      nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }
      init(_ thread: ThreadScheduler) { self.thread = thread }
      func isOnThread() -> Bool { thread.isOnThread }
    }
    let thread = try ThreadScheduler(name: "pinned")
    let escapes = await withVirtualTime(limits: patient) { time in
      let pinned = Pinned(thread)
      for _ in 0..<10 { #expect(await pinned.isOnThread()) }
      await time.advance(by: .seconds(1))
      return time.escapes
    }
    #expect(escapes == 10)
    await thread.stopAndJoin()
  }

  @Test("a task that outlives the body ends its sleep on the clock by CancellationError, and continues outside")
  func outlives() async throws {
    let (task, time) = await withVirtualTime { time in
      let task = Task {
        await #expect(throws: CancellationError.self) { try await time.sleep(for: .seconds(1)) }
        await #expect(throws: CancellationError.self) { try await time.clock.sleep(for: .seconds(1)) }
        await time.advance(by: .seconds(1))
        await time.run()
        let start = ContinuousClock.now
        try await Task.sleep(for: .milliseconds(5))
        return ContinuousClock.now - start
      }
      await time.advance(by: .zero)
      return (task, time)
    }
    #expect(try await task.value >= .milliseconds(5))
    #expect(time.now.nanoseconds == 0)
  }

  @Test("Task.sleep waits for its rest in real time when the body has ended before")
  func outlivesInSwiftsTime() async throws {
    let task = await withVirtualTime { time in
      let task = Task { try await Task.sleep(for: .milliseconds(1_005)) }
      await time.advance(by: .seconds(1))
      return task
    }
    try await task.value
  }

  @Test("cancelling the caller cancels the body")
  func cancelled() async throws {
    let (started, start) = AsyncStream<Void>.makeStream()
    let caller = Task {
      try await withVirtualTime(limits: patient) { time async throws in
        start.finish()
        for await _ in AsyncStream<Int>.makeStream().stream {}
        try Task.checkCancellation()
      }
    }
    for await _ in started {}
    caller.cancel()
    await #expect(throws: CancellationError.self) { try await caller.value }
  }
}
