/// A list of children in insertion order, each under a key that is never reused.
///
/// Keys grow, so the entries are always sorted, and a binary search finds a key. Removing a child leaves a hole. Holes at the end are removed at
/// once, other holes when they outnumber the children. So an operation costs amortised constant time plus a binary search, and memory is
/// proportional to the number of children. Most lists have one child, so that child is stored in the struct: only a second child allocates.
/// The list has no lock: its owner synchronises. No operation disposes or releases a child.
package struct ChildList {
  private struct Entry {
    let key: UInt64
    var child: (any Disposable)?
  }

  // The first child; later children are in `entries`. If `first` is nil and `entries` is not empty, the first child was taken.
  private var first: (any Disposable)?
  private var firstKey: UInt64 = 0
  private var entries: [Entry] = []
  private var head = 0  // the index in `entries` from which popFirst continues
  private var lastKey: UInt64 = 0  // the most recent key
  /// The number of children.
  private(set) var count = 0

  package init() {}

  package init(_ children: [any Disposable]) {
    append(contentsOf: children)
  }

  package var isEmpty: Bool { count == 0 }

  /// Adds `child` at the end and returns its key, which is greater than zero.
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

  /// Removes and returns the child with `key`; returns nil if the list no longer has it.
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

  /// Removes and returns the first child. Use it only to empty a list to which no child is added any more.
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

  /// Removes all children, and returns them as a separate list. Their keys are not reused for later children.
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
    if entries.count > 16, entries.count > 2 * count { entries.removeAll { $0.child == nil } }  // 16: Speed only
  }
}
