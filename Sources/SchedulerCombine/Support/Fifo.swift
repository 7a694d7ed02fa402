#if Combine
  /// A first-in, first-out queue in an array. Appending and removing take amortised constant time.
  struct Fifo<Element> {
    private var elements: [Element?] = []
    private var head = 0  // the index of the first element; the slots before it are nil

    var isEmpty: Bool { head == elements.count }
    var count: Int { elements.count - head }
    var first: Element? { isEmpty ? nil : elements[head] }
    /// The elements, oldest first.
    var all: [Element] { elements[head...].map { $0! } }

    mutating func append(_ element: Element) { elements.append(element) }

    /// Removes and returns the oldest element; nil if the queue is empty.
    mutating func popFirst() -> Element? {
      guard head < elements.count else { return nil }
      defer { compact() }
      let element = elements[head].take()  // leaves nil, so the queue no longer retains the element
      head += 1
      return element
    }

    /// Removes the empty slots if the queue is empty, or if they are more than 64 and more than half of all slots. So a
    /// removal takes amortised constant time. An empty queue with more than 64 slots frees its memory.
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
