/// One child, or none: does what `(any Disposable)?` does, in a third of its instructions.
///
/// The compiler copies, empties and destroys such an optional by calls of value witnesses, about 50 instructions each,
/// also when it is nil. This type compares one word and moves the words. It has no lock: its owner synchronises. It
/// releases its child, undisposed, when it is destroyed.
package struct ChildSlot: ~Copyable {
  // The words of an `any Disposable`: 3 for the value, its type, its conformance. All are 0 if there is no child; the
  // type is never 0. Raw loads and stores move them, because the compiler assumes that typed accesses to words and to
  // an existential are of different memory.
  private typealias Words = (UInt, UInt, UInt, UInt, UInt)
  private var words: Words = (0, 0, 0, 0, 0)

  @inline(__always) package init() {}

  @inline(__always) deinit { if isSet { _ = Self.value(words) } }  // discards, and so releases, the child

  /// Whether there is a child.
  @inline(__always) package var isSet: Bool { words.3 != 0 }

  /// A copy of the child, which also stays here. Requires: there is a child.
  @inline(__always) package var child: any Disposable {
    withUnsafeTemporaryAllocation(of: (any Disposable).self, capacity: 1) { value in
      UnsafeMutableRawPointer(value.baseAddress!).storeBytes(of: words, as: Words.self)
      return value[0]  // retains the child; the reference in `words` stays
    }
  }

  /// Stores `child`. Requires: there is none.
  @inline(__always) package mutating func set(_ child: any Disposable) {
    withUnsafeTemporaryAllocation(of: (any Disposable).self, capacity: 1) { value in
      value.initializeElement(at: 0, to: child)
      // takes over the reference: `value` is not deinitialized
      words = UnsafeRawPointer(value.baseAddress!).load(as: Words.self)
    }
  }

  /// Removes and returns the child. Requires: there is one.
  @inline(__always) package mutating func take() -> any Disposable {
    let taken = words
    words = (0, 0, 0, 0, 0)  // the reference moves to the result, so `deinit` must not release it
    return Self.value(taken)
  }

  /// Returns the disposable of these words, and moves their reference to the caller.
  @inline(__always) private static func value(_ words: Words) -> any Disposable {
    withUnsafeTemporaryAllocation(of: (any Disposable).self, capacity: 1) { value in
      UnsafeMutableRawPointer(value.baseAddress!).storeBytes(of: words, as: Words.self)
      return value.moveElement(from: 0)
    }
  }
}

/// A list of children in insertion order, each under a key that is never reused.
///
/// Keys grow, so the entries are always sorted, and a binary search finds a key. Removing a child leaves a hole. Holes
/// at the end are removed at once, other holes when they outnumber the children. So an operation costs amortised
/// constant time plus a binary search, and memory is proportional to the number of children. Most lists have one child,
/// so that child is stored in the struct: only a second child allocates.
/// The list has no lock: its owner synchronises. No operation disposes or releases a child.
package struct ChildList: ~Copyable {
  private var first = ChildSlot()  // the first child; empty if there is none, or if it was taken
  private var firstKey: UInt64 = 0  // the key of the present or previous `first`
  private var later = LaterChildren()
  private var lastKey: UInt64 = 0  // the most recent key

  package init() {}

  package init(_ children: [any Disposable]) { append(contentsOf: children) }

  /// The number of children.
  package var count: Int { (first.isSet ? 1 : 0) + later.count }

  package var isEmpty: Bool { count == 0 }

  /// Adds `child` at the end and returns its key, which is greater than zero.
  @inline(__always) @discardableResult
  package mutating func append(_ child: any Disposable) -> UInt64 {
    lastKey += 1
    if isEmpty {  // all of the list: with later children, `first` would come before older ones
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

  /// Removes and returns the first child. Requires: there is one. No child may be added or taken by its key after that.
  package mutating func takeFirst() -> any Disposable {
    first.isSet ? first.take() : later.popFirst()!
  }

  /// Removes and returns the children after the first. Requires: the first child was taken.
  package mutating func takeLater() -> LaterChildren { later.takeAll() }

  /// Removes all children, and returns them as a separate list. Their keys are not reused for later children.
  package mutating func takeAll() -> ChildList {
    var all = ChildList()
    swap(&self, &all)
    lastKey = all.lastKey  // so keys go on growing
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
  private var head = 0  // the index in `entries` at which `popFirst` continues: no child is before it
  /// The number of children.
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  mutating func reserve(_ more: Int) {
    // only then: repeated exact reservations would copy the array each time
    if entries.isEmpty { entries.reserveCapacity(more) }
  }

  mutating func append(_ child: any Disposable, _ key: UInt64) {
    entries.append(Entry(key: key, child: child))
    count += 1
  }

  /// Removes and returns the child with `key`; returns nil if there is none. Leaves a hole, which `dropHoles` may
  /// remove.
  mutating func take(_ key: UInt64) -> (any Disposable)? {
    var low = head  // binary search: the entries are sorted by key
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

  /// Removes and returns the first child; nil if there is none. Do not call `append` or `take` after it: `dropHoles`
  /// ignores `head`.
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

  /// Removes the holes at the end, and all holes if they outnumber the children, so that memory stays proportional to
  /// the children.
  private mutating func dropHoles() {
    while let last = entries.last, last.child == nil { entries.removeLast() }
    // 16: Speed only, a few holes cost less
    if entries.count > 16, entries.count > 2 * count { entries.removeAll { $0.child == nil } }
  }
}
