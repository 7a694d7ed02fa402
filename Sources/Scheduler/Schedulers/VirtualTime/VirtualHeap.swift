/// A binary heap that is told at each call what comes before what. It has at any time one user, who sees to that.
struct VirtualHeap<Element> {
  private(set) var elements: [Element] = []

  var first: Element? { elements.first }
  var count: Int { elements.count }

  /// Adds `element`: a logarithm of comparisons.
  mutating func insert(_ element: Element, by isBefore: (Element, Element) -> Bool) {
    elements.append(element)
    var child = elements.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard isBefore(elements[child], elements[parent]) else { return }
      elements.swapAt(child, parent)
      child = parent
    }
  }

  /// Adds all `arrivals`: one by one, or in linear time when that is less.
  mutating func insert(contentsOf arrivals: [Element], by isBefore: (Element, Element) -> Bool) {
    if arrivals.count < elements.count {
      for element in arrivals { insert(element, by: isBefore) }
    } else {
      replace(with: elements + arrivals, by: isBefore)
    }
  }

  /// Takes the first one out: a logarithm of comparisons.
  mutating func removeFirst(by isBefore: (Element, Element) -> Bool) {
    elements.swapAt(0, elements.count - 1)
    elements.removeLast()
    sink(0, by: isBefore)
  }

  /// Becomes the heap of `new`, in linear time.
  mutating func replace(with new: [Element], by isBefore: (Element, Element) -> Bool) {
    elements = new
    for parent in (0..<elements.count / 2).reversed() { sink(parent, by: isBefore) }
  }

  /// Takes all elements out, in no order.
  mutating func takeAll() -> [Element] {
    defer { elements = [] }
    return elements
  }

  private mutating func sink(_ start: Int, by isBefore: (Element, Element) -> Bool) {
    var parent = start
    while true {
      var child = 2 * parent + 1
      guard child < elements.count else { return }
      if child + 1 < elements.count, isBefore(elements[child + 1], elements[child]) { child += 1 }
      guard isBefore(elements[child], elements[parent]) else { return }
      elements.swapAt(child, parent)
      parent = child
    }
  }
}
