/// The contracts of disposables, as a recursion over a table of holders, disposals and releases.
struct DisposableModel {
  /// A child is named by its place in the table.
  typealias Name = Int

  enum Kind: Equatable {
    /// Reports each disposal.
    case leaf
    /// Reports the first disposal; and its reaction.
    case closure(then: Reaction?)
    case composite, serial, single, token, bag
    /// The disposable of two, three or more.
    case fixed
    case scoped, refCount, dependent

    /// Whether it reports its disposals and its end.
    var isReported: Bool {
      switch self {
      case .leaf, .closure: true
      default: false
      }
    }
  }

  /// The operation of a closure inside of the disposal that calls it.
  enum Reaction: Equatable {
    case dispose(Name)
    case insert(Name, into: Name)
  }

  /// A child as one container has it: the same may be in there twice.
  private struct Member {
    let id: Int
    let name: Name
  }

  private struct Node {
    let kind: Kind
    var children: [Member] = []
    var isDisposed = false
    var isSet = false  // a single one has been
    var dependents = 0
    var holders = 1  // the test's own reference
    var hasHandle = true
  }

  private var nodes: [Node] = []
  private var lastMember = 0
  /// The disposals that leaves and closures report, in order.
  private(set) var disposals: [Name] = []
  /// The leaves and closures that have been released.
  private(set) var gone: Set<Name> = []

  // MARK: the state

  var names: Range<Name> { nodes.indices }
  func kind(_ name: Name) -> Kind { nodes[name].kind }
  func hasHandle(_ name: Name) -> Bool { nodes[name].hasHandle }
  func isSet(_ name: Name) -> Bool { nodes[name].isSet }
  func childCount(_ name: Name) -> Int { nodes[name].children.count }

  func isDisposed(_ name: Name) -> Bool {
    let node = nodes[name]
    return node.kind == .refCount ? node.isDisposed && node.dependents == 0 : node.isDisposed
  }

  /// Whether `name` is, or holds, `other`: a cycle would never be released.
  func reaches(_ name: Name, _ other: Name) -> Bool {
    name == other || nodes[name].children.contains { reaches($0.name, other) }
  }

  // MARK: operations

  mutating func add(_ kind: Kind, _ children: [Name] = []) -> Name {
    nodes.append(Node(kind: kind))
    for child in children { hold(child, in: nodes.count - 1) }
    return nodes.count - 1
  }

  @discardableResult
  private mutating func hold(_ child: Name, in name: Name) -> Int {
    lastMember += 1
    nodes[name].children.append(Member(id: lastMember, name: child))
    nodes[child].holders += 1
    return lastMember
  }

  /// Takes the test's own reference away.
  mutating func release(_ name: Name) {
    nodes[name].hasHandle = false
    removeHolder(of: name)
  }

  /// For a composite, a bag and a token. Returns the child's key; nil where it was disposed at once.
  @discardableResult
  mutating func insert(_ child: Name, into name: Name) -> Int? {
    if !nodes[name].isDisposed { return hold(child, in: name) }
    dispose(child)
    return nil
  }

  mutating func take(_ member: Int, from name: Name, disposes: Bool) -> Name? {
    guard let place = nodes[name].children.firstIndex(where: { $0.id == member }) else { return nil }
    let child = nodes[name].children.remove(at: place).name
    if disposes { dispose(child) }
    removeHolder(of: child)
    return child
  }

  /// For a serial and a single one. Returns the old disposable.
  @discardableResult
  mutating func replace(in name: Name, by child: Name, disposesOld: Bool) -> Name? {
    nodes[name].isSet = true
    guard !nodes[name].isDisposed else {
      dispose(child)
      return nil
    }
    let old = nodes[name].children.popLast()?.name
    hold(child, in: name)
    guard let old else { return nil }
    if disposesOld { dispose(old) }
    removeHolder(of: old)
    return old
  }

  mutating func retain(_ name: Name) -> Name {
    nodes[name].dependents += 1
    return add(.dependent, [name])
  }

  mutating func dispose(_ name: Name) {
    let wasDisposed = nodes[name].isDisposed
    nodes[name].isDisposed = true
    switch nodes[name].kind {
    case .leaf: disposals.append(name)
    case .closure(let reaction):
      guard !wasDisposed else { return }
      disposals.append(name)
      if let reaction { react(reaction) }
      gone.insert(name)
    case .refCount:
      if nodes[name].dependents == 0 { disposeChildren(of: name) }
    case .dependent:
      guard !wasDisposed, let primary = nodes[name].children.popLast()?.name else { return }
      nodes[primary].dependents -= 1
      if nodes[primary].dependents == 0, nodes[primary].isDisposed { disposeChildren(of: primary) }
      removeHolder(of: primary)
    case .bag: break  // it has no disposal of its own
    default: disposeChildren(of: name)
    }
  }

  private mutating func react(_ reaction: Reaction) {
    switch reaction {
    case .dispose(let name):
      if hasHandle(name) { dispose(name) }
    case .insert(let child, let name):
      if hasHandle(child), hasHandle(name) { insert(child, into: name) }
    }
  }

  private mutating func takeChildren(of name: Name) -> [Name] {
    defer { nodes[name].children = [] }
    return nodes[name].children.map(\.name)
  }

  private mutating func disposeChildren(of name: Name) {
    for child in takeChildren(of: name) {
      dispose(child)
      removeHolder(of: child)
    }
  }

  private mutating func removeHolder(of name: Name) {
    nodes[name].holders -= 1
    guard nodes[name].holders == 0 else { return }
    switch nodes[name].kind {
    case .leaf, .closure: gone.insert(name)
    case .bag, .scoped, .token:
      nodes[name].isDisposed = true
      disposeChildren(of: name)
    default: for child in takeChildren(of: name) { removeHolder(of: child) }
    }
  }
}
