import Foundation
import Grammar
import Scheduler
import SchedulerVirtualTime
import Synchronization

/// Ends the process, with a message, unless `condition` holds.
func require(_ condition: Bool, _ message: @autoclosure () -> String) {
  if condition { return }
  FileHandle.standardError.write(Data("FAILED: \(message())\n".utf8))
  abort()
}

/// The number for: no node, no step.
let none: Int32 = -1

func step(_ number: Int32) -> program_step { program_step_at(number).pointee }
func node(_ number: Int32) -> program_node { program_node_at(number).pointee }

/// The numbers of a list of steps that are not left out.
func list(_ first: Int32) -> some Sequence<Int32> {
  sequence(first: first) { step($0).next }.prefix { $0 != none }.filter { !step($0).is_out }
}

/// The nodes that `number` is on, itself first.
func nodes(of number: Int32) -> some Sequence<Int32> { sequence(first: number) { node($0).base }.prefix { $0 != none } }

/// A node of the program, at run time.
final class Place: Sendable {
  let scheduler: SchedulerTarget
  let thread: ThreadScheduler?
  let pool: WorkerPool?
  let inside = Atomic(0)  // how many actions run, also those of queues on it
  let stops = Atomic(0)  // of a root: the sum of 1 << each policy

  init(_ scheduler: SchedulerTarget, thread: ThreadScheduler? = nil, pool: WorkerPool? = nil) {
    self.scheduler = scheduler
    self.thread = thread
    self.pool = pool
  }

  var serial: SerialScheduler { scheduler as! SerialScheduler }
  var executor: (any TaskExecutor)? { scheduler as? any TaskExecutor }
}

/// The state of a step.
final class Fate: Sendable {
  let submitted = Atomic(0), cancels = Atomic(0), runs = Atomic(0), drops = Atomic(0), releases = Atomic(0),
    hasEnded = Atomic(0)
  let isBeforeStop = Atomic(false)
  let token = Protected<(any Disposable)?>(nil)
  let task = Protected<Task<Void, Never>?>(nil)
}

final class Counter: Sendable {
  private let count = Atomic(0)
  var value: Int { count.value }
  @discardableResult func change(by change: Int) -> Int { count.change(by: change) }
}

extension Atomic<Int> {
  var value: Int { load(ordering: .sequentiallyConsistent) }
  /// Adds `change`. Returns the new value.
  @discardableResult func change(by change: Int) -> Int { add(change, ordering: .sequentiallyConsistent).newValue }
}

/// The objects of the program, by the numbers of its nodes and steps.
final class World: Sendable {
  let places: Protected<[Place?]>  // emptied at the end
  let fates: [Fate]
  static let burst = 100  // actions of a step
  let whole: program
  let plain = Protected(0), recursive = RecursiveLock(), readWrite = ReadWriteLock(), unit = CountingSemaphore(units: 1)
  let monitor = UnfairLock(), changed = UnfairLock.Condition(), isTaken = Atomic(0)
  let owners: [Counter] = (0..<PROGRAM_LOCK_KINDS).map { _ in Counter() }  // how many have each kind of lock
  let asyncLock = AsyncLock(0)
  /// Further actions that have not been released: those of cancellation handlers, and of semaphores.
  let others = Atomic(0)
  let time: VirtualTime?
  let trace = Protected<[String]>([])  // in virtual time: the events

  init(_ whole: program, in time: VirtualTime? = nil) throws {
    self.whole = whole
    self.time = time
    fates = (0..<whole.step_count).map { _ in Fate() }
    var made: [Place?] = []
    for number in 0..<whole.node_count {
      let each = node(number), base = each.base == none ? nil : made[Int(each.base)]?.scheduler
      guard each.is_used else {
        made.append(nil)
        continue
      }
      switch each.kind {
      case THREAD where time != nil: made.append(Place(time!.scheduler))
      case THREAD:
        let thread = try ThreadScheduler()
        made.append(Place(thread, thread: thread))
      case POOL where number == 0: made.append(Place(ConcurrentScheduler()))
      case POOL:
        let most = Int(each.most), pool = try WorkerPool(workers: most, maxThreads: each.is_hard ? most : nil)
        made.append(Place(pool.scheduler(priority: SchedulerPriority.allCases[Int(number) % 4]), pool: pool))
      case INLINE: made.append(Place(CustomScheduler { work in work() }))
      case SERIAL: made.append(Place(SerialScheduler(target: base!)))
      case LIMIT: made.append(Place(ConcurrentScheduler(limit: Int(each.most))))
      default: made.append(Place((base as! ConcurrentScheduler).barrier))
      }
    }
    places = Protected(made)
  }

