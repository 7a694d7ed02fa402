#if Combine
  /// A queue with amortised constant time at both ends.
  struct Fifo<Element> {
    private var elements: [Element?] = []
    private var head = 0

    var isEmpty: Bool { head == elements.count }
    var count: Int { elements.count - head }
    var first: Element? { isEmpty ? nil : elements[head] }

    var all: [Element] { elements[head...].map { $0! } }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func popFirst() -> Element? {
      guard head < elements.count else { return nil }
      defer { tidy() }
      let element = elements[head].take()
      head += 1
      return element
    }

    /// Keeps the capacity of a short queue, and releases that of a long one.
    private mutating func tidy() {
      if head == elements.count {
        elements.removeAll(keepingCapacity: elements.count <= 64)
        head = 0
      } else if head > 64, head * 2 > elements.count {
        elements.removeFirst(head)
        head = 0
      }
    }
  }
#endif
