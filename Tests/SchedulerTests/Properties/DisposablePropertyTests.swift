import Scheduler
import SchedulerRx
import TestSupport
import Testing

private typealias Model = DisposableModel

@Suite(.nothingIsLeft) struct DisposablePropertyTests {
  @Test(
    "any sequence of operations on disposables, nested and shared, disposes and releases by the contracts, in order"
  )
  func anySequence() {
    forAnySeed("DisposablePropertyTests/anySequence", cases: 400) { random in
      var trial = Trial(random: random)
      for _ in 0..<60 {
        trial.doAnything()
        if let finding = trial.difference() {
          return finding + "\nafter:\n" + trial.done.suffix(15).map { "  \($0)" }.joined(separator: "\n")
        }
      }
      return trial.differenceAtEnd()
    }
  }

  @Test("four threads do anything with the same containers: each child is disposed once, or handed back")
  func anyThreads() {
    forAnySeed("DisposablePropertyTests/anyThreads", cases: 20) { random in
      let shared = SharedContainers(), seed = random.next()
      raceDisposal(threads: 4) { index in
        var random = SeededGenerator(seed: seed &+ UInt64(index))
        for _ in 0..<300 { shared.doAnything(&random) }
      }
      return shared.differenceAtEnd()
    }
  }
}

/// Reports each disposal, and its end.
private final class Leaf: Disposable {
  let name: Int, notes: Notes
  init(_ name: Int, _ notes: Notes) { (self.name, self.notes) = (name, notes) }
  var isDisposed: Bool { notes.disposals.entries.contains(name) }
  func dispose() { notes.disposals.add(name) }
  deinit { notes.gone.add(name) }
}

private final class Notes: Sendable {
  let disposals = Log<Int>(), gone = Log<Int>()
}

/// Both: the disposables themselves, those of them to which the test has a reference, and the model.
private struct Trial {
  private final class World: Sendable {
    let handles = Protected<[Int: any Disposable]>([:])
  }

  private var random: SeededGenerator
  private var model = Model()
  private let notes = Notes(), world = World()
  private var bags: [Int: DisposeBag] = [:]
  private var keys: [(key: CompositeDisposable.DisposeKey, composite: Int, member: Int)] = []
  private(set) var done: [String] = []
  private var findings: [String] = []

  init(random: SeededGenerator) { self.random = random }

  // MARK: choosing

  private mutating func any(where isWanted: (Int) -> Bool = { _ in true }) -> Int? {
    random.pick(model.names.filter { model.hasHandle($0) && isWanted($0) })
  }

  private mutating func any(_ kinds: Model.Kind...) -> Int? {
    let model = model
    return any { kinds.contains(model.kind($0)) }
  }

  private mutating func anyChild() -> Int? {
    let model = model
    return any { model.kind($0) != .bag }
  }

  private func actual<Kind>(_ name: Int, as: Kind.Type = Kind.self) -> Kind {
    world.handles.read()[name] as! Kind
  }

  // MARK: making

  private mutating func add(_ kind: Model.Kind, of children: [Int] = [], _ disposable: any Disposable) {
    let name = model.add(kind, children)
    world.handles.withLock { $0[name] = disposable }
    done.append("\(name) = \(kind) \(children)")
  }

  private mutating func makeAnything() {
    let name = model.names.upperBound
    let some = (0..<random.below(5)).compactMap { _ in anyChild() }
    switch random.below(11) {
    case 0, 1: add(.leaf, Leaf(name, notes))
    case 2, 3: makeClosure(name)
    case 4: add(.composite, of: some, CompositeDisposable(disposables: some.map { actual($0) }))
    case 5: add(.serial, SerialDisposable())
    case 6: add(.single, SingleAssignmentDisposable())
    case 7: makeFixed(some)
    case 8: add(.token, Lifetime.Token())
    case 9:
      if let inner = some.first { add(.scoped, of: [inner], ScopedDisposable(actual(inner))) }
    default:
      if let inner = some.first { add(.refCount, of: [inner], RefCountDisposable(disposable: actual(inner))) }
    }
  }

  private mutating func makeFixed(_ some: [Int]) {
    let children: [any Disposable] = some.map { actual($0) }
    switch some.count {
    case 2: add(.fixed, of: some, Disposables.create(children[0], children[1]))
    case 3: add(.fixed, of: some, Disposables.create(children[0], children[1], children[2]))
    default: add(.fixed, of: some, Disposables.create(children))
    }
  }