  func place(_ number: Int32) -> Place { places.read { $0[Int(number)]! } }
  func fate(_ number: Int32) -> Fate { fates[Int(number)] }

  var now: MonotonicTime { time?.now ?? .now }

  /// Records an event of the step, in virtual time.
  func note(_ number: Int32, _ event: String) {
    if let time { trace.withLock { $0.append("\(time.now.nanoseconds) ns: step \(number) \(event)") } }
  }

  /// Whether `instant` is a moment for what waits until `due`: not early, and in virtual time not late.
  func isRight(_ instant: MonotonicTime, for due: MonotonicTime) -> Bool {
    time == nil ? instant >= due : instant == due
  }

  /// Whether a stop of the node's root has begun.
  func mayBeRefused(_ number: Int32) -> Bool { place(program_root_of(number)).stops.value != 0 }

  // MARK: what must hold in an action

  /// Counts an action that begins or ends on a node. Checks exclusion and limits.
  func count(_ number: Int32, by change: Int) {
    var above = none
    for each in nodes(of: number) {
      let kind = node(each).kind
      if kind == BARRIER, change > 0 {
        let others = place(node(each).base).inside.value
        require(others == 0, "a barrier of n\(node(each).base) begins beside \(others) actions")
      }
      let now = place(each).inside.change(by: change)
      defer { above = each }
      if change < 0 || kind == POOL || kind == INLINE { continue }
      if kind == LIMIT {
        for other in 0..<whole.node_count
        where node(other).kind == BARRIER && node(other).base == each && node(other).is_used && other != above {
          require(place(other).inside.value == 0, "an action of n\(each) begins beside a barrier")
        }
      }
      let most = program_is_exclusive(each) ? 1 : Int(node(each).most)
      require(now <= most, "\(now) actions at a time on n\(each)")
    }
  }

  /// An action that waits for a queue on its limit lends it its permit: in the limits of the action, counts it no more,
  /// or again.
  func countPermits(of number: Int32, by change: Int) {
    for each in nodes(of: number) where node(each).kind == LIMIT && !program_is_exclusive(each) {
      place(each).inside.change(by: change)
    }
  }

  /// Checks that all that was scheduled before, beside the step, on the same node has ended.
  func checkOrder(_ number: Int32) {
    let own = step(number), kind = node(own.node).kind
    guard kind == SERIAL || kind == THREAD, own.kind == SUBMIT else { return }
    let first = own.parent < 0 ? program_first_of(-2 - own.parent) : step(own.parent).first
    for before in list(first).prefix(while: { $0 != number }) {
      let each = step(before), fate = fate(before)
      guard each.kind == SUBMIT, each.node == own.node, fate.cancels.value == 0, fate.submitted.value != 0 else {
        continue
      }
      require(
        fate.drops.value + fate.hasEnded.value + fate.releases.value > 0, "step \(number) runs before step \(before)")
    }
  }

  // MARK: the end

  func hasEnded(_ number: Int32) -> Bool {
    let fate = fate(number)
    if fate.submitted.value == 0 { return true }
    switch step(number).kind {
    case TASK: return fate.hasEnded.value == 1
    case BURST: return fate.releases.value == World.burst
    default: return fate.releases.value == 1
    }
  }

  var haveAllEnded: Bool { others.value == 0 && (0..<whole.step_count).allSatisfy(hasEnded) }

  func checkEnds() {
    for number in 0..<whole.step_count {
      let each = step(number), fate = fate(number)
      guard [SUBMIT, CAPTURE, BURST, CONTEXT].contains(each.kind),
        fate.isBeforeStop.load(ordering: .sequentiallyConsistent), fate.cancels.value == 0
      else { continue }
      if nodes(of: each.node).contains(where: { node($0).is_suspended_somewhere }) { continue }
      if place(program_root_of(each.node)).stops.value & 2 != 0 { continue }  // a stop that drops
      let count = each.kind == BURST ? World.burst : 1
      require(fate.hasEnded.value == count, "step \(number) was accepted before the stop, and did not run")
    }
  }

  /// Stops the program's objects, and checks that none is left.
  func end() {
    var all = places.exchange([])
    for each in fates {
      each.token.write(nil)
      each.task.write(nil)
    }
    for each in all.reversed() {
      each?.thread?.stop()
      each?.thread?.join()
      each?.pool?.stop()
      each?.pool?.join()
    }
    struct Left { weak var object: AnyObject? }
    let left = all.map { Left(object: $0?.scheduler === time?.scheduler ? nil : $0?.scheduler) }
    all = []
    let end = MonotonicTime.now + .seconds(10)
    while let number = left.firstIndex(where: { $0.object != nil }) {
      require(.now < end, "the scheduler of n\(number) is left")
      usleep(200)
    }
  }
}
