/// A first-in, first-out list whose elements can also be removed out of order. Operations take amortised constant time.
struct FairList<Element> {
  private var elements: [Int: Element] = [:]
  private var first = 0  // no smaller key is in use
  private var next = 0  // the key of the next element

  /// Appends `element`, and returns its key for `remove`.
  mutating func append(_ element: Element) -> Int {
    defer { next += 1 }
    elements[next] = element
    return next
  }

  /// Removes the element with the key `entry`, if it is in the list.
  mutating func remove(_ entry: Int) { elements[entry] = nil }

  mutating func popFirst() -> Element? {
    guard !elements.isEmpty else { return nil }
    while true {  // skips keys of removed elements
      defer { first += 1 }
      if let element = elements.removeValue(forKey: first) { return element }
    }
  }
}

extension FairList: Sendable where Element: Sendable {}
