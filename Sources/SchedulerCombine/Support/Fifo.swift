#if Combine
  /// A queue. Appending and removing take amortised constant time.
  struct Fifo<Element> {
    private var elements: [Element?] = []
    private var head = 0  // the index of the first element; the slots before it are nil

    var isEmpty: Bool { head == elements.count }
    var count: Int { elements.count - head }
    var first: Element? { isEmpty ? nil : elements[head] }

    var all: [Element] { elements[head...].map { $0! } }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func popFirst() -> Element? {
      guard head < elements.count else { return nil }
      defer { compact() }
      let element = elements[head].take()
      head += 1
      return element
    }

    /// Removes empty slots. Keeps the memory of a short queue, and frees that of a long queue.
    private mutating func compact() {
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
