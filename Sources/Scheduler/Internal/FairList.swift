/// What is taken out in the order in which it came, or before its turn: each in a time that does not depend on the number.
struct FairList<Element> {
  private var elements: [Int: Element] = [:]
  private var first = 0
  private var next = 0

  /// Returns what stands for it in the list.
  mutating func append(_ element: Element) -> Int {
    defer { next += 1 }
    elements[next] = element
    return next
  }

  mutating func remove(_ entry: Int) { elements[entry] = nil }

  mutating func popFirst() -> Element? {
    guard !elements.isEmpty else { return nil }
    while true {
      defer { first += 1 }
      if let element = elements.removeValue(forKey: first) { return element }
    }
  }
}

extension FairList: Sendable where Element: Sendable {}
