import Foundation
import Scheduler
import SchedulerRx
import TestSupport
import Testing

/// Each public container of disposables.
private enum Container: CaseIterable, Sendable {
  case any, composite, compositeOfArray, inserted, serial, singleAssignment, binary, ternary, nary, array, scoped,
    scopedAny, scheduled,
    counted, dependent, token, lifetime, nested

  /// Whether `disposeAndWait` waits for the inner disposal. A scheduled disposable does not, because its scheduler
  /// disposes.
  var waits: Bool { self != .scheduled }

  /// Returns a disposable whose disposal disposes `inner`, which it alone refers to.
  func make(_ inner: any Disposable) -> any Disposable {
    switch self {
    case .any: return AnyDisposable(inner)
    case .composite: return CompositeDisposable(BooleanDisposable(), inner)
    case .compositeOfArray: return CompositeDisposable(disposables: [inner, BooleanDisposable()])
    case .inserted:
      let made = CompositeDisposable()
      _ = made.insert(inner)
      return made
    case .serial:
      let made = SerialDisposable()
      made.disposable = inner
      return made
    case .singleAssignment:
      let made = SingleAssignmentDisposable()
      made.setDisposable(inner)
      return made
    case .binary: return Disposables.create(inner, Disposables.create())
    case .ternary: return Disposables.create(BooleanDisposable(), inner, BooleanDisposable())
    case .nary: return Disposables.create(BooleanDisposable(), BooleanDisposable(), BooleanDisposable(), inner)
    case .array: return Disposables.create([inner])
    case .scoped: return ScopedDisposable(AnyDisposable(inner))
    case .scopedAny: return ScopedDisposable<AnyDisposable>(inner)
    case .scheduled: return inner.disposed(on: ImmediateScheduler.instance)
    case .counted: return RefCountDisposable(disposable: inner)
    case .dependent:
      let counted = RefCountDisposable(disposable: inner), dependent = counted.retain()
      counted.dispose()
      return dependent
    case .token:
      let token = Lifetime.Token()
      _ = Lifetime(token) += inner
      return token
    case .lifetime:
      let (lifetime, token) = Lifetime.make()
      _ = lifetime += CompositeDisposable(inner)
      return token
    case .nested: return Self.allCases.filter { $0 != .nested && $0.waits }.reduce(inner) { $1.make($0) }
    }
  }
}

/// Guarantee 3 of `disposeAndWait`, for every container.
@Suite(.serialized, .nothingIsLeft) struct ContainerContractTests {
  @Test(
    "disposeAndWait of a container returns when its actions have ended and their captures are released",
    arguments: Container.allCases)
  private func waits(_ container: Container) {
    let workers = ConcurrentScheduler(), begun = Gate(), ends = Counter()
    let leave = Gate()
    func schedule() -> any Disposable {
      let witness = Witness(ends)
      return workers.schedule {
        begun.open()
        ConcurrentScheduler.withReplacementThread { _ = leave.wait() }
        usleep(2_000)  // lets a wait that is too short return
        witness.touch()
      }
    }
    let made = container.make(schedule())
    begun.wait()
    let isOver = Gate(), seen = Counter()
    Thread.detachNewThread {
      leave.open()
      made.disposeAndWait()
      if ends.value == 1 { seen.increment() }
      isOver.open()
    }
    #expect(isOver.wait())
    #expect(made.isDisposed && (seen.value == 1 || !container.waits))
    #expect(eventually { ends.value == 1 })
    made.disposeAndWait()  // again: does nothing
  }

  @Test(
    "disposeAndWait of a container inside of an action that it contains does not wait for it",
    arguments: Container.allCases)
  private func inside(_ container: Container) {
    let queue = SerialScheduler(), box = Protected<(any Disposable)?>(nil), runs = Counter()
    queue.suspend()
    box.write(
      container.make(
        queue.schedule {
          box.exchange(nil)!.disposeAndWait()
          runs.increment()
        }))
    queue.resume()
    queue.drain()
    #expect(runs.value == 1)
  }
}
