import Foundation
import Scheduler
import TestSupport
import Testing

@Suite(.nothingIsLeft) struct ActionContextTests {
  @Test("an action runs with its context, on whichever scheduler", arguments: SchedulerUnderTest.all)
  func runs(_ kind: SchedulerUnderTest) throws {
    let scheduler = try kind.make(), group = ActionGroup(), runs = Counter(), calls = Counter()
    group.enter()
    let token = scheduler.schedule { (context: ActionContext) in
      context.onDispose { calls.increment() }
      if !context.isCancelled { runs.increment() }
      group.leave()
    }
    #expect(synchronously { group.wait(for: .seconds(60)) })
    #expect(eventually { token.isDisposed })
    token.disposeAndWait()
    #expect(runs.value == 1 && calls.value == 0)
  }

  // AX1
  @Test("a running action sees its disposal, and its handlers are called in order before that returns") func seen() {
    let workers = ConcurrentScheduler(), begun = Gate(), goOn = Gate(), ended = Gate(), log = Log<String>()
    let token = workers.schedule { context in
      context.onDispose { log.add("first \(context.isCancelled)") }
      let taken = context.onDispose { log.add("taken back") }
      context.onDispose { log.add("second") }
      taken.dispose()
      begun.open()
      goOn.wait()
      context.onDispose { log.add("late") }
      ended.open()
    }
    #expect(synchronously { begun.wait() })
    #expect(!token.isDisposed)
    token.dispose()
    #expect(log.entries == ["first true", "second"])
    token.dispose()
    goOn.open()
    #expect(synchronously { ended.wait() })
    #expect(log.entries == ["first true", "second", "late"])
    token.disposeAndWait()
  }

  @Test("an action that is disposed before it begins never does, and holds nothing") func before() {
    let queue = SerialScheduler(), runs = Counter(), ends = Counter()
    queue.suspend()
    let witness = Protected<Witness?>(Witness(ends))
    let token = queue.schedule { [witness = witness.exchange(nil)!] (context: ActionContext) in
      witness.touch()
      runs.increment()
    }
    token.dispose()
    #expect(ends.value == 1 && token.isDisposed)
    queue.resume()
    queue.drain()
    #expect(runs.value == 0)
    let delayed = queue.schedule(after: .milliseconds(1)) { (context: ActionContext) in runs.increment() }
    #expect(eventually { runs.value == 1 && delayed.isDisposed })
  }

  @Test(
    "a periodic action has a context for each tick, whose disposal ends the ticks",
    arguments: SchedulerUnderTest.queued, [false, true])  // elsewhere a tick that is due at once runs inside `schedule`
  func periodic(_ kind: SchedulerUnderTest, isInside: Bool) throws {
    let scheduler = try kind.make(), queue = SerialScheduler(), children = Counter(), log = Log<String>()
    let ticks = Counter(), ends = Counter(), begun = Gate(), goOn = Gate()
    let witness = Protected<Witness?>(Witness(ends))
    queue.suspend()
    let token = scheduler.schedule(.every(.microseconds(10), after: .microseconds(10))) {
      [witness = witness.exchange(nil)!] context in
      witness.touch()
      let tick = ticks.increment()
      context.onDispose { log.add("handler of \(tick)") }
      context.schedule(on: queue) { _ in children.increment() }
      if tick < 3 { return }
      begun.open()
      goOn.wait()
      if isInside { context.disposeAndWait() }
      log.add(context.isCancelled ? "seen" : "not seen")
    }
    #expect(synchronously { begun.wait() })
    #expect(!token.isDisposed)
    if !isInside {
      token.dispose()
      #expect(log.entries == ["handler of 3"] && token.isDisposed)
    }
    goOn.open()
    #expect(eventually { token.isDisposed })
    token.disposeAndWait()
    #expect(log.entries == ["handler of 3", "seen"] && ticks.value == 3)
    #expect(eventually { ends.value == 1 })
    queue.resume()
    queue.drain()
    #expect(children.value == 0)
  }