  private mutating func makeClosure(_ name: Int) {
    var reaction: Model.Reaction?
    if random.chance(1, in: 3), let other = anyChild() { reaction = .dispose(other) }
    if random.chance(1, in: 3), let child = any(.leaf), let into = any(.composite, .token) {
      reaction = .insert(child, into: into)
    }
    let leaf = Leaf(name, notes)  // of which only the end is of interest
    let body: @Sendable () -> Void = { [leaf, reaction, unowned world] in
      leaf.dispose()
      guard let reaction else { return }
      let handles = world.handles.read()
      switch reaction {
      case .dispose(let other): handles[other]?.dispose()
      case .insert(let child, let into):
        guard let child = handles[child], let into = handles[into] else { return }
        (into as? CompositeDisposable)?.insert(child)
        if let token = into as? Lifetime.Token { Lifetime(token) += child }
      }
    }
    add(.closure(then: reaction), Disposables.create(with: body))
  }

  private mutating func makeBag() {
    let some = (0..<random.below(4)).compactMap { _ in anyChild() }
    let name = model.add(.bag, some)
    bags[name] = DisposeBag(disposing: some.map { actual($0) })
    done.append("\(name) = bag \(some)")
  }

  // MARK: doing

  mutating func doAnything() {
    switch random.below(12) {
    case 0, 1, 2: makeAnything()
    case 3, 4: insertSomewhere()
    case 5: removeSomewhere()
    case 6: setSomewhere()
    case 7:
      if let name = any(.refCount) { retain(name) }
    case 8, 9:
      if let name = anyChild() { dispose(name) }
    case 10:
      if let name = any() { release(name) }
    default: makeBag()
    }
  }

  private mutating func dispose(_ name: Int) {
    done.append("dispose \(name)")
    world.handles.read()[name]?.dispose()
    model.dispose(name)
  }

  private mutating func release(_ name: Int) {
    done.append("release \(name)")
    bags[name] = nil
    let last = world.handles.withLock { $0.removeValue(forKey: name) }
    model.release(name)
    _ = consume last
  }

  private mutating func insertSomewhere() {
    guard let into = any(.composite, .token, .bag) else { return }
    let model = model
    guard let child = any(where: { model.kind($0) != .bag && !model.reaches($0, into) }) else { return }
    done.append("insert \(child) into \(into)")
    let disposable: any Disposable = actual(child)
    var key: CompositeDisposable.DisposeKey?
    switch model.kind(into) {
    case .composite: key = actual(into, as: CompositeDisposable.self).insert(disposable)
    case .token: Lifetime(actual(into, as: Lifetime.Token.self)) += disposable
    default: bags[into]?.insert(disposable)
    }
    let member = self.model.insert(child, into: into)
    if model.kind(into) == .composite, (key == nil) != (member == nil) { findings.append("insert gives \(key as Any)") }
    if let key, let member { keys.append((key, into, member)) }
  }

  private mutating func removeSomewhere() {
    guard let (key, name, member) = random.pick(keys), model.hasHandle(name) else { return }
    let disposes = random.chance(1, in: 2), composite: CompositeDisposable = actual(name)
    done.append("\(disposes ? "remove" : "take") one from \(name)")
    if disposes {
      composite.remove(for: key)
      _ = model.take(member, from: name, disposes: true)
    } else {
      let isThere = composite.take(for: key) != nil
      if isThere != (model.take(member, from: name, disposes: false) != nil) { findings.append("take says \(isThere)") }
    }
  }

  private mutating func setSomewhere() {
    guard let name = any(.serial, .single) else { return }
    let model = model
    let child = any { model.kind($0) != .bag && !model.reaches($0, name) }
    guard let child, !(model.kind(name) == .single && model.isSet(name)) else { return }
    done.append("set \(name) to \(child)")
    let swaps = random.chance(1, in: 3), disposable: any Disposable = actual(child)
    let holder: any Disposable = actual(name)
    if let single = holder as? SingleAssignmentDisposable { single.setDisposable(disposable) }
    guard let serial = holder as? SerialDisposable else {
      self.model.replace(in: name, by: child, disposesOld: false)
      return
    }
    guard swaps else {
      serial.disposable = disposable
      self.model.replace(in: name, by: child, disposesOld: true)
      return
    }
    let hadOne = serial.swap(disposable) != nil
    if hadOne != (self.model.replace(in: name, by: child, disposesOld: false) != nil) {
      findings.append("swap says \(hadOne)")
    }
  }

