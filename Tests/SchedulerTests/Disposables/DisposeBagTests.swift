import Scheduler
import SchedulerRx
import TestSupport
import Testing

@Suite("DisposeBag", .nothingIsLeft)
struct DisposeBagTests {
  @Test("a bag disposes in the order of insertion when it is released")
  func order() {
    let log = DisposalLog()
    var bag: DisposeBag? = DisposeBag(disposing: log.entry("1"), log.entry("2"))
    bag?.insert(log.entry("3"))
    bag?.insert(log.entry("4"), log.entry("5"))
    bag?.insert([log.entry("6")])
    if let bag { log.entry("7").disposed(by: bag) }
    #expect(log.all == [])
    bag = nil
    #expect(log.all == ["1", "2", "3", "4", "5", "6", "7"])
  }

  @Test("a builder lists disposables with if, else, for and arrays", arguments: [true, false])
  func builder(flag: Bool) {
    let log = DisposalLog()
    do {
      let bag = DisposeBag {
        log.entry("1")
        if flag { log.entry("2") }
        if flag { log.entry("3") } else { log.entry("4") }
        for name in ["5", "6"] { log.entry(name) }
        [log.entry("7"), log.entry("8")] as [any Disposable]
      }
      bag.insert { log.entry("9") }
    }
    #expect(log.all == (flag ? ["1", "2", "3"] : ["1", "4"]) + ["5", "6", "7", "8", "9"])
  }

  @Test("a bag that replaces another disposes the other's children")
  func replaced() {
    let child = DisposalCounter()
    var bag = DisposeBag(disposing: [child])
    #expect(child.value == 0)
    bag = DisposeBag()
    #expect(child.value == 1)
    withExtendedLifetime(bag) {}
  }

  @Test("a bag's children are released with it, each before the next is disposed")
  func captures() {
    let log = DisposalLog()
    do {
      let bag = DisposeBag()
      for name in ["1", "2"] {
        let notice = DeathNotice { log.add("\(name) gone") }
        Disposables.create {
          log.add(name)
          withExtendedLifetime(notice) {}
        }.disposed(by: bag)
      }
    }
    #expect(log.all == ["1", "1 gone", "2", "2 gone"])
  }

  @Test("4 threads that fill a bag lose nothing")
  func race() {
    let children = (0..<400).map { _ in DisposalCounter() }
    do {
      let bag = DisposeBag()
      raceDisposal(threads: 4) { index in
        for child in children[(index * 100)..<(index * 100 + 100)] { child.disposed(by: bag) }
      }
      #expect(children.allSatisfy { $0.value == 0 })
    }
    #expect(children.allSatisfy { $0.value == 1 })
  }
}