  @Test("a kept context of a tick cancels the ticks, and the actions scheduled through it") func keptTick() {
    let clock = TestScheduler(), queue = SerialScheduler(), kept = Protected<[ActionContext]>([]), children = Counter()
    queue.suspend()
    let token = clock.schedule(.every(.seconds(1))) { context in kept.append(context) }
    clock.advance(by: .seconds(3))
    let contexts = kept.read()
    #expect(contexts.count == 3 && contexts.allSatisfy { !$0.isCancelled })
    contexts[0].schedule(on: queue) { _ in children.increment() }
    contexts[1].disposeAndWait()
    contexts[2].schedule(on: queue) { _ in children.increment() }
    #expect(token.isDisposed && contexts.allSatisfy { $0.isCancelled })
    clock.advance(by: .seconds(3))
    queue.resume()
    queue.drain()
    #expect(kept.read().count == 3 && children.value == 0)
  }

  @Test("a context and its children run at the times of their timing, and end with it") func timing() {
    let clock = TestScheduler(), log = Log<String>()
    let at: @Sendable (String) -> Void = { log.add($0) }
    let token = clock.schedule(.after(.seconds(2))) { context in
      at("parent")
      context.schedule(on: clock, .every(.seconds(1))) { child in
        at("child")
        child.schedule(on: clock, .after(.milliseconds(500))) { _ in at("grandchild") }
        child.schedule(on: clock, after: .milliseconds(750)) { _ in at("last") }
      }
    }
    clock.advance(by: .milliseconds(4_600))
    token.dispose()
    clock.advance(by: .seconds(100))
    #expect(log.entries == ["parent", "child", "grandchild", "last", "child", "grandchild"])
    #expect(clock.pendingCount == 0)
  }

  @Test("a member with a context leaves its group, and reports its drop, but no cancel") func members() throws {
    let group = ActionGroup(), thread = try ThreadScheduler(), queue = SerialScheduler(), log = Log<String>()
    queue.suspend()
    group.schedule(on: queue) { context in
      log.add("never \(context.isCancelled)")
    } onDrop: {
      log.add("never \($0)")
    }
    group.schedule(on: queue) {
      log.add("never")
    } onDrop: {
      log.add("never \($0)")
    }
    group.schedule(on: queue) { (_: ActionContext) in log.add("never") }
    group.cancelAll()
    #expect(group.isIdle)
    let begun = Gate(), cancelled = Gate()
    group.schedule(on: thread) { context in
      begun.open()
      cancelled.wait()
      log.add(context.isCancelled ? "cancelled" : "not cancelled")
    } onDrop: {
      log.add("never \($0)")
    }
    begun.wait()
    group.cancelAll()
    thread.stop(.dropOutstanding)
    group.schedule(on: thread) { (_: ActionContext) in
      log.add("never")
    } onDrop: {
      log.add("\($0 == .refused)")
    }
    group.schedule(on: thread) {
      log.add("never")
    } onDrop: {
      log.add("\($0 == .refused)")
    }
    thread.schedule { (_: ActionContext) in
      log.add("never")
    } onDrop: {
      log.add("\($0 == .refused)")
    }
    #expect(log.entries == ["true", "true", "true"])
    cancelled.open()
    synchronously { thread.join() }
    #expect(log.entries.last == "cancelled" && group.isIdle)
    queue.resume()
    queue.drain()
    #expect(log.entries.count == 4)
  }

  // AX4
  @Test("a wait returns after the action and those it scheduled, also after another disposal") func late() {
    let workers = ConcurrentScheduler(), begun = ActionGroup(entered: 2), goOn = Gate(), ends = Counter(),
      waited = Gate()
    let token = workers.schedule { context in
      context.schedule(on: workers) { _ in
        begun.leave()
        ConcurrentScheduler.withReplacementThread { _ = goOn.wait() }
        usleep(20_000)
        ends.increment()
      }
      begun.leave()
      ConcurrentScheduler.withReplacementThread { _ = goOn.wait() }
      usleep(10_000)
      ends.increment()
    }
    #expect(synchronously { begun.wait(for: .seconds(60)) })
    token.dispose()
    Thread.detachNewThread {
      token.disposeAndWait()
      #expect(ends.value == 2)
      waited.open()
    }
    for _ in 0..<2 { goOn.open() }
    #expect(synchronously { waited.wait() })
    #expect(ends.value == 2 && token.isDisposed)
  }

