/// A first-in, first-out list whose elements can also be removed by their keys. Operations take amortised constant
/// time.
struct FairList<Element> {
  private var elements: [Int: Element] = [:]  // by key; keys increase in the order of `append`
  private var first = 0  // no element has a smaller key: `popFirst` starts here
  private var next = 0  // the key of the next element

  /// Appends `element`, and returns its key for `remove`.
  mutating func append(_ element: Element) -> Int {
    defer { next += 1 }
    elements[next] = element
    return next
  }

  /// Removes the element with `key`, if it is in the list.
  mutating func remove(_ key: Int) { elements[key] = nil }

  /// Removes and returns the oldest element; nil if the list is empty.
  mutating func popFirst() -> Element? {
    guard !elements.isEmpty else { return nil }
    while true {  // skips keys of removed elements
      defer { first += 1 }
      if let element = elements.removeValue(forKey: first) { return element }
    }
  }
}

extension FairList: Sendable where Element: Sendable {}
