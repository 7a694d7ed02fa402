/// One child, or none: does what `(any Disposable)?` does, in a third of its instructions.
///
/// The compiler copies, empties and destroys such an optional by calls of value witnesses, about 50 instructions each, also when it is nil. This type
/// compares one word and moves the words. It has no lock: its owner synchronises. It releases its child, undisposed, when it is destroyed.
package struct ChildSlot: ~Copyable {
  // The words of an `any Disposable`: 3 for the value, its type, its conformance. All are 0 if there is no child; the type is never 0. They are moved by
  // raw loads and stores, because the compiler assumes that typed accesses to words and to an existential are of different memory.
  private typealias Words = (UInt, UInt, UInt, UInt, UInt)
  private var words: Words = (0, 0, 0, 0, 0)

  @inline(__always) package init() {}

  @inline(__always) deinit { if isSet { _ = Self.value(words) } }

  /// Whether there is a child.
  @inline(__always) package var isSet: Bool { words.3 != 0 }

  /// The child, with a reference of the caller's own. Requires: there is a child.
  @inline(__always) package var child: any Disposable {
    withUnsafeTemporaryAllocation(of: (any Disposable).self, capacity: 1) { value in
      UnsafeMutableRawPointer(value.baseAddress!).storeBytes(of: words, as: Words.self)
      return value[0]
    }
  }

  /// Stores `child`. Requires: there is none.
  @inline(__always) package mutating func set(_ child: any Disposable) {
    withUnsafeTemporaryAllocation(of: (any Disposable).self, capacity: 1) { value in
      value.initializeElement(at: 0, to: child)
      words = UnsafeRawPointer(value.baseAddress!).load(as: Words.self)
    }
  }

  /// Removes and returns the child. Requires: there is one.
  @inline(__always) package mutating func take() -> any Disposable {
    let taken = words
    words = (0, 0, 0, 0, 0)
    return Self.value(taken)
  }

  /// Returns the disposable of these words, with the reference that they have.
  @inline(__always) private static func value(_ words: Words) -> any Disposable {
    withUnsafeTemporaryAllocation(of: (any Disposable).self, capacity: 1) { value in
      UnsafeMutableRawPointer(value.baseAddress!).storeBytes(of: words, as: Words.self)
      return value.moveElement(from: 0)
    }
  }
}

/// A list of children in insertion order, each under a key that is never reused.
///
/// Keys grow, so the entries are always sorted, and a binary search finds a key. Removing a child leaves a hole. Holes at the end are removed at
/// once, other holes when they outnumber the children. So an operation costs amortised constant time plus a binary search, and memory is
/// proportional to the number of children. Most lists have one child, so that child is stored in the struct: only a second child allocates.
/// The list has no lock: its owner synchronises. No operation disposes or releases a child.
package struct ChildList: ~Copyable {
  private var first = ChildSlot()  // the first child; empty if there is none, or if it was taken
  private var firstKey: UInt64 = 0
  private var later = LaterChildren()
  private var lastKey: UInt64 = 0  // the most recent key

  package init() {}

  package init(_ children: [any Disposable]) {
    append(contentsOf: children)
  }

  /// The number of children.
  package var count: Int { (first.isSet ? 1 : 0) + later.count }

  package var isEmpty: Bool { count == 0 }

  /// Adds `child` at the end and returns its key, which is greater than zero.
  @inline(__always) @discardableResult
  package mutating func append(_ child: any Disposable) -> UInt64 {
    lastKey += 1
    if isEmpty {
      first.set(child)
      firstKey = lastKey
    } else {
      later.append(child, lastKey)
    }
    return lastKey
  }

  package mutating func append(contentsOf children: [any Disposable]) {
    if children.count > 1 { later.reserve(children.count - 1) }
    for child in children { append(child) }
  }

  /// Removes and returns the child with `key`; returns nil if the list no longer has it.
  package mutating func take(_ key: UInt64) -> (any Disposable)? {
    if key != firstKey { return later.take(key) }
    return first.isSet ? first.take() : nil
  }

  /// Removes and returns the first child. Requires: there is one, and no child is added to the list any more.
  package mutating func takeFirst() -> any Disposable {
    first.isSet ? first.take() : later.popFirst()!
  }

  /// Removes and returns the children after the first. Requires: the first child was taken.
  package mutating func takeLater() -> LaterChildren {
    later.takeAll()
  }

  /// Removes all children, and returns them as a separate list. Their keys are not reused for later children.
  package mutating func takeAll() -> ChildList {
    var all = ChildList()
    swap(&self, &all)
    lastKey = all.lastKey
    return all
  }
}

/// The children of a list after the first.
package struct LaterChildren {
  private struct Entry {
    let key: UInt64
    var child: (any Disposable)?
  }

  private var entries: [Entry] = []
  private var head = 0  // the index in `entries` from which popFirst continues
  /// The number of children.
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  mutating func reserve(_ more: Int) {
    if entries.isEmpty { entries.reserveCapacity(more) }
  }

  mutating func append(_ child: any Disposable, _ key: UInt64) {
    entries.append(Entry(key: key, child: child))
    count += 1
  }

  mutating func take(_ key: UInt64) -> (any Disposable)? {
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

  mutating func takeAll() -> LaterChildren {
    let all = self
    self = LaterChildren()
    return all
  }

  /// Removes and returns the first child. Use it only to empty a list to which no child is added any more.
  mutating func popFirst() -> (any Disposable)? {
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

  private mutating func dropHoles() {
    while let last = entries.last, last.child == nil { entries.removeLast() }
    if entries.count > 16, entries.count > 2 * count { entries.removeAll { $0.child == nil } }  // 16: Speed only
  }
}