  /// Returns from `schedule` only when the action has begun, and a little later.
  private struct SlowScheduler: ImmediateSchedulerType {
    let base = ConcurrentScheduler()
    @discardableResult
    func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
      let begun = Gate()
      let token = base.schedule {
        begun.open()
        action()
      }
      begun.wait()
      usleep(50_000)
      return token
    }
  }

  @Test("a wait finds an action that runs before its submission has returned") func unsubmitted() throws {
    let workers = ConcurrentScheduler(), thread = try ThreadScheduler(), kept = Protected<ActionContext?>(nil)
    let begun = Gate(), hasEnded = Protected(false)
    let token = workers.schedule { context in kept.write(context) }
    while kept.read() == nil { usleep(100) }
    thread.schedule {
      kept.read()!.schedule(on: SlowScheduler()) { child in
        child.disposeAndWait()  // of the thread's own action: does not wait
        begun.open()
        usleep(100_000)
        hasEnded.write(true)
      }
    }
    begun.wait()
    token.disposeAndWait()
    #expect(hasEnded.read())
    kept.read()!.schedule(on: ImmediateScheduler.instance) { child in child.disposeAndWait() }
    thread.stop()
    thread.join()
  }

  @Test("a handler whose turn would be after the action's end is not called") func tooLate() {
    let workers = ConcurrentScheduler(), begun = Gate(), goOn = Gate(), calls = Counter()
    let second = Protected<(any Disposable)?>(nil)
    let token = workers.schedule { context in
      context.onDispose {
        goOn.open()
        #expect(eventually { second.read()!.isDisposed })  // removed by the action's end
      }
      second.write(context.onDispose { calls.increment() })
      begun.open()
      ConcurrentScheduler.withReplacementThread { _ = goOn.wait() }
    }
    #expect(synchronously { begun.wait() })
    token.dispose()
    #expect(second.read()!.isDisposed && calls.value == 0)
  }

  // AX1, AX4
  @Test("an action may dispose itself, and a handler its action and others") func inside() {
    let queue = SerialScheduler(), log = Log<String>(), box = Protected<(any Disposable)?>(nil)
    queue.suspend()
    box.write(
      queue.schedule { context in
        let other = context.onDispose { log.add("other") }
        context.onDispose {
          log.add("handler")
          box.read()?.disposeAndWait()
          other.dispose()
        }
        box.read()!.dispose()
        log.add("after")
        box.read()!.disposeAndWait()
      })
    queue.resume()
    queue.drain()
    #expect(log.entries == ["other", "handler", "after"])
    box.write(nil)
  }

  // AX2, AX3
  @Test("an action scheduled through a context is cancelled with it, also when that has ended, down the tree")
  func tree() {
    let workers = ConcurrentScheduler(), queue = SerialScheduler(), runs = Counter(), begun = ActionGroup(entered: 1),
      seen = ActionGroup(entered: 1)
    queue.suspend()
    let token = workers.schedule { context in
      context.schedule(on: workers) { child in
        child.schedule(on: workers) { grandchild in
          grandchild.schedule(on: queue) { _ in runs.increment() }
          grandchild.schedule(on: workers, after: .seconds(3_600)) { _ in runs.increment() }
          begun.leave()
          ConcurrentScheduler.withReplacementThread { while !grandchild.isCancelled { usleep(100) } }
          seen.leave()
        }
      }
    }
    #expect(synchronously { begun.wait(for: .seconds(60)) })
    #expect(eventually { token.isDisposed })
    token.dispose()
    #expect(synchronously { seen.wait(for: .seconds(60)) })
    queue.resume()
    queue.drain()
    #expect(runs.value == 0)
  }

  @Test("a child that runs inside of its scheduling sees the disposal of its parent") func inPlace() {
    let seen = Log<Bool>(), context = Protected<ActionContext?>(nil)
    ImmediateScheduler.instance.schedule { parent in
      context.write(parent)
      parent.schedule(on: ImmediateScheduler.instance) { child in
        seen.add(child.isCancelled)
        context.read()!.dispose()
        seen.add(child.isCancelled)
        child.schedule(on: ImmediateScheduler.instance) { _ in seen.add(true) }
      }
    }
    #expect(seen.entries == [false, true])
    context.write(nil)
  }

  // AX1, AX2
  @Test("a kept context cancels the actions scheduled through it, and holds none that has ended") func kept() {
    let workers = ConcurrentScheduler(), kept = Protected<ActionContext?>(nil), ends = Counter(), runs = Counter(),
      done = Gate()
    workers.schedule { context in
      kept.write(context)
      for _ in 0..<100 {
        let witness = Witness(ends)
        context.schedule(on: ImmediateScheduler.instance) { _ in witness.touch() }
        context.onDispose { witness.touch() }.dispose()
      }
      done.open()
    }
    #expect(synchronously { done.wait() })
    #expect(eventually { ends.value == 100 })
    let context = kept.exchange(nil)!, queue = SerialScheduler()
    queue.suspend()
    context.schedule(on: queue) { _ in runs.increment() }
    context.dispose()
    #expect(context.schedule(on: workers) { _ in runs.increment() }.isDisposed)
    queue.resume()
    queue.drain()
    #expect(runs.value == 0)
  }

  @Test("an action that a stopped scheduler drops has ended") func dropped() throws {
    let thread = try ThreadScheduler(), ends = Counter(), context = Protected<ActionContext?>(nil)
    thread.stop()
    synchronously { thread.join() }
    let witness = Protected<Witness?>(Witness(ends))
    let token = thread.schedule { [witness = witness.exchange(nil)!] (context: ActionContext) in witness.touch() }
    #expect(ends.value == 1 && token.isDisposed)
    ImmediateScheduler.instance.schedule { parent in
      context.write(parent)
      for _ in 0..<10 { #expect(parent.schedule(on: thread) { _ in }.isDisposed) }
    }
    context.exchange(nil)!.dispose()
  }

  @Test("a tree as deep as 100 000 is disposed, and released, without a stack of that depth", arguments: [false, true])
  func deep(disposes: Bool) {
    let queue = SerialScheduler(), depth = Scale.count(100_000), reached = Gate()
    @Sendable func descend(_ context: ActionContext, _ left: Int) {
      guard left > 0 else { return reached.open() }
      context.schedule(on: queue) { descend($0, left - 1) }
    }
    let root = queue.schedule { descend($0, depth) }
    #expect(synchronously { reached.wait() })
    queue.drain()
    if disposes { root.dispose() }

    // One in which all are alive until the last has ended.
    let last = SerialScheduler(), contexts = Protected<ActionContext?>(nil), runs = Counter()
    last.suspend()
    let tall = ImmediateScheduler.instance.schedule { contexts.write($0) }
    for _ in 0..<depth {
      contexts.read()!.schedule(on: ImmediateScheduler.instance) { child in
        child.schedule(on: last) { _ in runs.increment() }
        contexts.write(child)
      }
    }
    contexts.write(nil)
    if disposes { tall.dispose() }
    last.resume()
    last.drain()
    #expect(runs.value == (disposes ? 0 : depth))
  }

  @Test("taking a handler back and waiting returns after its call") func waits() {
    let workers = ConcurrentScheduler(), bad = Counter()
    for _ in 0..<Scale.count(200) {
      let isOpen = Protected(true), begun = Gate(), ended = Gate()
      let token = workers.schedule { context in
        let handler = context.onDispose { if !isOpen.read() { bad.increment() } }
        begun.open()
        handler.disposeAndWait()
        isOpen.write(false)
        ended.open()
      }
      #expect(synchronously { begun.wait() })
      token.dispose()
      #expect(synchronously { ended.wait() })
    }
    #expect(bad.value == 0)
  }
}
