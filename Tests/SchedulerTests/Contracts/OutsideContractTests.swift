import Foundation
import Scheduler
import SchedulerRx
import SchedulerTesting
import TestSupport
import Testing

/// Guarantee 5: user code runs under no lock of the library. That includes the deinit of what a scheduler or disposable
/// of another module holds.
@Suite(.serialized, .nothingIsLeft) struct OutsideContractTests {
  /// Calls `look` when it ends.
  private final class Nosy: Disposable {
    var isDisposed: Bool { true }
    let look: @Sendable () -> Void
    init(_ look: @escaping @Sendable () -> Void) { self.look = look }
    deinit { look() }
    func dispose() { look() }
  }

  /// Keeps actions until they are run by hand, and hands out disposables that look at something when they end.
  private final class Manual: SchedulerType {
    let works = Protected<[@Sendable () -> Void]>([])
    let looked = Protected<(@Sendable () -> Void)?>(nil)

    var now: MonotonicTime { .now }

    func schedule(_ action: @escaping @Sendable () -> Void) -> any Disposable {
      works.append(action)
      return Nosy { [looked] in looked.read()?() }
    }

    func schedule(_ timing: ActionTiming, _ action: @escaping @Sendable () -> Void) -> any Disposable {
      timing.schedule(on: self, action) { _, _, action in schedule(action) }
    }

    func runAll() { for work in works.exchange([]) { work() } }
  }

  @Test("a token of another scheduler ends outside of the lock of a recursion, of periodic actions and of a recorder")
  func tokens() {
    let kinds: [@Sendable (Manual) -> any Disposable] = [
      { $0.scheduleRecursive(0) { n, again in if n < 5 { again(n + 1) } } },
      { $0.schedule(.every(.nanoseconds(1), after: .zero)) {} },
      { RecordingScheduler($0).schedule {} }, { $0.wrapping { $0() }.schedule {} },
    ]
    for make in kinds {
      let manual = Manual(), looks = Counter()
      let token = make(manual)
      manual.looked.write {
        _ = token.isDisposed
        looks.increment()
      }
      for _ in 0..<4 { manual.runAll() }
      token.dispose()
      manual.runAll()
      #expect(token.isDisposed)
      manual.looked.write(nil)
    }
  }

  @Test("objects that containers release end outside of their locks") func containers() {
    let serial = SerialDisposable(), composite = CompositeDisposable(), looks = Counter()
    let look: @Sendable () -> Void = {
      _ = (serial.disposable == nil, serial.isDisposed, composite.count, composite.isDisposed)
      looks.increment()
    }
    serial.disposable = Nosy(look)
    serial.disposable = Nosy(look)
    serial.swap(Nosy(look))
    serial.disposable = nil
    let key = composite.insert(Nosy(look))
    composite.take(for: key!)
    for _ in 0..<40 { composite.remove(for: composite.insert(Nosy(look))!) }
    composite.insert(Nosy(look))
    composite.dispose()
    serial.dispose()
    composite.insert(Nosy(look))
    serial.disposable = Nosy(look)
    serial.swap(Nosy(look))
    #expect(looks.value >= 47)
  }

  @Test("an action that two others returned releases the first of them outside of its lock") func twoHolders() throws {
    let thread = try ThreadScheduler(), ends = Counter()
    let shared = Protected<(any Disposable)?>(nil)
    final class Enqueue: Sendable {
      let look: @Sendable () -> Void
      init(_ look: @escaping @Sendable () -> Void) { self.look = look }
      deinit { look() }
      func enqueue(_ work: @Sendable () -> Void) { work() }
    }
    let waiting = thread.schedule(0, after: .seconds(60)) { _ in Disposables.create() }
    shared.write(waiting)
    func hold() {
      let enqueue = Enqueue {
        _ = shared.read()?.isDisposed
        waiting.dispose()
        ends.increment()
      }
      let custom = CustomScheduler { work in enqueue.enqueue(work) }
      // Delayed, so that the action keeps the custom scheduler's core, and with it the closure.
      let done = Gate()
      custom.schedule(0, after: .microseconds(1)) { _ in
        done.open()
        return shared.read()!
      }
      done.wait()
    }
    hold()
    usleep(2_000)
    _ = thread.schedule(1) { _ in shared.read()! }
    thread.drain()
    waiting.dispose()
    #expect(eventually { ends.value == 1 })
    shared.write(nil)
  }
}
