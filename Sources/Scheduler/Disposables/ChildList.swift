/// Keeps children in the order of their insertion, each under a key that never comes back.
///
/// Keys grow, so the entries are always sorted: a key is found by bisection. What is taken leaves a hole; holes at the
/// end go at once, the others when they outnumber the children. So inserting and taking cost amortised constant time and
/// a logarithm, and memory stays in proportion to the children. The first child lies in the list itself, because most lists have
/// one: only a second one allocates. Not synchronised: its owner sees to that. No operation
/// disposes or releases a child.
package struct ChildList {
  private struct Entry {
    let key: UInt64
    var child: (any Disposable)?
  }

  // The first child, and then the entries. Where it is nil and there are entries, it has been taken.
  private var first: (any Disposable)?
  private var firstKey: UInt64 = 0
  private var entries: [Entry] = []
  private var head = 0
  private var lastKey: UInt64 = 0
  /// How many children there are.
  private(set) var count = 0

  package init() {}

  package init(_ children: [any Disposable]) {
    append(contentsOf: children)
  }

  package var isEmpty: Bool { count == 0 }

  /// Adds `child` at the end and returns its key, which is above zero.
  @discardableResult
  package mutating func append(_ child: any Disposable) -> UInt64 {
    lastKey += 1
    if count == 0 {
      first = child
      firstKey = lastKey
    } else {
      entries.append(Entry(key: lastKey, child: child))
    }
    count += 1
    return lastKey
  }

  package mutating func append(contentsOf children: [any Disposable]) {
    if entries.isEmpty, children.count > 1 { entries.reserveCapacity(children.count - 1) }
    for child in children { append(child) }
  }

  /// Takes the child with `key` out, if it is there.
  package mutating func take(_ key: UInt64) -> (any Disposable)? {
    if key == firstKey {
      let child = first.take()
      if child != nil { count -= 1 }
      return child
    }
    var low = head
    var high = entries.count
    while low < high {
      let middle = low + (high - low) / 2
      if entries[middle].key < key { low = middle + 1 } else { high = middle }
    }
    guard low < entries.count, entries[low].key == key, let child = entries[low].child.take() else { return nil }
    count -= 1
    dropHoles()
    return child
  }

  /// Takes the first child out: how a list that is no longer added to is emptied.
  package mutating func popFirst() -> (any Disposable)? {
    if let child = first.take() {
      count -= 1
      return child
    }
    while head < entries.count {
      let child = entries[head].child.take()
      head += 1
      if let child {
        count -= 1
        return child
      }
    }
    return nil
  }

  /// Takes all children out, as a list of their own. No key that was given out will name a later child.
  package mutating func takeAll() -> ChildList {
    let all = self
    first = nil
    entries = []
    head = 0
    count = 0
    return all
  }

  private mutating func dropHoles() {
    while let last = entries.last, last.child == nil { entries.removeLast() }
    if entries.count > 16, entries.count > 2 * count { entries.removeAll { $0.child == nil } }  // Speed only: 16
  }
}