  private mutating func retain(_ name: Int) {
    guard !model.isDisposed(name) else { return }
    let dependent = actual(name, as: RefCountDisposable.self).retain()
    let child = model.retain(name)
    world.handles.withLock { $0[child] = dependent }
    done.append("\(child) = retain \(name)")
  }

  // MARK: comparing

  mutating func difference() -> String? {
    if let finding = findings.first { return finding }
    let disposals = notes.disposals.entries
    if disposals != model.disposals {
      let common = zip(disposals, model.disposals).prefix { $0 == $1 }.count
      return
        "disposal \(common) is of \(disposals.dropFirst(common).prefix(4)), not of \(model.disposals.dropFirst(common).prefix(4))"
    }
    let gone = notes.gone.entries
    if gone.count != Set(gone).count || Set(gone) != model.gone {
      return "these are gone, or are not: \(Set(gone).symmetricDifference(model.gone).sorted())"
    }
    for (name, disposable) in world.handles.read() {
      if !(disposable is Leaf), disposable.isDisposed != model.isDisposed(name) {
        return "\(name) says \(disposable.isDisposed)"
      }
      if let composite = disposable as? CompositeDisposable, composite.count != model.childCount(name) {
        return "\(name) has \(composite.count), not \(model.childCount(name))"
      }
    }
    return nil
  }

  /// Releases all handles: then all objects have ended.
  mutating func differenceAtEnd() -> String? {
    for name in model.names.shuffled(using: &random) where model.hasHandle(name) {
      release(name)
      if let finding = difference() { return finding + " in the end" }
    }
    let all = model.names.filter { model.kind($0).isReported }
    return model.gone == Set(all) ? nil : "the model leaks \(Set(all).subtracting(model.gone))"
  }
}

// MARK: - several threads

/// The end of each child: counted for each thread that does it.
private final class Fate: Disposable {
  let disposals = DisposalCounter(), returns = DisposalCounter()
  var isDisposed: Bool { disposals.isDisposed }
  func dispose() { disposals.dispose() }
}

/// A container of each kind, for all threads to do anything with.
private final class SharedContainers: Sendable {
  private let composite = CompositeDisposable(), inner = CompositeDisposable()
  private let serial = SerialDisposable()
  private let bag = Protected<DisposeBag?>(DisposeBag())
  private let token = Protected<Lifetime.Token?>(Lifetime.Token())
  private let fates = Log<Fate>()

  init() { composite.insert(inner) }

  func doAnything(_ random: inout SeededGenerator) {
    switch random.below(300) {
    case 0: return composite.dispose()
    case 1: return serial.dispose()
    case 2: return token.write(Lifetime.Token())  // the old one ends
    case 3...6: return bag.write(DisposeBag())
    default: break
    }
    let fate = Fate()
    fates.add(fate)
    switch random.below(36) {
    case 0..<8: composite.insert(fate)
    case 8..<16: inner.insert(fate)
    case 16..<22: serial.disposable = fate
    case 22..<26: (serial.swap(fate) as? Fate)?.returns.dispose()
    case 26..<30: insertAndTake(fate, disposes: random.chance(1, in: 2))
    case 30..<33: bag.withLock { $0?.insert(fate) }
    default: if let token = token.read() { Lifetime(token) += fate }
    }
  }

  private func insertAndTake(_ fate: Fate, disposes: Bool) {
    guard let key = composite.insert(fate) else { return }
    if disposes { composite.remove(for: key) } else { (composite.take(for: key) as? Fate)?.returns.dispose() }
  }

  func differenceAtEnd() -> String? {
    composite.dispose()
    serial.dispose()
    bag.write(nil)
    token.write(nil)
    let wrong = fates.entries.filter { $0.disposals.value + $0.returns.value != 1 }
    guard let first = wrong.first else { return nil }
    return
      "\(wrong.count) children: one was disposed \(first.disposals.value) times, and handed back \(first.returns.value) times"
  }
}
